/**
 * The state from which a push continues after a crash: how far the file is settled, and the counts up to there (G7).
 * Stored as JSON with its version; a test freezes the text of every version ever written.
 */
import type { Counts, SharedLocation } from '../run/run.ts';
import type { FilePosition, PipeLoad, RejectedLoad } from './chunks-in-order.ts';

export interface PushCheckpoint {
  /** Every row before it is settled; undefined before the first row is settled. */
  readonly position: FilePosition | undefined;
  /** Counts of the rows before the position, and of the chunks that begin there. */
  readonly counts: Counts;
  /**
   * Size of the rejects file with the rejects of these rows. Later bytes are cut off; their rejects are written
   * again.
   */
  readonly rejectsBytes: number;
  /** The first few rejects for the report, one sentence each. */
  readonly firstRejects: readonly string[];
}

export const startOfPush: PushCheckpoint = {
  position: undefined,
  counts: {},
  rejectsBytes: 0,
  firstRejects: [],
};

/**
 * Version 1 is of pushes that sent the last date of a pipe in a request and dropped the others as superseded; version 2
 * sends every date.
 */
const version = 2;

export function encodeCheckpoint({ position, counts, rejectsBytes, firstRejects }: PushCheckpoint): string {
  return JSON.stringify({ version, position: position ?? null, counts, rejectsBytes, firstRejects });
}

type Stored = { readonly version: unknown } & Omit<PushCheckpoint, 'position'> & {
    readonly position: FilePosition | null;
  };

/**
 * The checkpoint to continue from. A push of version 1 that has dropped rows begins again: what it sends once more is
 * harmless (G5). Throws Error for a version that this wellsync does not know: continuing from a guess would lose rows.
 */
export function decodeCheckpoint(text: string): PushCheckpoint {
  const { position, counts, rejectsBytes, firstRejects, ...stored } = decodeStored(text);
  if (stored.version === 1 && (counts['superseded'] ?? 0) > 0) return startOfPush;
  return { position: position ?? undefined, counts, rejectsBytes, firstRejects };
}

/** The counts of a checkpoint of any version. */
export function countsOfCheckpoint(text: string): Counts {
  return decodeStored(text).counts;
}

function decodeStored(text: string): Stored {
  const stored = JSON.parse(text) as Stored;
  if (stored.version === version || stored.version === 1) return stored;
  throw new Error(
    `the checkpoint of the push is of version ${String(stored.version)}; this wellsync knows 1 to ${version}`,
  );
}

/** Where the rejected rows of a push lie: in a file of one host, or among the files that several share. */
export type RejectsLocation = { readonly file: string } | { readonly shared: SharedLocation; readonly runId: string };

// Accounting of a pushed file: the status of each chunk, and the counts of G2.

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

/** Status of a chunk in the ledger of pushes. */
export type ChunkStatus = 'accepted' | 'accepted-in-part' | 'rejected' | 'failed';

/** What became of the rows of one item, or of rows that are not sent. */
export type RowsOutcome = 'accepted' | 'superseded' | 'rejectedByUs' | 'rejectedByService' | 'failed';

/** A chunk as the ledger keeps it. Lines from 1, both inclusive: those of another chunk may lie between them. */
export interface SettledChunk {
  readonly firstLine: number;
  readonly lastLine: number;
  readonly items: number;
  readonly status: ChunkStatus;
  /** Number of requests for it. */
  readonly attempts: number;
}

/** Rows of the file, from their reading until the checkpoint passes them. */
export interface TrackedRows<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly rowCount: number;
  readonly end: FilePosition;
  /** Undefined once its chunk is settled, for the memory. */
  item: Item | undefined;
  outcome: RowsOutcome | undefined;
  /** The rejects, of rows that were rejected or failed. */
  rejected: Rejected | undefined;
  /** Set for the last rows of a chunk in the file: the chunk counts when the checkpoint passes them. */
  chunk: SettledChunk | undefined;
}

/** Consecutive rows that the checkpoint passes. */
export interface PassedRows<Rejected extends RejectedLoad> {
  readonly end: FilePosition;
  readonly counts: Counts;
  /** In the order of the file. */
  readonly rejected: readonly Rejected[];
  readonly chunks: readonly SettledChunk[];
}

/**
 * The counts of the sum come first: rows = accepted + superseded + rejectedByUs + rejectedByService + failed. A row is
 * superseded when a later row of its pipe has the same date, and none of the two was sent yet. `pipes` counts accepted
 * items: each version of a pipe counts.
 */
export function passedRows<Item extends PipeLoad, Rejected extends RejectedLoad>(
  passed: readonly TrackedRows<Item, Rejected>[],
): PassedRows<Rejected> | undefined {
  const last = passed.at(-1);
  if (last === undefined) return undefined;
  const sums = { accepted: 0, superseded: 0, rejectedByUs: 0, rejectedByService: 0, failed: 0 };
  const rejects: Rejected[] = [];
  const chunks: SettledChunk[] = [];
  let [rows, pipes, requests] = [0, 0, 0];
  for (const { rowCount, outcome, rejected, chunk } of passed) {
    if (outcome === undefined) throw new Error('rows without an outcome cannot be passed');
    rows += rowCount;
    sums[outcome] += rowCount;
    if (outcome === 'accepted') pipes += 1;
    if (rejected !== undefined) rejects.push(rejected);
    if (chunk === undefined) continue;
    chunks.push(chunk);
    requests += chunk.attempts;
  }
  const counts = { rows, ...sums, pipes, chunks: chunks.length, requests };
  return { end: last.end, counts, rejected: rejects, chunks };
}

export function statusOfChunk(chunk: PipeChunkOutcome<PipeLoad>): ChunkStatus {
  if (chunk.failed.length > 0) return 'failed';
  if (chunk.refused.length > 0) return chunk.accepted.length > 0 ? 'accepted-in-part' : 'rejected';
  return 'accepted';
}
