/**
 * The meaning of an answer (docs/design.md section 6). A request without one: http-exchange.ts.
 *
 *   of a read    200, 203    accepted
 *                204         accepted: an empty page
 *                other 2xx   TransientError `partial`, as is a Content-Range on any of them
 *   of a change  206         TransientError `partial`
 *                207         PermanentError: a part may have failed
 *                other 2xx   accepted
 *   a web page with 2xx      TransientError `not-json`: a proxy's sign-in, for example
 *   401, 403                 AccessError
 *   404                      NotFoundError
 *   408, 425, 429, 5xx       TransientError; RateLimitedError when Retry-After says how long
 *   other 3xx and 4xx        PermanentError
 */
import { shortened } from '../core/base/text.ts';
import {
  AccessError,
  NotFoundError,
  PermanentError,
  RateLimitedError,
  TransientError,
  type WellsyncError,
} from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { readRetryAfter } from '../core/run/retry-decision.ts';
import type { WholeBody } from './answer-body.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly contentRange: string | null;
  readonly retryAfter: string | null;
  readonly body: WholeBody;
}

/** What the errors of a request need to know about it. */
export interface RequestContext {
  /** Method and path: `GET /api/production/daily/W1`. */
  readonly label: string;
  /** A GET: a part of its answer is no answer. */
  readonly isRead: boolean;
  readonly hasToken: boolean;
  /** What no message may show. */
  readonly secrets: Secrets;
}

/** The error for an answer; undefined when it is accepted. `nowMs`: for a Retry-After that is a date. */
export function errorOfAnswer(answer: Answer, context: RequestContext, nowMs: number): WellsyncError | undefined {
  const { status } = answer;
  if (isSuccess(status)) return errorOfSuccess(answer, context);
  const message = messageOf(answer, context);
  if (status === 401)
    return new AccessError('unauthorized', message, { hint: context.hasToken ? tokenHint : noTokenHint });
  if (status === 403)
    return new AccessError('forbidden', message, { hint: 'Ask for the right to do this at the service.' });
  if (status === 404) return new NotFoundError('not-found', message, { status });
  if (status >= 500 || status === 408 || status === 425 || status === 429) {
    const waitMs = answer.retryAfter === null ? undefined : readRetryAfter(answer.retryAfter, nowMs);
    if (waitMs === undefined) return new TransientError(`http-${status}`, `${message}${unreadable(answer)}`);
    return new RateLimitedError(`http-${status}`, `${message} (Retry-After: ${Math.ceil(waitMs / 1_000)} s)`, waitMs);
  }
  return new PermanentError(`http-${status}`, message, { status });
}

/** Statuses of a whole answer to a read. */
const wholeReads: ReadonlySet<number> = new Set([200, 203, 204]);

function errorOfSuccess(answer: Answer, context: RequestContext): WellsyncError | undefined {
  const { status, contentRange } = answer;
  const isPart = context.isRead ? !wholeReads.has(status) || contentRange !== null : status === 206;
  if (isPart) {
    const range = contentRange === null ? '' : ' and a Content-Range';
    const answered = `${context.label} answered ${status}${range}: that is no whole answer`;
    // A log has the message alone.
    const message = context.isRead ? answered : `${answered}, and a part may be stored: the whole is sent again`;
    return new TransientError('partial', message, {
      hint: context.isRead
        ? 'The service, or a proxy before it, sent a part: nothing of it was taken.'
        : 'What was sent counts as not accepted until the service answers 200. Ask what its 206 means.',
    });
  }
  if (status === 207) {
    return new PermanentError('http-207', messageOf(answer, context), {
      status,
      hint: 'The service may have taken a part of the request: its answer says which.',
    });
  }
  return isWebPage(answer) ? notJson(answer, context) : undefined;
}

/** A note that a Retry-After is neither seconds nor a date; its text may hold anything, and is not shown. */
function unreadable({ retryAfter }: Answer): string {
  return retryAfter === null ? '' : ' (its Retry-After cannot be read)';
}

const tokenHint = 'The service does not take the token: check it, or get another one.';
const noTokenHint = 'No token was sent: set service.tokenFile, service.oauth or WELLSYNC_SERVICE_TOKEN.';

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * The error for a body that is not JSON. Transient: a proxy that asks for a sign-in, or a cut answer, does not last.
 * Such an answer never counts as empty.
 */
export function notJson(answer: Answer, context: RequestContext): TransientError {
  const what = isWebPage(answer) ? 'a web page' : 'something that is not JSON';
  return new TransientError(
    'not-json',
    `${context.label} answered ${answer.status} with ${what}${excerptOf(answer, context)}`,
    {
      hint: 'Does the address lead to the service itself, and not to a proxy or a sign-in page?',
    },
  );
}

/** The error for JSON of another shape than the documented one, `wanted`. */
export function wrongShape(answer: Answer, context: RequestContext, wanted: string): TransientError {
  const message = `${context.label} answered ${answer.status} with JSON that is not ${wanted}${excerptOf(answer, context)}`;
  return new TransientError('wrong-shape', message);
}

function isWebPage({ contentType, body }: Answer): boolean {
  if (/\bx?html\b/i.test(contentType ?? '')) return true;
  // Bytes are kept of arrays alone.
  return body.bytes === undefined && /^\s*<(?:!doctype\s+html|html)\b/i.test(body.text());
}

function messageOf(answer: Answer, context: RequestContext): string {
  return `${context.label} answered ${answer.status}${excerptOf(answer, context)}`;
}

function excerptOf(answer: Answer, { secrets }: RequestContext): string {
  const excerpt = cleanedExcerpt(answer.body.text(), secrets);
  return excerpt === '' ? '' : `: ${excerpt}`;
}

/** The excerpt of a body for messages: one short line without secrets (G10). */
const longestExcerpt = 200;

/** Characters examined: more than are ever shown, few enough for the patterns to be fast on a large page. */
const mostExcerptChars = 4_000;

const secretName = String.raw`[\w-]*(?:authorization|token|password|passwd|secret|api[_-]?key|credential|session|cookie)[\w-]*`;

const quote = String.raw`(?:\\?["'])?`;

/**
 * Each pattern keeps the text before the secret. Schemes come first, so that their word does not count as the value of
 * a name.
 */
const secrets: readonly RegExp[] = [
  /((?:bearer|basic|digest)\s+)[^\s"'<>,;]+/gi,
  new RegExp(String.raw`(\b${secretName}${quote}\s*[:=]\s*${quote})(?!(?:bearer|basic|digest)\s)[^\s"'<>,;&]+`, 'gi'),
  // User info in an address.
  /(\b\w+:\/\/)[^\s/@]+(?=@)/g,
  // A JSON web token, after any text.
  /()\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
];

/** Empty when the body holds no visible text. */
export function cleanedExcerpt(body: string, known: Secrets): string {
  // Secrets are replaced before the cut to what is shown: half a secret would not be recognised.
  const text = known.hideInForeign(body.slice(0, mostExcerptChars)).slice(0, mostExcerptChars);
  const stripped = secrets.reduce((clean, pattern) => clean.replace(pattern, '$1[hidden]'), text);
  // Control characters could rewrite the operator's terminal.
  return shortened(stripped.replaceAll(/[\p{C}\s]+/gu, ' ').trim(), longestExcerpt);
}
