/**
 * Retry of one request: the first of the two retry layers (docs/design.md section 5). It acts within seconds and one
 * deadline; the queue's layer (core/run/retry-decision.ts) takes the errors that it gives up on. Pure: time and
 * randomness are arguments.
 */
import { RateLimitedError, TransientError } from './errors.ts';

export interface RequestRetryPolicy {
  /** Attempts of one request, including the first. */
  readonly maxAttempts: number;
  /** Longest pause before the second attempt; it doubles with each further attempt. */
  readonly baseDelayMs: number;
  /** Limit of the pauses that wellsync chooses. A longer Retry-After is obeyed all the same. */
  readonly maxDelayMs: number;
  /** Limit of all attempts and the pauses between them together. */
  readonly deadlineMs: number;
}

/**
 * Milliseconds to wait before the next attempt, or undefined to give up with `error`. Only a TransientError is retried.
 * The pause grows exponentially; its upper half is random. It is never shorter than the server's Retry-After (G9). When
 * Retry-After or the deadline leaves no time for another attempt, the function gives up at once.
 *
 * `attempt` counts from 1 and has failed; `elapsedMs` is the used part of the deadline; `random` is in [0, 1).
 */
export function nextDelay(options: {
  readonly error: unknown;
  readonly attempt: number;
  readonly elapsedMs: number;
  readonly policy: RequestRetryPolicy;
  readonly random: number;
}): number | undefined {
  const { error, attempt, elapsedMs, policy, random } = options;
  if (!(error instanceof TransientError) || attempt >= policy.maxAttempts) return undefined;
  const floorMs = error instanceof RateLimitedError ? error.retryAfterMs : 0;
  const delayMs = Math.max(floorMs, backoffMs(attempt, policy, random));
  return elapsedMs + delayMs < policy.deadlineMs ? delayMs : undefined;
}

function backoffMs(attempt: number, policy: RequestRetryPolicy, random: number): number {
  const fullMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  return fullMs / 2 + (random * fullMs) / 2;
}

/**
 * The delay of a Retry-After header in milliseconds, from seconds or an HTTP-date (RFC 9110 section 10.2.3); 0 for a
 * date in the past, a hundred years at most. Undefined when it is neither.
 */
export function readRetryAfter(header: string, nowMs: number): number | undefined {
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(longestRetryAfterMs, Math.ceil(Number(text) * 1_000));
  // Date.parse alone would accept many other texts as dates.
  if (!httpDate.test(text)) return undefined;
  // The third form names no zone, and means GMT.
  const untilMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(untilMs) ? undefined : Math.min(longestRetryAfterMs, Math.max(0, untilMs - nowMs));
}

/** Three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. */
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +(?:\d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} +\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} +\d\d:\d\d:\d\d +\d{4})(?: +GMT)?$/;

/** A hundred years: a longer one, of any number of digits, is no other to the operator, and is an instant still. */
const longestRetryAfterMs = 100 * 365.25 * 86_400_000;
