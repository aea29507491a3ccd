/**
 * Faults of an S3-compatible store in plain language. The text that the store sent is not shown: the answer to a wrong
 * signature repeats what was signed (G10).
 */
import { S3Client } from '@aws-sdk/client-s3';
import { UnreachableError, WellsyncError } from '../core/base/errors.ts';
import type { StoreSetting } from './port.ts';

export interface S3Location {
  readonly bucket: string;
  /** The address of the store; undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly setting: StoreSetting;
}

interface Text {
  readonly message: string;
  readonly hint?: string | undefined;
}

const rights =
  's3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads';

const otherRegion = ({ bucket, region }: S3Location): Text => ({
  message: `bucket ${bucket} is not in region ${region ?? 'of this configuration'}`,
  hint: 'Set files.region (or AWS_REGION) to the region of the bucket, and files.endpoint only where the store is not AWS.',
});

const noCredentials = (): Text => ({
  message: 'there are no credentials for the store of files.url',
  hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE with a file of credentials, or give the host a role.',
});

const wrongCredentials = (): Text => ({
  message: 'the store of files.url does not take the credentials of this process',
  hint: 'See AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or the profile, or the role): they are for another store, wrong, or have ended.',
});

const refused = ({ bucket }: S3Location): Text => ({
  message: `the store refuses access to bucket ${bucket}: it belongs to somebody else, or these credentials lack a right`,
  hint: `Check the name in files.url, and give the credentials ${rights} on it.`,
});

const skewed = (): Text => ({
  message: 'the clocks of this host and of the store of files.url are too far apart for a signature',
  hint: 'Set the clock of this host by NTP; if it is right, that of the store.',
});

const noBucket = (location: S3Location): Text => ({
  message: `there is no bucket ${location.bucket} at ${storeOf(location)}`,
  hint: 'Create it, or correct files.url and files.endpoint. A store that takes no bucket in its host name needs files.pathStyle: true.',
});

/** By the code of the answer, or the name of the client's own error. */
const answered: ReadonlyArray<readonly [text: (store: S3Location) => Text, ...codes: string[]]> = [
  [noBucket, 'NoSuchBucket'],
  [refused, 'AccessDenied', 'AllAccessDisabled', 'AccountProblem', 'Forbidden'],
  [
    wrongCredentials,
    'InvalidAccessKeyId',
    'SignatureDoesNotMatch',
    'ExpiredToken',
    'InvalidToken',
    'TokenRefreshRequired',
  ],
  [noCredentials, 'CredentialsProviderError'],
  [skewed, 'RequestTimeTooSkewed', 'RequestExpired'],
  [otherRegion, 'PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
];

/** Codes of the system and of the client for a store that was not reached. */
const unreached: ReadonlyArray<readonly [why: string, ...codes: string[]]> = [
  ['nothing listens there', 'ECONNREFUSED'],
  ['its host is unknown', 'ENOTFOUND'],
  ['its host cannot be looked up now', 'EAI_AGAIN'],
  ['there is no route to it', 'EHOSTUNREACH', 'ENETUNREACH'],
  ['it ended the connection', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'],
  ['it does not answer in time', 'ETIMEDOUT', 'TimeoutError'],
  [
    'its certificate is not trusted',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ],
  ['its certificate has expired', 'CERT_HAS_EXPIRED'],
  ['it does not speak TLS', 'EPROTO'],
];

function rowOf<T>(rows: ReadonlyArray<readonly [T, ...string[]]>, code: string): T | undefined {
  return rows.find(([, ...codes]) => codes.includes(code))?.[0];
}

/** Converts an error of the client; errors of wellsync and those that are no answer of a store stay as they are. */
export function s3Fault(error: unknown, location: S3Location): unknown {
  if (error instanceof WellsyncError || !(error instanceof Error)) return error;
  // An answer that cannot be read, such as a page of a proxy.
  if ('$response' in error && statusOf(error) === 200) return noStore(location, 'its answer cannot be read');
  const text = textOf(error, location);
  return text === undefined ? error : faultFor(location, text);
}

/** Settings have the names of those that name this store. */
function faultFor({ setting }: S3Location, { message, hint }: Text): UnreachableError {
  const ofSetting = (text: string): string => text.replaceAll(/\bfiles\.(?=[a-z])/gi, `${setting}.`);
  return new UnreachableError('files', ofSetting(message), hint === undefined ? {} : { hint: ofSetting(hint) });
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

function textOf(error: Error, location: S3Location): Text | undefined {
  const code = codeOf(error);
  const known = rowOf(answered, error.name) ?? rowOf(answered, code);
  if (known !== undefined) return known(location);
  const why = rowOf(unreached, code) ?? rowOf(unreached, error.name);
  if (why !== undefined)
    return { message: `the store of files.url, ${storeOf(location)}, cannot be reached: ${why}`, hint: storeHint };
  if (error.message.startsWith('Region is missing'))
    return { message: 'the region of the bucket is not known', hint: otherRegion(location).hint };
  return textOfStatus(error, location);
}

const storeHint = 'See whether the store is up, and files.url and files.endpoint are right: the work goes on then.';

function textOfStatus(error: Error, location: S3Location): Text | undefined {
  const status = statusOf(error);
  if (status === undefined) return undefined;
  if (status === 301 || status === 307) return otherRegion(location);
  if (status === 403) return refused(location);
  if (status >= 500 || status === 429)
    return {
      message: `the store of files.url, ${storeOf(location)}, answers ${status} ${codeOf(error)}`.trim(),
      hint: storeHint,
    };
  return noStore(location, `${status} ${codeOf(error)}`);
}

export function noStore(location: S3Location, answer: string): UnreachableError {
  const message = `what answers at ${storeOf(location)} is no S3-compatible store that takes these requests: ${answer.trim()}`;
  const hint = 'Correct files.endpoint, or see that the store supports multipart uploads and listings.';
  return faultFor(location, { message, hint });
}

function storeOf({ endpoint, region }: S3Location): string {
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
  readonly endpoint: string | undefined;
  /** Undefined: that of the environment or the profile; `us-east-1` at an endpoint. */
  readonly region: string | undefined;
  /** Whether the bucket stands in the path of an address and not in its host name. */
  readonly pathStyle: boolean;
  readonly setting: StoreSetting;
}

export interface S3Connection {
  readonly client: S3Client;
  readonly region: string | undefined;
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
