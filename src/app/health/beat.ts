/** The beat of the queue that works the warehouse: a small file beside it, which workers write every few seconds. */
import { beatTimes } from '../../core/run/queue-claim.ts';
import { TransientError } from '../../core/base/errors.ts';
import type { App } from '../app.ts';
import { queueAddressOf } from '../service-settings.ts';

export interface Liveness {
  readonly isLive: boolean;
  /** Milliseconds since the last beat; undefined without one. */
  readonly beatAgeMs: number | undefined;
}

/** Reads the beat alone: opens no warehouse, and asks neither Redis nor the service. */
export async function livenessOf({ ledger }: App): Promise<Liveness> {
  const beatAgeMs = await ledger.ownership.beatAgeMs();
  return { isLive: beatAgeMs !== undefined && beatAgeMs < beatTimes.staleAfterMs, beatAgeMs };
}

/**
 * Milliseconds since the last beat, for the error of a warehouse that is held by a worker of this installation: its queue
 * beats, and Redis has that queue under this prefix. Rethrows every other error.
 */
export async function beatAgeOfHolder(error: unknown, app: App): Promise<number> {
  const isHeld = error instanceof TransientError && error.code === 'warehouse-busy';
  if (!isHeld || app.config.service.url === undefined) throw error;
  const { isLive, beatAgeMs } = await livenessOf(app);
  const { readQueueIdentity } = await import('../../queue/queue-identity.ts');
  const { warehouseId } = await readQueueIdentity(queueAddressOf(app.config));
  if (!isLive || beatAgeMs === undefined || warehouseId === undefined) throw error;
  return beatAgeMs;
}
