/**
 * Retry of a queue item: the second of the two retry layers (docs/design.md section 5). Adapters classify errors where
 * they throw them, this file decides, and src/queue translates the decision for BullMQ.
 */
import {
  AbortedError,
  AccessError,
  BlockedError,
  PermanentError,
  RateLimitedError,
  ServiceHoldError,
  TransientError,
  UnreachableError,
  WarehouseGoneError,
} from '../base/errors.ts';
import { holdDelayMs, outagePartOf } from '../base/outage.ts';

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
  if (error instanceof PermanentError || error instanceof ServiceHoldError) return 'dead-letter';
  return 'dead-letter';
}

/** Whether every other unit of the chunk would end the same; if so, no further unit is begun. */
export function isForAll(error: unknown): boolean {
  if (error instanceof AccessError || error instanceof AbortedError) return true;
  if (error instanceof RateLimitedError || error instanceof ServiceHoldError) return true;
  return outagePartOf(error) !== undefined;
}

/** The cause of a refused bulk request: the content of its items, or its size. */
export type BulkRefusal = 'items' | 'size';

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
  return { kind: 'retry', delayMs: Math.max(floorMs, backoffMs(attempt, policy, jitter)) };
}

/** Exponential from the base, limited; its upper half is random. */
function backoffMs(attempt: number, policy: ChunkRetryPolicy, jitter: number): number {
  const fullMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  return Math.round(fullMs / 2 + (jitter * fullMs) / 2);
}
