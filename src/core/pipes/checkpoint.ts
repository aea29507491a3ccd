/**
 * The state from which a push continues after a crash: how far the file is settled, and the counts up to there (G7).
 * Stored as JSON with its version; a test freezes the text of every version ever written.
 */
import type { Counts, SharedLocation } from '../run/run.ts';
import type { FilePosition } from './chunk-cutter.ts';

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
