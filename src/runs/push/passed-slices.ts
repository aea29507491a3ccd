/** Decides what a settled slice leaves behind when the checkpoint passes it: counts, rejects, a line of the ledger. Pure. */
import type { FilePosition, PipeSlice } from '../../core/pipe-slices.ts';
import { countsOfSlice, statusOfSlice, type SliceOutcome } from '../../core/push-accounts.ts';
import type { PushCheckpoint } from '../../core/push-checkpoint.ts';
import { addCounts, type Counts } from '../../core/run.ts';
import type { PipeHeader } from '../../pipes/header.ts';
import type { PipeItem, RejectedRow, RejectedRows } from '../../pipes/items.ts';
import type { PipeFiles } from '../../pipes/pipe-files.ts';
import type { PushedChunk } from '../../warehouse/warehouse.ts';

export type FileSlice = PipeSlice<PipeItem, RejectedRows>;

/** How many rejects and pipes a report names. */
const firstTold = 5;
const longestSentence = 300;

/** What is kept of a settled slice until it is durable: nothing of the items that arrived. */
export interface PassedSlice {
  readonly end: FilePosition;
  readonly counts: Counts;
  /** In the order of the file. */
  readonly rejects: readonly RejectedRow[];
  readonly chunk: Pick<PushedChunk, 'items' | 'status' | 'attempts'>;
  readonly unevenLists: PushCheckpoint['unevenLists'];
}

export function passedSlice(
  slice: FileSlice,
  outcome: SliceOutcome<PipeItem>,
  header: PipeHeader,
  files: PipeFiles,
): PassedSlice {
  const givenUp = [...outcome.refused, ...outcome.failed].flatMap(
    ({ item, reason }) => files.rejectItem(item, header, reason).rows,
  );
  const rejects = [...slice.rejected.flatMap(({ rows }) => rows), ...givenUp];
  return {
    end: slice.end,
    counts: countsOfSlice(slice, outcome),
    rejects: rejects.toSorted((left, right) => left.line - right.line),
    chunk: { items: slice.items.length, status: statusOfSlice(outcome), attempts: outcome.requests },
    unevenLists: unevenListsOf(slice.items),
  };
}

/** The checkpoint behind these slices, which follow the one before. */
export function checkpointAfter(
  before: PushCheckpoint,
  passed: readonly PassedSlice[],
  rejectsBytes: number,
  files: PipeFiles,
): PushCheckpoint {
  const sentences = passed.flatMap(({ rejects }) => rejects).slice(0, firstTold);
  return {
    position: passed.at(-1)?.end ?? before.position,
    counts: passed.reduce((sum, { counts }) => addCounts(sum, counts), before.counts),
    rejectsBytes,
    firstRejects: [...before.firstRejects, ...sentences.map((reject) => cut(files.describeReject(reject)))].slice(
      0,
      firstTold,
    ),
    unevenLists: passed.reduce((sum, slice) => addUneven(sum, slice.unevenLists), before.unevenLists),
  };
}

/** The lines of the ledger for slices that follow the checkpoint. */
export function ledgerOf(before: PushCheckpoint, passed: readonly PassedSlice[]): readonly PushedChunk[] {
  const firstChunk = before.counts['chunks'] ?? 0;
  // The header is on the first line.
  let nextLine = before.position?.line ?? 2;
  return passed.map(({ chunk, end }, index) => {
    const firstLine = nextLine;
    nextLine = end.line;
    return { ...chunk, chunk: firstChunk + index, firstLine, lastLine: end.line - 1 };
  });
}

/** What rows of a rejects file hold in memory, as text: about. */
export function rowsBytes(rows: readonly RejectedRow[]): number {
  return rows.reduce((bytes, { raw, reason }) => bytes + raw.length + reason.length, 0);
}

function unevenListsOf(items: readonly PipeItem[]): PushCheckpoint['unevenLists'] {
  const uneven = items.filter((item) => item.hasUnevenLists);
  return { count: uneven.length, first: uneven.slice(0, firstTold).map(nameOf) };
}

function addUneven(
  left: PushCheckpoint['unevenLists'],
  right: PushCheckpoint['unevenLists'],
): PushCheckpoint['unevenLists'] {
  return { count: left.count + right.count, first: [...left.first, ...right.first].slice(0, firstTold) };
}

function nameOf({ network, sourceId, firstLine }: PipeItem): string {
  return `${network}/${sourceId} (line ${firstLine})`;
}

function cut(sentence: string): string {
  return sentence.length > longestSentence ? `${sentence.slice(0, longestSentence)}…` : sentence;
}
