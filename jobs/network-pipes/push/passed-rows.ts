/** Records of the rows that a checkpoint passes: counts, rejects, rows of the ledger. Pure. */
import type { PushCheckpoint } from '../../../src/core/pipes/checkpoint.ts';
import type { PipeChunk } from '../../../src/core/pipes/look-ahead.ts';
import type { PassedRows } from '../../../src/core/pipes/push-counts.ts';
import { addCounts } from '../../../src/core/run/run.ts';
import type { PipeItem, RejectedRow, RejectedRows } from '../../../src/pipes/items.ts';
import type { PipeFiles } from '../../../src/pipes/pipe-files.ts';
import type { PushedChunk } from '../../../src/warehouse/port/pushes.ts';

export type FileChunk = PipeChunk<PipeItem>;
export type PassedFileRows = PassedRows<RejectedRows>;

/** Number of rejects that a report names. */
const maxShown = 5;
const longestSentence = 300;

/** Rows that follow each other, as one. */
export function joined(before: PassedFileRows | undefined, next: PassedFileRows): PassedFileRows {
  if (before === undefined) return next;
  return {
    end: next.end,
    counts: addCounts(before.counts, next.counts),
    rejected: next.rejected.length === 0 ? before.rejected : [...before.rejected, ...next.rejected],
    chunks: next.chunks.length === 0 ? before.chunks : [...before.chunks, ...next.chunks],
  };
}

/** In the order of the file. */
export function rejectsOf({ rejected }: PassedFileRows): readonly RejectedRow[] {
  return rejected.flatMap(({ rows }) => rows);
}

/** The checkpoint after these rows, which follow the given one. */
export function checkpointAfter(
  before: PushCheckpoint,
  passed: PassedFileRows,
  rejectsBytes: number,
  files: Pick<PipeFiles, 'describeReject'>,
): PushCheckpoint {
  const sentences = rejectsOf(passed).slice(0, maxShown);
  return {
    position: passed.end,
    counts: addCounts(before.counts, passed.counts),
    rejectsBytes,
    firstRejects: [...before.firstRejects, ...sentences.map((reject) => cut(files.describeReject(reject)))].slice(
      0,
      maxShown,
    ),
  };
}

/** Rows of the ledger for chunks that follow the checkpoint. */
export function ledgerOf(before: PushCheckpoint, { chunks }: PassedFileRows): readonly PushedChunk[] {
  const firstChunk = before.counts['chunks'] ?? 0;
  return chunks.map((chunk, index) => ({ ...chunk, chunk: firstChunk + index }));
}

function cut(sentence: string): string {
  return sentence.length > longestSentence ? `${sentence.slice(0, longestSentence)}…` : sentence;
}
