/**
 * The state from which a push continues after a crash: how far the file is settled, and the counts up to there (G7).
 * Stored as JSON with its version; a test freezes the text of every version ever written.
 */
import type { Counts } from '../run/run.ts';
import type { FilePosition } from './chunk-cutter.ts';

export interface PushCheckpoint {
  /** Every row before it is settled; undefined before the first chunk is settled. */
  readonly position: FilePosition | undefined;
  /** Counts of the chunks before the position. */
  readonly counts: Counts;
  /**
   * Size of the rejects file with the rejects of these chunks. Later bytes are cut off; their rejects are written
   * again.
   */
  readonly rejectsBytes: number;
  /** The first few rejects for the report, one sentence each. */
  readonly firstRejects: readonly string[];
  /** Pipes whose lists differ in length: their number, and the names of the first few. */
  readonly unevenLists: { readonly count: number; readonly first: readonly string[] };
}

export const startOfPush: PushCheckpoint = {
  position: undefined,
  counts: {},
  rejectsBytes: 0,
  firstRejects: [],
  unevenLists: { count: 0, first: [] },
};

const version = 1;

export function encodeCheckpoint(checkpoint: PushCheckpoint): string {
  const { position, counts, rejectsBytes, firstRejects, unevenLists } = checkpoint;
  return JSON.stringify({ version, position: position ?? null, counts, rejectsBytes, firstRejects, unevenLists });
}

/** Throws Error for a version that this wellsync does not know: continuing from a guess would lose rows. */
export function decodeCheckpoint(text: string): PushCheckpoint {
  const stored = JSON.parse(text) as { readonly version: unknown } & Omit<PushCheckpoint, 'position'> & {
      readonly position: FilePosition | null;
    };
  if (stored.version !== version) {
    throw new Error(
      `the checkpoint of the push is of version ${String(stored.version)}; this wellsync knows ${version}`,
    );
  }
  const { position, counts, rejectsBytes, firstRejects, unevenLists } = stored;
  return { position: position ?? undefined, counts, rejectsBytes, firstRejects, unevenLists };
}
