/**
 * Decides whether and when one request is tried again: the first of the two layers of retry (DESIGN.md section 5). Within
 * seconds and one deadline; what it gives up goes to the queue's layer (core/verdict.ts). Pure: time and chance come in.
 */
import { RateLimitedError, TransientError } from './errors.ts';

export interface RequestRetryPolicy {
  /** Attempts of one request, the first included. */
  readonly maxAttempts: number;
  /** Longest pause before the second attempt; it doubles with each further one. */
  readonly baseDelayMs: number;
  /** Bound of the pauses that wellsync chooses; a Retry-After above it is kept all the same. */
  readonly maxDelayMs: number;
  /** All attempts and the pauses between them together. */
  readonly deadlineMs: number;
}

/**
 * Milliseconds to wait before the next attempt, or undefined to give up with `error`. A whitelist: only a TransientError
 * is tried again. The pause grows exponentially, its upper half by chance, and is never under the server's Retry-After
 * (G9); where that or the deadline leaves no time for another attempt, waiting would be for nothing, so it gives up at once.
 *
 * `attempt` counts from 1 and has failed; `elapsedMs` is what the deadline has lost so far; `random` is in [0, 1).
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
 * The milliseconds that a Retry-After header asks for, in seconds or as an HTTP-date (RFC 9110 section 10.2.3); a date
 * that has passed is 0. Undefined where it is neither.
 */
export function readRetryAfter(header: string, nowMs: number): number | undefined {
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1_000);
  // Every form of an HTTP-date begins with the name of a day; Date.parse alone would take much else for a date.
  const untilMs = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header.trim()) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(untilMs) ? undefined : Math.max(0, untilMs - nowMs);
}
