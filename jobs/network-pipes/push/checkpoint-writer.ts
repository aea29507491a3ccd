/**
 * Makes settled rows of a push durable, step after step without overlap: rejects first, then the checkpoint behind
 * them, so that a checkpoint never passes a reject that is not on the disk (G2, G7).
 */
import type { PushCheckpoint } from '../../../src/core/pipes/checkpoint.ts';
import type { PipeHeader } from '../../../src/pipes/header.ts';
import type { PipeFiles } from '../../../src/pipes/pipe-files.ts';
import type { RejectsFile } from '../../../src/pipes/rejects-file.ts';
import type { PushedChunk } from '../../../src/warehouse/port/pushes.ts';
import { checkpointAfter, joined, ledgerOf, type PassedFileRows, rejectsOf } from './passed-rows.ts';

export interface PushStep {
  readonly checkpoint: PushCheckpoint;
  readonly chunks: readonly PushedChunk[];
}

export interface WriterSettings {
  /** Interval between the starts of two steps. */
  readonly everyMs: number;
  /** A step begins earlier when this many bytes of rejects wait for it. */
  readonly maxWaitingBytes: number;
}

export interface WriterContext {
  readonly files: PipeFiles;
  readonly rejects: RejectsFile;
  readonly now: () => number;
  /** Throws if the file has been replaced: the checkpoint then passes nothing of it. */
  readonly assertSame: () => Promise<void>;
  /** Makes the step durable; resolves when it is. Its rejects are already on the disk. */
  readonly save: (step: PushStep) => Promise<void>;
  /** Called after each step, saved or not. */
  readonly onStep: (fault: { readonly error: unknown } | undefined) => void;
}

export class CheckpointWriter {
  readonly #settings: WriterSettings;
  readonly #context: WriterContext;
  #checkpoint: PushCheckpoint;
  #savedAtMs: number;
  /** Not part of a step yet. */
  #waiting: PassedFileRows | undefined;
  #waitingBytes = 0;
  #heldBytes = 0;
  #saving: Promise<void> = Promise.resolve();
  /** After a lost step no later one may be saved: the checkpoint would pass rows without an outcome. */
  #maySave = true;

  constructor(settings: WriterSettings, checkpoint: PushCheckpoint, context: WriterContext) {
    this.#settings = settings;
    this.#context = context;
    this.#checkpoint = checkpoint;
    this.#savedAtMs = context.now();
  }

  /** The last durable checkpoint. */
  get checkpoint(): PushCheckpoint {
    return this.#checkpoint;
  }

  /** Bytes of rejects that were added and are not durable. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Adds rows that follow the previous ones, and begins a step if one is due. */
  add(passed: PassedFileRows | undefined, header: PipeHeader): void {
    if (passed !== undefined) {
      const bytes = passed.rejected.reduce((sum, rejected) => sum + rejected.bytes, 0);
      this.#waiting = joined(this.#waiting, passed);
      this.#waitingBytes += bytes;
      this.#heldBytes += bytes;
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
    const { everyMs, maxWaitingBytes } = this.#settings;
    return this.#context.now() - this.#savedAtMs >= everyMs || this.#waitingBytes > maxWaitingBytes;
  }

  async #save(header: PipeHeader): Promise<void> {
    const [passed, bytes] = [this.#waiting, this.#waitingBytes];
    if (!this.#maySave || passed === undefined) return;
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    try {
      this.#checkpoint = await this.#step(passed, header);
      this.#heldBytes -= bytes;
      this.#context.onStep(undefined);
    } catch (error) {
      this.#maySave = false;
      this.#context.onStep({ error });
    }
  }

  async #step(passed: PassedFileRows, header: PipeHeader): Promise<PushCheckpoint> {
    const { rejects, files, assertSame, save } = this.#context;
    await assertSame();
    const rejectsBytes = await rejects.append(rejectsOf(passed), header);
    const checkpoint = checkpointAfter(this.#checkpoint, passed, rejectsBytes, files);
    await save({ checkpoint, chunks: ledgerOf(this.#checkpoint, passed) });
    return checkpoint;
  }
}
