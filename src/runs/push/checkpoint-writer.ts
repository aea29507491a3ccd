/**
 * Makes durable what a push has settled, step after step, never two at one time: rejects first, then the checkpoint that
 * passes them, so that it never points behind a reject that is not on the disk (G2, G7).
 */
import type { PushCheckpoint } from '../../core/push-checkpoint.ts';
import type { PipeHeader } from '../../pipes/header.ts';
import type { PipeFiles } from '../../pipes/pipe-files.ts';
import type { RejectsFile } from '../../pipes/rejects-file.ts';
import type { PushedChunk } from '../../warehouse/warehouse.ts';
import { checkpointAfter, ledgerOf, rowsBytes, type PassedSlice } from './passed-slices.ts';

export interface PushStep {
  readonly checkpoint: PushCheckpoint;
  readonly chunks: readonly PushedChunk[];
}

export interface WriterSettings {
  /** A step begins when the last one did so long ago. */
  readonly everyMs: number;
  /** A step begins earlier when so many bytes of rejects wait for it. */
  readonly maxWaitingBytes: number;
}

export interface WriterParts {
  readonly files: PipeFiles;
  readonly rejects: RejectsFile;
  readonly now: () => number;
  /** Throws where the file is another one: nothing of it is passed then. */
  readonly assertSame: () => Promise<void>;
  /** Makes the step durable; resolves when it is. Rejects are on the disk by then. */
  readonly save: (step: PushStep) => Promise<void>;
  /** After each step, whether it was saved or not. */
  readonly onStep: (fault: { readonly error: unknown } | undefined) => void;
}

export class CheckpointWriter {
  readonly #settings: WriterSettings;
  readonly #parts: WriterParts;
  #checkpoint: PushCheckpoint;
  #savedAtMs: number;
  /** Not part of a step yet. */
  #waiting: PassedSlice[] = [];
  #waitingBytes = 0;
  #heldBytes = 0;
  #saving: Promise<void> = Promise.resolve();
  /** After a step that was lost no later one may be saved: the checkpoint would pass what is not accounted for. */
  #maySave = true;

  constructor(settings: WriterSettings, checkpoint: PushCheckpoint, parts: WriterParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#checkpoint = checkpoint;
    this.#savedAtMs = parts.now();
  }

  /** Where the push stands durably. */
  get checkpoint(): PushCheckpoint {
    return this.#checkpoint;
  }

  /** Bytes of rejects that were added and are not durable. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes slices that follow the ones before, and begins a step when one is due. */
  add(passed: readonly PassedSlice[], header: PipeHeader): void {
    const bytes = passed.reduce((sum, { rejects }) => sum + rowsBytes(rejects), 0);
    this.#waiting.push(...passed);
    this.#waitingBytes += bytes;
    this.#heldBytes += bytes;
    if (this.#waiting.length === 0 || !this.#isDue()) return;
    this.#savedAtMs = this.#parts.now();
    this.#saving = this.#saving.then(() => this.#save(header));
  }

  /** Resolves when no step is under way; with `header` when everything that was added is durable, or cannot be made so. */
  async settled(header: PipeHeader | undefined): Promise<void> {
    await this.#saving;
    if (header !== undefined) await this.#save(header);
  }

  #isDue(): boolean {
    const { everyMs, maxWaitingBytes } = this.#settings;
    return this.#parts.now() - this.#savedAtMs >= everyMs || this.#waitingBytes > maxWaitingBytes;
  }

  async #save(header: PipeHeader): Promise<void> {
    if (!this.#maySave || this.#waiting.length === 0) return;
    const [passed, bytes] = [this.#waiting, this.#waitingBytes];
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      this.#checkpoint = await this.#step(passed, header);
      this.#heldBytes -= bytes;
      this.#parts.onStep(undefined);
    } catch (error) {
      this.#maySave = false;
      this.#parts.onStep({ error });
    }
  }

  async #step(passed: readonly PassedSlice[], header: PipeHeader): Promise<PushCheckpoint> {
    const { rejects, files, assertSame, save } = this.#parts;
    await assertSame();
    const rejectsBytes = await rejects.append(
      passed.flatMap((slice) => slice.rejects),
      header,
    );
    const checkpoint = checkpointAfter(this.#checkpoint, passed, rejectsBytes, files);
    await save({ checkpoint, chunks: ledgerOf(this.#checkpoint, passed) });
    return checkpoint;
  }
}
