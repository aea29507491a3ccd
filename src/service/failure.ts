/**
 * The meaning of a request without an answer (docs/design.md section 6): no connection is TransientError with
 * serviceDown; a reset, a time-out, a cut body and an answer that is no HTTP are TransientError; TLS that cannot be
 * trusted is AccessError.
 */
import { errors } from 'undici';
import { AccessError, TransientError, WellsyncError } from '../core/base/errors.ts';
import type { RequestContext } from './classification.ts';

/** Codes of Node and undici when no connection to the service was made. */
const silence: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const brokenConnections: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** Faults of certificates, and a port that does not speak TLS. They recur at every request. */
const tlsFault = /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Codes of a wrong call to Node or undici: faults of the program, unlike all that comes over the wire. */
const wrongCall =
  /^(?:ERR_(?:INVALID|ASSERTION|MISSING|OUT_OF_RANGE)|UND_ERR_(?:INVALID|CLOSED|DESTROYED|NOT_SUPPORTED|REQ_))/;

type Meaning = readonly [name: string, what: string];
const noHttp: Meaning = ['not-http', 'was not answered in HTTP'];
const cutShort: Meaning = ['truncated', 'was answered with a body cut short'];

/**
 * The error for a failed exchange. `isAnswering`: whether the head of an answer had come. Returns a failure unchanged
 * that has its error already, or that is a fault of the program: that is a bug, and never retried.
 */
export function errorOfFailure(failure: unknown, context: RequestContext, isAnswering: boolean): unknown {
  if (failure instanceof WellsyncError) return failure;
  if (failure instanceof errors.HTTPParserError) {
    // A chunked body that ends too soon; undici tells it by words alone.
    const [name, what] = /\bEOF\b/.test(failure.message) ? cutShort : noHttp;
    return transient(name, context, what, failure);
  }
  const code = codeOf(failure);
  if (code === undefined || wrongCall.test(code)) return failure;
  if (silence.has(code)) return noConnection(context, failure);
  if (tlsFault.test(code)) {
    return new AccessError('tls', `${context.label} could not be sent safely (${code})`, {
      cause: failure,
      hint: 'Check the certificate of the service, and that its address begins with the right one of http and https.',
    });
  }
  const [name, what] = meaningOf(code, isAnswering);
  return transient(name, context, what, failure);
}

/** Nobody answered at the address. */
export function noConnection(context: RequestContext, cause?: unknown): TransientError {
  return new TransientError('no-connection', `${context.label} reached nobody${shown(cause)}`, {
    cause,
    hint: 'Check its address, and that it is up.',
    serviceDown: true,
  });
}

function meaningOf(code: string, isAnswering: boolean): Meaning {
  if (code === 'ETIMEDOUT') return ['timeout', 'was not answered in time'];
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return noHttp;
  if (isAnswering && brokenConnections.has(code)) return cutShort;
  return ['connection-lost', 'lost its connection'];
}

function transient(name: string, context: RequestContext, what: string, cause: unknown): TransientError {
  return new TransientError(name, `${context.label} ${what}${shown(cause)}`, { cause });
}

/** The code of Node for a failure, which an operator can look up; those of undici say no more than the sentence. */
function shown(failure: unknown): string {
  const code = codeOf(failure);
  return code === undefined || code.startsWith('UND_ERR_') ? '' : ` (${code})`;
}

function codeOf(failure: unknown): string | undefined {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
