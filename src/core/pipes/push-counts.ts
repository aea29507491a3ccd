/** Accounting of a pushed file: the status of each chunk, and the counts of G2. */
import type { Counts } from '../run/run.ts';
import type { PipeLoad, PipeChunk, RejectedLoad } from './chunk-cutter.ts';

/** The outcome of a chunk whose items all have an outcome. */
export interface PipeChunkOutcome<Item extends PipeLoad> {
  readonly accepted: readonly Item[];
  /** Items whose content the service refused, each with the service's reason. */
  readonly refused: readonly GivenUpItem<Item>[];
  /** Items neither accepted nor refused after every attempt. */
  readonly failed: readonly GivenUpItem<Item>[];
  /** Requests sent for this chunk, retries included. */
  readonly requests: number;
}

export interface GivenUpItem<Item extends PipeLoad> {
  readonly item: Item;
  readonly reason: string;
}

/** Status of a chunk in the ledger of pushes. `nothing-to-send`: a stretch of the file without a valid row. */
export type ChunkStatus = 'accepted' | 'accepted-in-part' | 'rejected' | 'failed' | 'nothing-to-send';

/**
 * The counts of the sum come first: rows = accepted + superseded + rejectedByUs + rejectedByService + failed. A row is
 * superseded when a later row of its pipe is in the same chunk, so that it is never sent. When two chunks hold the same
 * pipe, both are sent, one after the other, and both rows are accepted. `pipes` counts accepted items: a pipe sent
 * twice counts twice.
 */
export function countsOfChunk<Item extends PipeLoad>(
  chunk: PipeChunk<Item, RejectedLoad>,
  outcome: PipeChunkOutcome<Item>,
): Counts {
  return {
    rows: chunk.rowCount,
    accepted: rowsOf(outcome.accepted),
    superseded: chunk.supersededRows,
    rejectedByUs: rowsOf(chunk.rejected),
    rejectedByService: rowsOf(outcome.refused.map(({ item }) => item)),
    failed: rowsOf(outcome.failed.map(({ item }) => item)),
    pipes: outcome.accepted.length,
    chunks: 1,
    requests: outcome.requests,
  };
}

export function statusOfChunk<Item extends PipeLoad>({
  accepted,
  refused,
  failed,
}: PipeChunkOutcome<Item>): ChunkStatus {
  if (failed.length > 0) return 'failed';
  if (refused.length > 0) return accepted.length > 0 ? 'accepted-in-part' : 'rejected';
  return accepted.length > 0 ? 'accepted' : 'nothing-to-send';
}

function rowsOf(loads: readonly RejectedLoad[]): number {
  return loads.reduce((rows, { rowCount }) => rows + rowCount, 0);
}
