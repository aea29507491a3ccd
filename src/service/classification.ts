/**
 * Decides what an answer, or the want of one, means: the whole of DESIGN.md section 6 in one place.
 *
 *   2xx                      taken, unless it is a web page: a proxy's sign-in is no answer of the service
 *   401, 403                 AccessError
 *   404                      NotFoundError
 *   408, 425, 429, 5xx       TransientError; RateLimitedError where Retry-After says how long
 *   other 3xx and 4xx        PermanentError
 *   no connection            TransientError with serviceDown
 *   reset, time-out, cut     TransientError
 */
import {
  AccessError,
  NotFoundError,
  PermanentError,
  RateLimitedError,
  TransientError,
  type WellsyncError,
} from '../core/errors.ts';
import { readRetryAfter } from '../core/retry-timing.ts';
import { cleanedExcerpt } from './cleaned-excerpt.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly body: string;
}

/** What was asked, for the operator, and what must not be shown of the answer. */
export interface Asked {
  /** Method and path: `GET /api/production/daily/W1`. */
  readonly label: string;
  /** The token that was sent. */
  readonly hidden: readonly string[];
}

/** The error that an answer amounts to; undefined where it is taken. */
export function errorOfAnswer(answer: Answer, asked: Asked, nowMs: number): WellsyncError | undefined {
  const { status } = answer;
  const message = `${asked.label} answered ${status}${excerptOf(answer, asked)}`;
  if (isSuccess(status)) return isWebPage(answer) ? notJson(answer, asked) : undefined;
  if (status === 401)
    return new AccessError('unauthorized', message, { hint: asked.hidden.length === 0 ? noTokenHint : tokenHint });
  if (status === 403)
    return new AccessError('forbidden', message, { hint: 'Ask for the right to do this at the service.' });
  if (status === 404) return new NotFoundError('not-found', message, { status });
  if (status >= 500 || status === 408 || status === 425 || status === 429) {
    const waitMs = answer.retryAfter === null ? undefined : readRetryAfter(answer.retryAfter, nowMs);
    if (waitMs === undefined) return new TransientError(`http-${status}`, message);
    return new RateLimitedError(`http-${status}`, `${message} (Retry-After: ${Math.ceil(waitMs / 1_000)} s)`, waitMs);
  }
  return new PermanentError(`http-${status}`, message, { status });
}

const tokenHint = 'The service does not take the token: check it, or get another one.';
const noTokenHint = 'No token was sent: set service.tokenFile, service.oauth or WELLSYNC_SERVICE_TOKEN.';

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Never an empty answer: transient, since a proxy that asks for a sign-in, or an answer cut short, is no lasting state. */
export function notJson(answer: Answer, asked: Asked): TransientError {
  const what = isWebPage(answer) ? 'a web page' : 'something that is not JSON';
  return new TransientError(
    'not-json',
    `${asked.label} answered ${answer.status} with ${what}${excerptOf(answer, asked)}`,
    {
      hint: 'Does the address lead to the service itself, and not to a proxy or a sign-in page?',
    },
  );
}

/** JSON, but not what the endpoint promises; `wanted` names that. */
export function wrongShape(answer: Answer, asked: Asked, wanted: string): TransientError {
  const message = `${asked.label} answered ${answer.status} with JSON that is not ${wanted}${excerptOf(answer, asked)}`;
  return new TransientError('wrong-shape', message);
}

/** Codes of Node and undici when nothing was heard from the service at all. */
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

const timeOuts: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

const brokenConnections: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** Certificates, and a port that does not speak TLS: the same at every further request. */
const tlsFault = /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * The error that a failed exchange amounts to. `answering` says whether the head of an answer had come. A failure of
 * another kind is returned as it is: a bug, never tried again.
 */
export function errorOfFailure(failure: unknown, asked: Asked, answering: boolean): unknown {
  const code = codeOf(failure);
  if (code === undefined) return failure;
  const details = { cause: failure };
  const shown = code.startsWith('UND_ERR_') ? '' : ` (${code})`;
  const transient = (name: string, what: string) => new TransientError(name, `${asked.label} ${what}${shown}`, details);
  if (silence.has(code)) {
    const hint = 'Check its address, and that it is up.';
    return new TransientError('no-connection', `${asked.label} reached nobody${shown}`, {
      ...details,
      hint,
      serviceDown: true,
    });
  }
  if (timeOuts.has(code)) return transient('timeout', 'was not answered in time');
  if (brokenConnections.has(code)) {
    return answering
      ? transient('truncated', 'was answered with a body cut short')
      : transient('connection-lost', 'lost its connection');
  }
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
    return transient('not-http', 'was not answered in HTTP');
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new PermanentError('body-too-large', `${asked.label} was answered with more bytes than are taken`, {
      ...details,
      hint: 'Lower service.pageLimit, or raise service.maxBodyBytes.',
    });
  }
  if (tlsFault.test(code)) {
    return new AccessError('tls', `${asked.label} could not be sent safely (${code})`, {
      ...details,
      hint: 'Check the certificate of the service, and that its address begins with the right one of http and https.',
    });
  }
  return failure;
}

function codeOf(failure: unknown): string | undefined {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function isWebPage({ contentType, body }: Answer): boolean {
  return /\bx?html\b/i.test(contentType ?? '') || /^\s*<(?:!doctype\s+html|html)\b/i.test(body);
}

function excerptOf(answer: Answer, { hidden }: Asked): string {
  const excerpt = cleanedExcerpt(answer.body, hidden);
  return excerpt === '' ? '' : `: ${excerpt}`;
}
