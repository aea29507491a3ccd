/** Keeps a queue that lost the warehouse from writing to it (G11). */
import { TakenOverError } from '../../../core/base/errors.ts';
import type { ServiceIdentity } from '../../../core/base/service-key.ts';
import type { SqlSession } from '../session.ts';

/** The epoch in which a handle may write, and whom to tell that it is over. */
export interface Fence {
  readonly epoch: number;
  readonly onTakenOver: (error: Error) => void;
}

/**
 * To be called first in every transaction of a fenced handle: keeps a worker that was suspended from committing after
 * another queue took the warehouse over. The row stays locked for sharing, so that a takeover waits for the transactions
 * that were begun before it.
 */
export async function requireEpoch(
  session: SqlSession,
  { epoch, onTakenOver }: Fence,
  service: ServiceIdentity | undefined,
): Promise<void> {
  const [row] = await session.rows<{ epoch: number; owner: string | null }>(
    `SELECT epoch, service AS owner FROM warehouse ${session.dialect.rowLock('share')}`,
  );
  // A worker may have started before the first run wrote the service of the warehouse.
  const isOfService = service === undefined || row?.owner === null || row?.owner === service.key;
  if (row?.epoch === epoch && isOfService) return;
  const error = new TakenOverError();
  onTakenOver(error);
  throw error;
}
