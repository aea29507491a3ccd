/** Through what a warehouse is worked, and the change of it. */
import { UnreachableError } from '../core/base/errors.ts';
import type { QueueKind } from '../core/run/warehouse-queue.ts';
import type { App } from './app.ts';
import { livenessOf } from './health/warehouse.ts';

export interface QueueStatus {
  /** Null before the first worker. */
  readonly queue: QueueKind | null;
  readonly configured: QueueKind;
  readonly warehouse: string;
}

export async function queueStatus({ ledger, warehouse, queueWay }: App): Promise<QueueStatus> {
  const { queueKind } = await ledger.ownership.read();
  return { queue: queueKind ?? null, configured: queueWay.kind, warehouse: warehouse.location };
}

/**
 * Works the warehouse through a queue of this kind from now on: its unfinished runs go on there. Returns their number, and
 * whether it was so already. Throws UnreachableError while a process works the warehouse.
 */
export async function useQueue(
  app: App,
  kind: QueueKind,
): Promise<{ readonly isRepeat: boolean; readonly unfinished: number }> {
  const { ledger, queueWay, warehouse } = app;
  const { queueKind, queueId } = await ledger.ownership.read();
  const unfinished = (await ledger.runs.unfinished()).length;
  if (queueKind === kind) return { isRepeat: true, unfinished };
  const { isLive } = await livenessOf(app);
  if (isLive && !(queueId !== undefined && (await queueWay.isGone(queueId)))) {
    throw new UnreachableError('warehouse', `${warehouse.location} is being worked: its queue was not changed`, {
      hint: 'Stop its workers and servers first. One that was killed counts as working for 45 seconds at most.',
    });
  }
  await ledger.ownership.useQueue(kind);
  return { isRepeat: false, unfinished };
}
