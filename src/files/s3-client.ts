/**
 * Faults of an S3-compatible store in plain language. The text that the store sent is not shown: the answer to a wrong
 * signature repeats what was signed (G10).
 */
import { S3Client } from '@aws-sdk/client-s3';
import { UnreachableError, WellsyncError } from '../core/base/errors.ts';
import type { StoreSetting } from './port.ts';

/** Where the store is, for messages. */
export interface S3Place {
  readonly bucket: string;
  /** The address of the store; undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly setting: StoreSetting;
}

interface Words {
  readonly message: string;
  readonly hint?: string | undefined;
}

const rights =
  's3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads';

const otherRegion = ({ bucket, region }: S3Place): Words => ({
  message: `bucket ${bucket} is not in region ${region ?? 'of this configuration'}`,
  hint: 'Set files.region (or AWS_REGION) to the region of the bucket, and files.endpoint only where the store is not AWS.',
});

const noCredentials = (): Words => ({
  message: 'there are no credentials for the store of files.url',
  hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE with a file of credentials, or give the host a role.',
});

const wrongCredentials = (): Words => ({
  message: 'the store of files.url does not take the credentials of this process',
  hint: 'See AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or the profile, or the role): they are for another store, wrong, or have ended.',
});

const refused = ({ bucket }: S3Place): Words => ({
  message: `the store refuses access to bucket ${bucket}: it belongs to somebody else, or these credentials lack a right`,
  hint: `Check the name in files.url, and give the credentials ${rights} on it.`,
});

const skewed = (): Words => ({
  message: 'the clocks of this host and of the store of files.url are too far apart for a signature',
  hint: 'Set the clock of this host by NTP; if it is right, that of the store.',
});

const noBucket = (place: S3Place): Words => ({
  message: `there is no bucket ${place.bucket} at ${storeOf(place)}`,
  hint: 'Create it, or correct files.url and files.endpoint. A store that takes no bucket in its host name needs files.pathStyle: true.',
});

/** By the code of the answer, or the name of the client's own error. */
const wordsByCode: Readonly<Record<string, (place: S3Place) => Words>> = {
  NoSuchBucket: noBucket,
  AccessDenied: refused,
  AllAccessDisabled: refused,
  AccountProblem: refused,
  Forbidden: refused,
  InvalidAccessKeyId: wrongCredentials,
  SignatureDoesNotMatch: wrongCredentials,
  ExpiredToken: wrongCredentials,
  InvalidToken: wrongCredentials,
  TokenRefreshRequired: wrongCredentials,
  CredentialsProviderError: noCredentials,
  RequestTimeTooSkewed: skewed,
  RequestExpired: skewed,
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  IllegalLocationConstraintException: otherRegion,
};

/** Codes of the system and of the client for a store that was not reached. */
const unreached: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host is unknown',
  EAI_AGAIN: 'its host cannot be looked up now',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ECONNRESET: 'it ended the connection',
  ERR_STREAM_PREMATURE_CLOSE: 'it ended the connection',
  EPIPE: 'it ended the connection',
  ETIMEDOUT: 'it does not answer in time',
  TimeoutError: 'it does not answer in time',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  EPROTO: 'it does not speak TLS',
};

/** Converts an error of the client; errors of wellsync and those that are no answer of a store stay as they are. */
export function s3Fault(error: unknown, place: S3Place): unknown {
  if (error instanceof WellsyncError || !(error instanceof Error)) return error;
  // An answer that cannot be read, such as a page of a proxy.
  if ('$response' in error && statusOf(error) === 200) return noStore(place, 'its answer cannot be read');
  const words = wordsOf(error, place);
  return words === undefined ? error : faultFor(place, words);
}

/** Settings have the names of those that name this store. */
function faultFor({ setting }: S3Place, { message, hint }: Words): UnreachableError {
  const named = (text: string): string => text.replaceAll(/\bfiles\.(?=[a-z])/gi, `${setting}.`);
  return new UnreachableError('files', named(message), hint === undefined ? {} : { hint: named(hint) });
}

/** Whether the answer says that there is no such file; a missing bucket is a fault. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound');
}

/** Whether the store knows no conditional writes. */
export function isUnconditional(error: unknown): boolean {
  return statusOf(error) === 501;
}

/** Whether the answer says that there is a file of that name already, or another one than was meant. */
export function isThere(error: unknown): boolean {
  const status = statusOf(error);
  return status === 412 || status === 409;
}

function wordsOf(error: Error, place: S3Place): Words | undefined {
  const code = codeOf(error);
  const known = wordsByCode[error.name] ?? wordsByCode[code];
  if (known !== undefined) return known(place);
  const why = unreached[code] ?? unreached[error.name];
  if (why !== undefined)
    return { message: `the store of files.url, ${storeOf(place)}, cannot be reached: ${why}`, hint: storeHint };
  if (error.message.startsWith('Region is missing'))
    return { message: 'the region of the bucket is not known', hint: otherRegion(place).hint };
  return wordsOfStatus(error, place);
}

const storeHint = 'See whether the store is up, and files.url and files.endpoint are right: the work goes on then.';

function wordsOfStatus(error: Error, place: S3Place): Words | undefined {
  const status = statusOf(error);
  if (status === undefined) return undefined;
  if (status === 301 || status === 307) return otherRegion(place);
  if (status === 403) return refused(place);
  if (status >= 500 || status === 429)
    return {
      message: `the store of files.url, ${storeOf(place)}, answers ${status} ${codeOf(error)}`.trim(),
      hint: storeHint,
    };
  return noStore(place, `${status} ${codeOf(error)}`);
}

export function noStore(place: S3Place, answer: string): UnreachableError {
  const message = `what answers at ${storeOf(place)} is no S3-compatible store that takes these requests: ${answer.trim()}`;
  const hint = 'Correct files.endpoint, or see that the store supports multipart uploads and listings.';
  return faultFor(place, { message, hint });
}

function storeOf({ endpoint, region }: S3Place): string {
  return endpoint ?? `AWS${region === undefined ? '' : `, region ${region}`}`;
}

/** The short code of an answer or of the system; empty for a text that is none. */
function codeOf(error: Error): string {
  const { code, Code } = error as { readonly code?: unknown; readonly Code?: unknown };
  const first = [code, Code, error.name].find(
    (each) => typeof each === 'string' && /^\w{3,60}$/.test(each) && each !== 'Error',
  );
  return typeof first === 'string' ? first : '';
}

function statusOf(error: unknown): number | undefined {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  return $metadata?.httpStatusCode;
}

/** The client of a bucket, with its bounds in time. */
export interface S3Settings {
  readonly bucket: string;
  /** Of every name in the bucket, without a slash at its ends; empty for the whole bucket. */
  readonly prefix: string;
  /** Undefined for AWS itself. */
  readonly endpoint: string | undefined;
  /** Undefined: that of the environment or the profile; `us-east-1` at an endpoint. */
  readonly region: string | undefined;
  /** Whether the bucket stands in the path of an address and not in its host name. */
  readonly pathStyle: boolean;
  /** For messages. */
  readonly setting: StoreSetting;
}

export interface S3Connection {
  readonly client: S3Client;
  readonly region: string | undefined;
  /** Ends all requests. */
  readonly closing: AbortController;
  /** Whether the store has answered as one. */
  isKnown: boolean;
}

// Its warning that versions to come need a later Node would stand in the mails of cron.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const connectMs = 5_000;
/** Without a byte for this long a request is given up: with the client's three attempts a silent store costs a minute. */
const longestSilenceMs = 20_000;
/** Until an answer begins, the sending of a part by a slow line included. The client would only warn, on standard error. */
const answerMs = 10 * 60_000;

export function connectionTo(
  { endpoint, region: named, pathStyle }: S3Settings,
  silenceMs = longestSilenceMs,
): S3Connection {
  const region = named ?? (endpoint === undefined ? undefined : 'us-east-1');
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    forcePathStyle: pathStyle,
    // Checksums in trailers, which compatible stores do not take. Sizes and digests are compared here.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silenceMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
    },
  });
  return { client, region, closing: new AbortController(), isKnown: false };
}
