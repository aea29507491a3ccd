/** The engine's decisions on a queue item in the words of BullMQ, and BullMQ's faults in ours. */
import { DelayedError, type Job as QueueJob, type Queue, WaitingError, Worker } from 'bullmq';
import type { ChunkDecision } from '../core/run/retry-decision.ts';
import { redisOutage } from './redis/fault.ts';

/** The pause after a fault that may pass, and after a state of Redis that met BullMQ itself. */
export const troubledMs = 5_000;

/** Carries the delay of a `retry` decision through BullMQ to the backoff strategy. */
export class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly delayMs: number;

  constructor(delayMs: number) {
    super(`tried again in ${delayMs} ms`);
    this.delayMs = delayMs;
  }
}

/** Returns for a settled item; every other decision throws the error that BullMQ expects for it. */
export async function translate(
  verdict: ChunkDecision,
  queue: Queue,
  job: QueueJob,
  token: string | undefined,
): Promise<void> {
  switch (verdict.kind) {
    case 'settled':
      return;
    case 'retry':
      throw new TryAgainError(verdict.delayMs);
    case 'hold':
      await queue.rateLimit(Math.max(1, Math.round(verdict.delayMs)));
      throw Worker.RateLimitError();
    case 'wait':
      await job.moveToDelayed(Date.now() + verdict.delayMs, token);
      throw new DelayedError();
    case 'hand-back':
      await job.moveToWait(token);
      throw new WaitingError();
  }
}

/** -1 gives an item up. A state of Redis that met BullMQ itself is no fault of the item. */
export function retryDelayMs(error: unknown): number {
  if (error instanceof TryAgainError) return error.delayMs;
  return redisOutage(error) === undefined ? -1 : troubledMs;
}

/** BullMQ's words for an item whose lock this worker no longer has, in ours; undefined for any other error. */
export function lockFaultOf({ message }: Error): string | undefined {
  const found = /(?:missing lock for job|lock mismatch for job|could not renew lock for job) (?<item>\S+)/i.exec(
    message,
  );
  if (found === null) return undefined;
  return `the lock of item ${found.groups?.['item'] ?? ''} ran out before it was renewed`;
}
