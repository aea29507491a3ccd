/**
 * Pushes one file: reads it as a stream, cuts it into slices, sends several at one time, and moves the checkpoint over what
 * is settled (DESIGN.md section 4.3, docs/decisions/0008-how-chunks-travel.md).
 *
 *   read -> cut -> track -> (wait for slices with the same pipe) -> send -> settled -> passed -> durable
 *
 * What is between read and durable is bounded (G8). A worker that dies leaves nothing but its checkpoint; the next one
 * sends what lay beyond it again, which is harmless (G5), and counts it once (G1, G2).
 */
import { SettledPrefix } from '../../core/pipe-checkpoint.ts';
import { PipeFlight } from '../../core/pipe-flight.ts';
import { SliceCutter, type FilePosition } from '../../core/pipe-slices.ts';
import type { SliceOutcome } from '../../core/push-accounts.ts';
import type { PushCheckpoint } from '../../core/push-checkpoint.ts';
import type { FileIdentity } from '../../pipes/file-identity.ts';
import type { PipeHeader } from '../../pipes/header.ts';
import type { PipeItem, RejectedRows } from '../../pipes/items.ts';
import type { PipeFiles } from '../../pipes/pipe-files.ts';
import type { ReadPipesOptions } from '../../pipes/read-pipes.ts';
import type { RejectsFile } from '../../pipes/rejects-file.ts';
import type { BodyLimit } from './body-limit.ts';
import { CheckpointWriter, type PushStep } from './checkpoint-writer.ts';
import { passedSlice, rowsBytes, type FileSlice, type PassedSlice } from './passed-slices.ts';
import { fileNotices } from './push-notices.ts';
import type { SliceSender } from './slice-sender.ts';

export interface FilePushSettings {
  readonly chunkItems: number;
  /** Slices that are sent at one time. */
  readonly concurrency: number;
  /** Slices that are read and not passed by the checkpoint yet. */
  readonly maxOpenSlices: number;
  /** Bytes of pipes and rejects that are read and not durable yet. A row takes about five times its JSON text. */
  readonly maxHeldBytes: number;
  readonly checkpointEveryMs: number;
}

export interface FilePushParts {
  readonly files: PipeFiles;
  readonly file: string;
  readonly identity: FileIdentity;
  readonly reading: Omit<ReadPipesOptions, 'from' | 'signal'>;
  readonly rejects: RejectsFile;
  readonly sender: SliceSender;
  readonly limit: BodyLimit;
  readonly signal: AbortSignal;
  readonly isHeld: () => boolean;
  readonly now: () => number;
  /** Makes the step durable; resolves when it is. Rejects are on the disk by then. */
  readonly save: (step: PushStep) => Promise<void>;
}

export class FilePush {
  readonly #settings: FilePushSettings;
  readonly #parts: FilePushParts;
  readonly #cutter: SliceCutter<PipeItem, RejectedRows>;
  readonly #prefix = new SettledPrefix<PassedSlice>();
  readonly #flight = new PipeFlight();
  /** Read and without an outcome. */
  readonly #open = new Map<number, FileSlice>();
  /** May be sent now. */
  readonly #ready: number[] = [];
  #sending = 0;
  /** Has what is settled with everything before it. */
  readonly #writer: CheckpointWriter;
  /** Of slices that the writer does not have. */
  #heldBytes = 0;
  #identity: FileIdentity;
  #header: PipeHeader | undefined;
  #form: FilePosition['form'] = 'undecided';
  /** The first error that concerns more than the items of a slice: nothing is begun any more. */
  #fault: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(settings: FilePushSettings, checkpoint: PushCheckpoint, parts: FilePushParts) {
    const { checkpointEveryMs: everyMs, maxHeldBytes } = settings;
    this.#settings = settings;
    this.#parts = parts;
    this.#identity = parts.identity;
    this.#writer = new CheckpointWriter({ everyMs, maxWaitingBytes: maxHeldBytes / 2 }, checkpoint, {
      ...parts,
      assertSame: () => this.#assertSame(),
      onStep: (fault) => this.#wakeWith(fault),
    });
    const { chunkItems: maxItems } = settings;
    this.#cutter = new SliceCutter(() => ({ maxItems, maxBytes: parts.limit.maxBytes }));
  }

  /** Where the push stands durably. */
  get checkpoint(): PushCheckpoint {
    return this.#writer.checkpoint;
  }

  /** For the report: what the file is like, as far as it was read. */
  get notices(): readonly string[] {
    return this.#header === undefined ? [] : fileNotices(this.#header, this.#form, this.checkpoint);
  }

  /**
   * Resolves when the checkpoint is behind the last row. Throws what stopped it before, after everything that was settled
   * by then is durable; nothing of this push runs on in either case.
   */
  async run(): Promise<void> {
    // What a file has before a fault of its own is sent all the same.
    const readingFault = await this.#read().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    await this.#until(() => this.#sending === 0 && (this.#fault !== undefined || this.#open.size === 0));
    await this.#writer.settled(this.#parts.isHeld() ? this.#header : undefined);
    const fault = this.#fault ?? readingFault;
    if (fault !== undefined) throw fault.error;
    // Once more, for what was read after the last step.
    await this.#assertSame();
  }

  async #read(): Promise<void> {
    const { files, file, reading, signal } = this.#parts;
    await this.#assertSame();
    const { position: from } = this.checkpoint;
    const batches = files.read(file, { ...reading, ...(from === undefined ? {} : { from }), signal });
    try {
      for await (const { header, form, entries } of batches) {
        this.#header = header;
        this.#form = form;
        for (const entry of entries) {
          const slice = entry.kind === 'item' ? this.#cutter.add(entry) : this.#cutter.reject(entry);
          if (slice !== undefined) await this.#takeWithRoom(slice);
        }
        if (this.#fault !== undefined) return;
      }
    } finally {
      this.#take(this.#cutter.flush());
    }
  }

  async #takeWithRoom(slice: FileSlice): Promise<void> {
    this.#take(slice);
    await this.#until(() => this.#fault !== undefined || this.#hasRoom());
  }

  #hasRoom(): boolean {
    const { maxOpenSlices, maxHeldBytes } = this.#settings;
    return this.#prefix.size < maxOpenSlices && this.#heldBytes + this.#writer.heldBytes < maxHeldBytes;
  }

  #take(slice: FileSlice | undefined): void {
    if (slice === undefined) return;
    const number = this.#prefix.track();
    this.#open.set(number, slice);
    this.#heldBytes += weightOf(slice);
    if (this.#flight.add(number, slice.itemsByKey)) this.#ready.push(number);
    this.#sendReady();
  }

  #sendReady(): void {
    while (this.#fault === undefined && this.#sending < this.#settings.concurrency) {
      const number = this.#ready.shift();
      const slice = number === undefined ? undefined : this.#open.get(number);
      if (number === undefined || slice === undefined) return;
      this.#sending += 1;
      void this.#send(number, slice);
    }
  }

  async #send(number: number, slice: FileSlice): Promise<void> {
    try {
      const outcome = await this.#parts.sender.send(slice.items);
      this.#settle(number, slice, outcome);
    } catch (error) {
      this.#wakeWith({ error });
    }
    this.#sending -= 1;
    this.#sendReady();
    this.#wake();
  }

  #settle(number: number, slice: FileSlice, outcome: SliceOutcome<PipeItem>): void {
    const header = this.#knownHeader();
    const settled = passedSlice(slice, outcome, header, this.#parts.files);
    this.#open.delete(number);
    this.#heldBytes += rejectBytes(settled) - weightOf(slice);
    this.#ready.push(...this.#flight.settle(number));
    const passed = this.#prefix.resolve(number, settled);
    this.#heldBytes -= passed.reduce((bytes, one) => bytes + rejectBytes(one), 0);
    this.#writer.add(passed, header);
  }

  #knownHeader(): PipeHeader {
    if (this.#header === undefined) throw new Error('a slice was read without a header');
    return this.#header;
  }

  async #assertSame(): Promise<void> {
    const { files, file, signal } = this.#parts;
    this.#identity = await files.assertSame(file, this.#identity, signal);
  }

  /** Wakes whoever waits, with or without a fault. */
  #wakeWith(fault: { readonly error: unknown } | undefined): void {
    this.#fault ??= fault;
    this.#wake();
  }

  /** For the one flow that reads and ends the push; everything that may make it so wakes it. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** What a slice holds in memory, as text: about. */
function weightOf(slice: FileSlice): number {
  return slice.rejected.reduce((bytes, { rows }) => bytes + rowsBytes(rows), slice.bytes);
}

function rejectBytes({ rejects }: PassedSlice): number {
  return rowsBytes(rejects);
}
