/**
 * Retry of a queue item: the second of the two retry layers (docs/design.md section 5). Adapters classify errors where
 * they throw them, this file decides, and src/queue translates the decision for BullMQ.
 */
import {
  AbortedError,
  AccessError,
  BlockedError,
  holdDelayMs,
  outagePartOf,
  PermanentError,
  RateLimitedError,
  ServiceHoldError,
  TransientError,
  UnreachableError,
  WarehouseGoneError,
} from '../base/errors.ts';

export type ChunkDecision =
  /** Every unit has its outcome. */
  | { readonly kind: 'settled' }
  /** The open units are retried after the delay; uses an attempt. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** A part is down, or the service is rate-limited: the whole queue waits, and no attempt is used. */
  | { readonly kind: 'hold'; readonly delayMs: number }
  /** Another run must end first: only this item waits, and no attempt is used. */
  | { readonly kind: 'wait'; readonly delayMs: number }
  /** Shutdown: the item returns to the queue unchanged, for another worker. */
  | { readonly kind: 'hand-back' };

/** The handling of a unit that ended with an error. */
export type UnitDecision = 'try-again' | 'dead-letter' | 'stop-run' | 'hand-back' | 'wait';

/**
 * Only known transient errors are retried. An unknown error is a bug: the unit becomes a dead letter, and the log has
 * the stack.
 */
export function decideUnit(error: unknown): UnitDecision {
  if (error instanceof AbortedError || error instanceof WarehouseGoneError) return 'hand-back';
  if (error instanceof BlockedError) return 'wait';
  if (error instanceof AccessError) return 'stop-run';
  if (error instanceof TransientError || error instanceof UnreachableError) return 'try-again';
  return 'dead-letter';
}

/** Whether every other unit of the chunk would end the same; if so, no further unit is begun. */
export function isForAll(error: unknown): boolean {
  if (error instanceof AccessError || error instanceof AbortedError) return true;
  if (error instanceof RateLimitedError || error instanceof ServiceHoldError) return true;
  return outagePartOf(error) !== undefined;
}

/** The cause of a refused bulk request: the content of its items, or its size. */
type BulkRefusal = 'items' | 'size';

/**
 * 400, 409 and 422 concern the items, 413 the size (docs/design.md section 4.3). Undefined for anything else: a 404 or
 * a 415, for example, would answer any items alike, and bisection would reject them one by one.
 */
export function judgeBulkError(error: unknown): BulkRefusal | undefined {
  if (!(error instanceof PermanentError)) return undefined;
  if (error.status === 413) return 'size';
  return error.status === 400 || error.status === 409 || error.status === 422 ? 'items' : undefined;
}

export interface ChunkRetryPolicy {
  /** Attempts of one queue item, including the first. */
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** How long the queues wait for a part that is down before units fail. */
  readonly maxHoldMs: number;
}

/** A longer Retry-After is kept by the limiter, where an operator sees it and can lift it (G9). */
const longestFloorMs = 30_000;

/**
 * The decision on a chunk whose units in `errors` are to be retried. `attempt` counts from 1; `downForMs`: how long the
 * part that the chunk needs has been down, undefined when none is; `jitter` is in [0, 1). Undefined when the attempts
 * or the maximum hold are used up: the units become dead letters.
 */
export function decideChunk(options: {
  readonly errors: readonly Error[];
  readonly attempt: number;
  readonly downForMs: number | undefined;
  readonly policy: ChunkRetryPolicy;
  readonly jitter: number;
}): ChunkDecision | undefined {
  const { errors, attempt, downForMs, policy, jitter } = options;
  if (errors.length === 0) return { kind: 'settled' };
  const retryAfterMs = errors.map((error) => (error instanceof RateLimitedError ? error.retryAfterMs : 0));
  const floorMs = Math.min(longestFloorMs, Math.max(0, ...retryAfterMs));
  if (downForMs !== undefined && downForMs < policy.maxHoldMs) {
    return { kind: 'hold', delayMs: Math.max(floorMs, holdDelayMs(downForMs)) };
  }
  if (attempt >= policy.maxAttempts) return undefined;
  return { kind: 'retry', delayMs: Math.max(floorMs, Math.round(backoffMs(attempt, policy, jitter))) };
}

/** Exponential from the base, limited; its upper half is random. `random` is in [0, 1). */
function backoffMs(
  attempt: number,
  { baseDelayMs, maxDelayMs }: Pick<ChunkRetryPolicy, 'baseDelayMs' | 'maxDelayMs'>,
  random: number,
): number {
  const fullMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
  return fullMs / 2 + (random * fullMs) / 2;
}

/**
 * Work whose worker dies. A unit that kills its process (an answer that its memory does not hold) neither keeps the other
 * units of its item from being worked, nor is started for ever (G7). Pure.
 *
 *   together --(2 starts died)--> singly --(a unit: 3 starts alone died)--> that unit fails
 *
 * A start died if it neither ended nor settled anything. One that a person or the system killed counts as well, so that
 * several are needed.
 */
const deathsTogether = 2;
const deathsAlone = 3;

/** Whether an item with so many starts that died is worked unit by unit. */
export function isWorkedSingly(deaths: number): boolean {
  return deaths >= deathsTogether;
}

/**
 * Divides the open units of an item that is worked singly. `deaths`: starts of a unit alone that died, by its ordinal.
 * `toTry` begins with the units of which fewest died, so that the innocent ones are done first.
 */
export function judgeUnits<Unit extends { readonly unit: number }>(
  units: readonly Unit[],
  deaths: ReadonlyMap<number, number>,
): { readonly toTry: readonly Unit[]; readonly guilty: readonly Unit[] } {
  const deathsOf = ({ unit }: Unit): number => deaths.get(unit) ?? 0;
  return {
    toTry: units
      .filter((unit) => deathsOf(unit) < deathsAlone)
      .toSorted((left, right) => deathsOf(left) - deathsOf(right)),
    guilty: units.filter((unit) => deathsOf(unit) >= deathsAlone),
  };
}

/** The fault of a guilty unit. */
export function workerDied(runId: string): PermanentError {
  return new PermanentError(
    'worker-died',
    `its worker died each of the ${deathsAlone} times that it worked this alone`,
    {
      hint: 'Most likely its answers need more memory than there is: raise worker.memoryMb, and retry the run. The log of the workers says how they died.',
      action: { kind: 'retry-run', runId },
    },
  );
}

/**
 * Retry of one request: the first of the two retry layers (docs/design.md section 5). It acts within seconds and one
 * deadline; the queue's layer takes the errors that it gives up on. Pure: time and randomness are arguments.
 */
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
