/** Decides how the rows of a pushed file are accounted for: what became of each slice, and the sum over slices (G2). */
import type { Counts } from './run.ts';
import type { PipeLoad, PipeSlice, RejectedLoad } from './pipe-slices.ts';

/** What became of a slice whose items all have their outcome. */
export interface SliceOutcome<Item extends PipeLoad> {
  readonly accepted: readonly Item[];
  /** Refused for what they hold, each with the service's words. */
  readonly refused: readonly GivenUpItem<Item>[];
  /** Neither taken nor refused, after every attempt. */
  readonly failed: readonly GivenUpItem<Item>[];
  /** Sent for this slice, retries included. */
  readonly requests: number;
}

export interface GivenUpItem<Item extends PipeLoad> {
  readonly item: Item;
  readonly reason: string;
}

/** How a chunk stands in the ledger of pushes. `nothing-to-send`: a stretch of the file with no good row. */
export type ChunkStatus = 'accepted' | 'accepted-in-part' | 'rejected' | 'failed' | 'nothing-to-send';

/**
 * The counts of the sum come first: rows = accepted + superseded + rejectedByUs + rejectedByService + failed. A row is
 * superseded when a later row of its pipe is in the same slice, so that it is never sent; of two slices that hold one pipe
 * both are sent, one after the other, and both rows are accepted. `pipes` are the items that were accepted: a pipe that was
 * sent twice counts twice.
 */
export function countsOfSlice<Item extends PipeLoad>(
  slice: PipeSlice<Item, RejectedLoad>,
  outcome: SliceOutcome<Item>,
): Counts {
  return {
    rows: slice.rowCount,
    accepted: rowsOf(outcome.accepted),
    superseded: slice.supersededRows,
    rejectedByUs: rowsOf(slice.rejected),
    rejectedByService: rowsOf(outcome.refused.map(({ item }) => item)),
    failed: rowsOf(outcome.failed.map(({ item }) => item)),
    pipes: outcome.accepted.length,
    chunks: 1,
    requests: outcome.requests,
  };
}

export function statusOfSlice<Item extends PipeLoad>({ accepted, refused, failed }: SliceOutcome<Item>): ChunkStatus {
  if (failed.length > 0) return 'failed';
  if (refused.length > 0) return accepted.length > 0 ? 'accepted-in-part' : 'rejected';
  return accepted.length > 0 ? 'accepted' : 'nothing-to-send';
}

function rowsOf(loads: readonly RejectedLoad[]): number {
  return loads.reduce((rows, { rowCount }) => rows + rowCount, 0);
}
