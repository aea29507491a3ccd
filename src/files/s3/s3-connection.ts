/** The client of a bucket, with its bounds in time. */
import { S3Client } from '@aws-sdk/client-s3';
import type { StoreSetting } from '../port.ts';

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
