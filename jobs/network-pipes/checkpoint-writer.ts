/**
 * Makes settled rows of a push durable, step after step without overlap: rejects first, then the checkpoint behind
 * them, so that a checkpoint never passes a reject that is not on the disk (G2, G7).
 */
import { shortened } from '../../src/core/base/text.ts';
import type { PassedRows, PushCheckpoint } from '../../src/core/pipes/checkpoint.ts';
import type { PipeChunk } from '../../src/core/pipes/look-ahead.ts';
import type { PipeKey } from '../../src/core/pipes/pipe.ts';
import { addCounts } from '../../src/core/run/run.ts';
import type { PipeHeader } from '../../src/pipes/header.ts';
import type { PipeItem, RejectedRow, RejectedRows } from '../../src/pipes/items.ts';
import type { PipeFiles } from '../../src/pipes/pipe-files.ts';
import type { RejectsFile } from '../../src/pipes/rejects-file.ts';
import type { PushedChunk, RejectsStep } from '../../src/warehouse/port/pushes.ts';

export interface PushStep {
  readonly checkpoint: PushCheckpoint;
  readonly chunks: readonly PushedChunk[];
  readonly rejects?: RejectsStep;
}

interface WriterContext {
  /** Interval between the starts of two steps. */
  readonly everyMs: number;
  /** A step begins earlier when this many bytes of rejects wait for it. */
  readonly maxWaitingBytes: number;
  readonly files: PipeFiles;
  readonly rejects: RejectsFile;
  readonly now: () => number;
  /** Throws if the file has been replaced: the checkpoint then passes nothing of it. */
  readonly assertSame: () => Promise<void>;
  /** Makes the step durable; resolves when it is. Its rejects are already on the disk. */
  readonly save: (step: PushStep) => Promise<void>;
  /** The file by which its rejects are an alert. */
  readonly alertedFile: string;
  /** What the service has accepted since it was last called, of the rows that earlier pushes rejected. */
  readonly takeBrought: () => readonly PipeKey[];
  /** Called after each step, saved or not. */
  readonly onStep: (fault: { readonly error: unknown } | undefined) => void;
}

export class CheckpointWriter {
  readonly #context: WriterContext;
  #checkpoint: PushCheckpoint;
  #savedAtMs: number;
  /** Not part of a step yet. */
  #waiting: PassedFileRows | undefined;
  #waitingBytes = 0;
  #unsavedBytes = 0;
  #saving: Promise<void> = Promise.resolve();
  /** After a lost step no later one may be saved: the checkpoint would pass rows without an outcome. */
  #maySave = true;

  constructor(checkpoint: PushCheckpoint, context: WriterContext) {
    this.#context = context;
    this.#checkpoint = checkpoint;
    this.#savedAtMs = context.now();
  }

  /** The last durable checkpoint. */
  get checkpoint(): PushCheckpoint {
    return this.#checkpoint;
  }

  /** Bytes of rejects that were added and are not durable. */
  get unsavedBytes(): number {
    return this.#unsavedBytes;
  }

  /** Adds rows that follow the previous ones, and begins a step if one is due. */
  add(passed: PassedFileRows | undefined, header: PipeHeader): void {
    if (passed !== undefined) {
      const bytes = passed.rejected.reduce((sum, rejected) => sum + rejected.bytes, 0);
      this.#waiting = joined(this.#waiting, passed);
      this.#waitingBytes += bytes;
      this.#unsavedBytes += bytes;
    }
    if (this.#waiting === undefined || !this.#isDue()) return;
    this.#savedAtMs = this.#context.now();
    this.#saving = this.#saving.then(() => this.#save(header));
  }

  /**
   * Resolves when no step is running; with `header` when everything that was added is durable, or cannot become
   * durable.
   */
  async settled(header: PipeHeader | undefined): Promise<void> {
    await this.#saving;
    if (header !== undefined) await this.#save(header);
  }

  #isDue(): boolean {
    const { everyMs, maxWaitingBytes, now } = this.#context;
    return now() - this.#savedAtMs >= everyMs || this.#waitingBytes > maxWaitingBytes;
  }

  async #save(header: PipeHeader): Promise<void> {
    const [passed, bytes] = [this.#waiting, this.#waitingBytes];
    if (!this.#maySave || passed === undefined) return;
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    try {
      this.#checkpoint = await this.#step(passed, header);
      this.#unsavedBytes -= bytes;
      this.#context.onStep(undefined);
    } catch (error) {
      this.#maySave = false;
      this.#context.onStep({ error });
    }
  }

  async #step(passed: PassedFileRows, header: PipeHeader): Promise<PushCheckpoint> {
    const { rejects, files, assertSame, save, takeBrought, alertedFile } = this.#context;
    await assertSame();
    const rejectsBytes = await rejects.append(rejectsOf(passed), header);
    const checkpoint = checkpointAfter(this.#checkpoint, passed, rejectsBytes, files);
    await save({
      checkpoint,
      chunks: ledgerOf(this.#checkpoint, passed),
      rejects: {
        file: alertedFile,
        rejected: passed.rejected.map(({ key, rowCount }) => ({ key, rows: rowCount })),
        brought: takeBrought(),
      },
    });
    return checkpoint;
  }
}

/** Records of the rows that a checkpoint passes: counts, rejects, rows of the ledger. Pure. */
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
  const sentences = rejectsOf(passed)
    .slice(0, maxShown - before.firstRejects.length)
    .map((reject) => shortened(files.describeReject(reject), longestSentence));
  const firstRejects = [...before.firstRejects, ...sentences];
  return { position: passed.end, counts: addCounts(before.counts, passed.counts), rejectsBytes, firstRejects };
}

/** Rows of the ledger for chunks that follow the checkpoint. */
function ledgerOf(before: PushCheckpoint, { chunks }: PassedFileRows): readonly PushedChunk[] {
  const firstChunk = before.counts['chunks'] ?? 0;
  return chunks.map((chunk, index) => ({ ...chunk, chunk: firstChunk + index }));
}
