/**
 * Owns what a push keeps to go on after a crash: how far the file is settled, and the accounts up to there (G7). Kept as
 * JSON with its version; a test freezes the text of every version that was ever written.
 */
import type { Counts } from './run.ts';
import type { FilePosition } from './pipe-slices.ts';

export interface PushCheckpoint {
  /** Everything before it is settled; undefined before the first slice is. */
  readonly position: FilePosition | undefined;
  /** Of the slices before the position, and of none behind it. */
  readonly counts: Counts;
  /** The size of the rejects file when these slices are in it: what stands behind it is cut off and comes again. */
  readonly rejectsBytes: number;
  /** The first few rejects, a sentence each, for the report. */
  readonly firstRejects: readonly string[];
  /** Pipes whose lists differ in length: how many, and the first few by name. */
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

/** Throws where the text is of a version that this wellsync does not know: going on from a guess would lose rows. */
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
