/**
 * Pushes one file: reads it as a stream, cuts it into chunks, sends several concurrently, and moves the checkpoint over
 * settled chunks (docs/design.md section 4.3, docs/decisions/0008-how-chunks-travel.md).
 *
 *   read -> cut -> track -> (wait for chunks with the same pipe) -> send -> settled -> passed -> durable
 *
 * The data between read and durable is limited (G8). A worker that dies leaves its checkpoint; the next one sends the rows
 * beyond it again, which is harmless (G5), and counts them once (G1, G2).
 */
import { SettledPrefix } from '../../../src/core/pipes/settled-prefix.ts';
import { PipesInFlight } from '../../../src/core/pipes/in-flight.ts';
import { ChunkCutter, type FilePosition } from '../../../src/core/pipes/chunk-cutter.ts';
import type { PipeChunkOutcome } from '../../../src/core/pipes/push-counts.ts';
import type { PushCheckpoint } from '../../../src/core/pipes/checkpoint.ts';
import type { FileIdentity } from '../../../src/pipes/file-identity.ts';
import type { PipeHeader } from '../../../src/pipes/header.ts';
import type { PipeItem, RejectedRows } from '../../../src/pipes/items.ts';
import type { PipeFiles } from '../../../src/pipes/pipe-files.ts';
import type { ReadPipesOptions } from '../../../src/pipes/read-pipes.ts';
import type { RejectsFile } from '../../../src/pipes/rejects-file.ts';
import type { BodyLimit } from './body-limit.ts';
import { CheckpointWriter, type PushStep } from './checkpoint-writer.ts';
import { settledChunk, rowsBytes, type FileChunk, type SettledChunk } from './settled-chunks.ts';
import { fileNotices } from './push-notices.ts';
import type { ChunkSender } from './chunk-sender.ts';

export interface FilePushSettings {
  readonly chunkItems: number;
  /** Chunks that are sent concurrently. */
  readonly concurrency: number;
  /** Limit of chunks that are read and not yet passed by the checkpoint. */
  readonly maxOpenChunks: number;
  /**
   * Limit of the bytes of pipes and rejects that are read and not yet durable. A row takes about five times its JSON
   * text.
   */
  readonly maxHeldBytes: number;
  readonly checkpointEveryMs: number;
}

export interface FilePushContext {
  readonly files: PipeFiles;
  readonly file: string;
  readonly identity: FileIdentity;
  readonly reading: Omit<ReadPipesOptions, 'from' | 'signal'>;
  readonly rejects: RejectsFile;
  readonly sender: ChunkSender;
  readonly limit: BodyLimit;
  readonly signal: AbortSignal;
  readonly isHeld: () => boolean;
  readonly now: () => number;
  /** Makes the step durable; resolves when it is. Its rejects are already on the disk. */
  readonly save: (step: PushStep) => Promise<void>;
}

export class FilePush {
  readonly #settings: FilePushSettings;
  readonly #context: FilePushContext;
  readonly #cutter: ChunkCutter<PipeItem, RejectedRows>;
  readonly #prefix = new SettledPrefix<SettledChunk>();
  readonly #flight = new PipesInFlight();
  /** Read, without an outcome. */
  readonly #open = new Map<number, FileChunk>();
  /** May be sent now. */
  readonly #ready: number[] = [];
  #sending = 0;
  /** Holds the chunks that are settled, as are all before them. */
  readonly #writer: CheckpointWriter;
  /** Bytes of the chunks that the writer does not hold. */
  #heldBytes = 0;
  #identity: FileIdentity;
  #header: PipeHeader | undefined;
  #form: FilePosition['form'] = 'undecided';
  /** The first error that concerns more than the items of a chunk: no further chunk is begun. */
  #fault: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(settings: FilePushSettings, checkpoint: PushCheckpoint, context: FilePushContext) {
    const { checkpointEveryMs: everyMs, maxHeldBytes } = settings;
    this.#settings = settings;
    this.#context = context;
    this.#identity = context.identity;
    this.#writer = new CheckpointWriter({ everyMs, maxWaitingBytes: maxHeldBytes / 2 }, checkpoint, {
      ...context,
      assertSame: () => this.#assertSame(),
      onStep: (fault) => this.#wakeWith(fault),
    });
    const { chunkItems: maxItems } = settings;
    this.#cutter = new ChunkCutter(() => ({ maxItems, maxBytes: context.limit.maxBytes }));
  }

  /** The last durable checkpoint. */
  get checkpoint(): PushCheckpoint {
    return this.#writer.checkpoint;
  }

  /** For the report: the properties of the file as far as it was read. */
  get notices(): readonly string[] {
    return this.#header === undefined ? [] : fileNotices(this.#header, this.#form, this.checkpoint);
  }

  /**
   * Resolves when the checkpoint is behind the last row. Throws the first error, after all chunks settled by then are
   * durable; in both cases no part of this push is still running.
   */
  async run(): Promise<void> {
    // The rows before a fault of the file are sent all the same.
    const readingFault = await this.#read().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    await this.#until(() => this.#sending === 0 && (this.#fault !== undefined || this.#open.size === 0));
    await this.#writer.settled(this.#context.isHeld() ? this.#header : undefined);
    const fault = this.#fault ?? readingFault;
    if (fault !== undefined) throw fault.error;
    // Checks the rows that were read after the last step.
    await this.#assertSame();
  }

  async #read(): Promise<void> {
    const { files, file, reading, signal } = this.#context;
    await this.#assertSame();
    const { position: from } = this.checkpoint;
    const batches = files.read(file, { ...reading, ...(from === undefined ? {} : { from }), signal });
    try {
      for await (const { header, form, entries } of batches) {
        this.#header = header;
        this.#form = form;
        for (const entry of entries) {
          const chunk = entry.kind === 'item' ? this.#cutter.add(entry) : this.#cutter.reject(entry);
          if (chunk !== undefined) await this.#takeWithRoom(chunk);
        }
        if (this.#fault !== undefined) return;
      }
    } finally {
      this.#take(this.#cutter.flush());
    }
  }

  async #takeWithRoom(chunk: FileChunk): Promise<void> {
    this.#take(chunk);
    await this.#until(() => this.#fault !== undefined || this.#hasRoom());
  }

  #hasRoom(): boolean {
    const { maxOpenChunks, maxHeldBytes } = this.#settings;
    return this.#prefix.size < maxOpenChunks && this.#heldBytes + this.#writer.heldBytes < maxHeldBytes;
  }

  #take(chunk: FileChunk | undefined): void {
    if (chunk === undefined) return;
    const number = this.#prefix.track();
    this.#open.set(number, chunk);
    this.#heldBytes += weightOf(chunk);
    if (this.#flight.add(number, chunk.itemsByKey)) this.#ready.push(number);
    this.#sendReady();
  }

  #sendReady(): void {
    while (this.#fault === undefined && this.#sending < this.#settings.concurrency) {
      const number = this.#ready.shift();
      const chunk = number === undefined ? undefined : this.#open.get(number);
      if (number === undefined || chunk === undefined) return;
      this.#sending += 1;
      void this.#send(number, chunk);
    }
  }

  async #send(number: number, chunk: FileChunk): Promise<void> {
    try {
      const outcome = await this.#context.sender.send(chunk.items);
      this.#settle(number, chunk, outcome);
    } catch (error) {
      this.#wakeWith({ error });
    }
    this.#sending -= 1;
    this.#sendReady();
    this.#wake();
  }

  #settle(number: number, chunk: FileChunk, outcome: PipeChunkOutcome<PipeItem>): void {
    const header = this.#knownHeader();
    const settled = settledChunk(chunk, outcome, header, this.#context.files);
    this.#open.delete(number);
    this.#heldBytes += rejectBytes(settled) - weightOf(chunk);
    this.#ready.push(...this.#flight.settle(number));
    const passed = this.#prefix.resolve(number, settled);
    this.#heldBytes -= passed.reduce((bytes, one) => bytes + rejectBytes(one), 0);
    this.#writer.add(passed, header);
  }

  #knownHeader(): PipeHeader {
    if (this.#header === undefined) throw new Error('a chunk was read without a header');
    return this.#header;
  }

  async #assertSame(): Promise<void> {
    const { files, file, signal } = this.#context;
    this.#identity = await files.assertSame(file, this.#identity, signal);
  }

  /** Resumes the waiting flow, with or without a fault. */
  #wakeWith(fault: { readonly error: unknown } | undefined): void {
    this.#fault ??= fault;
    this.#wake();
  }

  /**
   * Waits for a condition, in the one flow that reads and ends the push; every possible change of the condition wakes
   * it.
   */
  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Approximate memory of a chunk, as text. */
function weightOf(chunk: FileChunk): number {
  return chunk.rejected.reduce((bytes, { rows }) => bytes + rowsBytes(rows), chunk.bytes);
}

function rejectBytes({ rejects }: SettledChunk): number {
  return rowsBytes(rejects);
}
