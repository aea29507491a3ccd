/** Records of settled chunks for the checkpoint that passes them: counts, rejects, rows of the ledger. Pure. */
import type { FilePosition, PipeChunk } from '../../../src/core/pipes/chunk-cutter.ts';
import { countsOfChunk, type PipeChunkOutcome, statusOfChunk } from '../../../src/core/pipes/push-counts.ts';
import type { PushCheckpoint } from '../../../src/core/pipes/checkpoint.ts';
import { addCounts, type Counts } from '../../../src/core/run/run.ts';
import type { PipeHeader } from '../../../src/pipes/header.ts';
import type { PipeItem, RejectedRow, RejectedRows } from '../../../src/pipes/items.ts';
import type { PipeFiles } from '../../../src/pipes/pipe-files.ts';
import type { PushedChunk } from '../../../src/warehouse/port/pushes.ts';

export type FileChunk = PipeChunk<PipeItem, RejectedRows>;

/** Number of rejects and of pipes that a report names. */
const maxShown = 5;
const longestSentence = 300;

/** The part of a settled chunk that is kept until it is durable: nothing of the accepted items. */
export interface SettledChunk {
  readonly end: FilePosition;
  readonly counts: Counts;
  /** In the order of the file. */
  readonly rejects: readonly RejectedRow[];
  readonly chunk: Pick<PushedChunk, 'items' | 'status' | 'attempts'>;
  readonly unevenLists: PushCheckpoint['unevenLists'];
}

export function settledChunk(
  chunk: FileChunk,
  outcome: PipeChunkOutcome<PipeItem>,
  header: PipeHeader,
  files: PipeFiles,
): SettledChunk {
  const givenUp = [...outcome.refused, ...outcome.failed].flatMap(
    ({ item, reason }) => files.rejectItem(item, header, reason).rows,
  );
  const rejects = [...chunk.rejected.flatMap(({ rows }) => rows), ...givenUp];
  return {
    end: chunk.end,
    counts: countsOfChunk(chunk, outcome),
    rejects: rejects.toSorted((left, right) => left.line - right.line),
    chunk: { items: chunk.items.length, status: statusOfChunk(outcome), attempts: outcome.requests },
    unevenLists: unevenListsOf(chunk.items),
  };
}

/** The checkpoint after these chunks, which follow the given one. */
export function checkpointAfter(
  before: PushCheckpoint,
  passed: readonly SettledChunk[],
  rejectsBytes: number,
  files: PipeFiles,
): PushCheckpoint {
  const sentences = passed.flatMap(({ rejects }) => rejects).slice(0, maxShown);
  return {
    position: passed.at(-1)?.end ?? before.position,
    counts: passed.reduce((sum, { counts }) => addCounts(sum, counts), before.counts),
    rejectsBytes,
    firstRejects: [...before.firstRejects, ...sentences.map((reject) => cut(files.describeReject(reject)))].slice(
      0,
      maxShown,
    ),
    unevenLists: passed.reduce((sum, chunk) => addUneven(sum, chunk.unevenLists), before.unevenLists),
  };
}

/** Rows of the ledger for chunks that follow the checkpoint. */
export function ledgerOf(before: PushCheckpoint, passed: readonly SettledChunk[]): readonly PushedChunk[] {
  const firstChunk = before.counts['chunks'] ?? 0;
  // The header is on the first line.
  let nextLine = before.position?.line ?? 2;
  return passed.map(({ chunk, end }, index) => {
    const firstLine = nextLine;
    nextLine = end.line;
    return { ...chunk, chunk: firstChunk + index, firstLine, lastLine: end.line - 1 };
  });
}

/** Approximate memory of rows of a rejects file, as text. */
export function rowsBytes(rows: readonly RejectedRow[]): number {
  return rows.reduce((bytes, { raw, reason }) => bytes + raw.length + reason.length, 0);
}

function unevenListsOf(items: readonly PipeItem[]): PushCheckpoint['unevenLists'] {
  const uneven = items.filter((item) => item.hasUnevenLists);
  return { count: uneven.length, first: uneven.slice(0, maxShown).map(nameOf) };
}

function addUneven(
  left: PushCheckpoint['unevenLists'],
  right: PushCheckpoint['unevenLists'],
): PushCheckpoint['unevenLists'] {
  return { count: left.count + right.count, first: [...left.first, ...right.first].slice(0, maxShown) };
}

function nameOf({ network, sourceId, firstLine }: PipeItem): string {
  return `${network}/${sourceId} (line ${firstLine})`;
}

function cut(sentence: string): string {
  return sentence.length > longestSentence ? `${sentence.slice(0, longestSentence)}…` : sentence;
}
