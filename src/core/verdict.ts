/**
 * Decides what becomes of a queue item after it was worked: the second of the two layers of retry (DESIGN.md section 5).
 * Adapters classify at the throw, this decides, the queue room translates to BullMQ.
 */
import { AbortedError, AccessError, PermanentError, RateLimitedError, TransientError } from './errors.ts';

export type ChunkVerdict =
  /** Every unit has its outcome. */
  | { readonly kind: 'settled' }
  /** What is left is tried again after the delay; uses an attempt. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** The service is down or wants rest: the whole queue waits, and no attempt is used. */
  | { readonly kind: 'hold'; readonly delayMs: number }
  /** Shutdown: the item goes back to the queue as it is, for another worker. */
  | { readonly kind: 'hand-back' };

/** What to do about one unit that did not settle by itself. */
export type UnitVerdict = 'try-again' | 'dead-letter' | 'stop-run' | 'hand-back';

/**
 * A whitelist: only known transient errors are tried again. An error that nobody foresaw is a bug, and ends as a dead
 * letter with its stack in the log.
 */
export function judgeUnit(error: unknown): UnitVerdict {
  if (error instanceof AbortedError) return 'hand-back';
  if (error instanceof AccessError) return 'stop-run';
  if (error instanceof TransientError) return 'try-again';
  if (error instanceof PermanentError) return 'dead-letter';
  return 'dead-letter';
}

/** Whether every other unit of the chunk would end the same: then no further one is begun. */
export function isForAll(error: unknown): boolean {
  if (error instanceof AccessError || error instanceof AbortedError || error instanceof RateLimitedError) return true;
  return error instanceof TransientError && error.serviceDown;
}

/** What a refused bulk request says: of what its items hold, of its size, or nothing about them at all. */
export type BulkRefusal = 'items' | 'size';

/**
 * 400, 409 and 422 speak of the items, 413 of the size (DESIGN.md section 4.3). Undefined for everything else: a 404 or a
 * 415, say, would answer any items alike, and halving would send them to the rejects one by one.
 */
export function judgeBulkError(error: unknown): BulkRefusal | undefined {
  if (!(error instanceof PermanentError)) return undefined;
  if (error.status === 413) return 'size';
  return error.status === 400 || error.status === 409 || error.status === 422 ? 'items' : undefined;
}

export interface ChunkRetryPolicy {
  /** Attempts of one queue item, the first included. */
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** How long the queues look again for a service that is down before its units fail. */
  readonly maxHoldMs: number;
}

/** The longest pause between two looks at a service that is down: work goes on by itself within a minute (G7). */
const longestHoldMs = 30_000;

/**
 * The verdict on a chunk whose units in `errors` are to be tried again. `attempt` counts from 1; `downForMs` is how long
 * the service has been silent, undefined when this chunk heard from it; `jitter` is in [0, 1). `undefined` means that the
 * attempts or the patience are spent: the units are dead letters.
 */
export function judgeChunk(options: {
  readonly errors: readonly TransientError[];
  readonly attempt: number;
  readonly downForMs: number | undefined;
  readonly policy: ChunkRetryPolicy;
  readonly jitter: number;
}): ChunkVerdict | undefined {
  const { errors, attempt, downForMs, policy, jitter } = options;
  if (errors.length === 0) return { kind: 'settled' };
  const floorMs = Math.max(0, ...errors.map((error) => (error instanceof RateLimitedError ? error.retryAfterMs : 0)));
  if (downForMs !== undefined && downForMs < policy.maxHoldMs) {
    return { kind: 'hold', delayMs: Math.max(floorMs, Math.min(longestHoldMs, 1_000 + downForMs / 2)) };
  }
  if (attempt >= policy.maxAttempts) return undefined;
  return { kind: 'retry', delayMs: Math.max(floorMs, backoffMs(attempt, policy, jitter)) };
}

/** Exponential from the base, bounded, the upper half of it by chance. */
function backoffMs(attempt: number, policy: ChunkRetryPolicy, jitter: number): number {
  const fullMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  return Math.round(fullMs / 2 + (jitter * fullMs) / 2);
}
