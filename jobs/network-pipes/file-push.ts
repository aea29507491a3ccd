/**
 * Pushes one file: reads it as a stream, cuts it into chunks, sends several concurrently, and moves the checkpoint over
 * settled rows (docs/design.md section 4.3, docs/decisions/0008-how-chunks-travel.md).
 *
 *   read -> (put off while its pipe is under way) -> cut -> send -> settled -> passed -> durable
 *
 * The data between read and durable is limited (G8). A worker that dies leaves its checkpoint; the next one sends the rows
 * beyond it again, which is harmless (G5), and counts them once (G1, G2).
 */
import type { GivenUpItem, PushCheckpoint } from '../../src/core/pipes/checkpoint.ts';
import type { FilePosition } from '../../src/core/pipes/chunks-in-order.ts';
import { LookAhead, type ReaderState } from '../../src/core/pipes/look-ahead.ts';
import {
  type PipeIdentity,
  type PipeKey,
  PipeVersions,
  textOfKey,
  type VersionCount,
} from '../../src/core/pipes/pipe.ts';
import type { PipeHeader } from '../../src/pipes/header.ts';
import type { PipeEntry, PipeItem, RejectedRows } from '../../src/pipes/items.ts';
import type { FileIdentity, PipeFiles } from '../../src/pipes/pipe-files.ts';
import type { ReadPipesOptions } from '../../src/pipes/read-pipes.ts';
import type { RejectsFile } from '../../src/pipes/rejects-file.ts';
import { CheckpointWriter, type FileChunk, type PushStep } from './checkpoint-writer.ts';
import type { ChunkSender, SenderContext } from './chunk-sender.ts';
import { fileNotices, versionNotices } from './dry-run.ts';

interface FilePushSettings {
  readonly chunkItems: number;
  /** Chunks that are sent concurrently. */
  readonly concurrency: number;
  readonly pipeIdentity: PipeIdentity;
  /**
   * Limit of the bytes of pipes and rejects that are read and not yet durable. A row takes about five times its JSON
   * text.
   */
  readonly maxBufferedBytes: number;
  readonly checkpointEveryMs: number;
}

interface FilePushContext extends Pick<SenderContext, 'limit' | 'signal' | 'isOwned'> {
  readonly files: PipeFiles;
  readonly file: string;
  readonly identity: FileIdentity;
  readonly reading: Omit<ReadPipesOptions, 'from' | 'signal'>;
  readonly rejects: RejectsFile;
  readonly sender: ChunkSender;
  readonly now: () => number;
  /** Makes the step durable; resolves when it is. Its rejects are already on the disk. */
  readonly save: (step: PushStep) => Promise<void>;
  /** The file by which its rejects are an alert. */
  readonly alertedFile: string;
  /** Texts of the keys of rows that earlier pushes rejected. */
  readonly lacking: ReadonlySet<string>;
}

export class FilePush {
  readonly #settings: FilePushSettings;
  readonly #context: FilePushContext;
  readonly #ahead: LookAhead<PipeItem, RejectedRows>;
  readonly #versions = new PipeVersions();
  #sending = 0;
  /** Of the lacking ones, accepted and not part of a step yet. */
  #brought: PipeKey[] = [];
  #hasEnded = false;
  /** Holds the rows that are settled, as are all before them. */
  readonly #writer: CheckpointWriter;
  #identity: FileIdentity;
  #header: PipeHeader | undefined;
  #form: FilePosition['form'] = 'undecided';
  /** The first error that concerns more than the items of a chunk: no further chunk is begun. */
  #fault: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(settings: FilePushSettings, checkpoint: PushCheckpoint, context: FilePushContext) {
    const { checkpointEveryMs: everyMs, maxBufferedBytes } = settings;
    this.#settings = settings;
    this.#context = context;
    this.#identity = context.identity;
    this.#writer = new CheckpointWriter(checkpoint, {
      ...context,
      everyMs,
      maxWaitingBytes: maxBufferedBytes / 2,
      assertSame: () => this.#assertSame(),
      takeBrought: () => this.#brought.splice(0),
      onStep: (fault) => this.#wakeWith(fault),
    });
    const { chunkItems: maxItems, pipeIdentity: identity, concurrency } = settings;
    const limits = () => ({ maxItems, maxBytes: context.limit.maxBytes });
    this.#ahead = new LookAhead({ limits, identity, concurrency });
  }

  /** The last durable checkpoint. */
  get checkpoint(): PushCheckpoint {
    return this.#writer.checkpoint;
  }

  /** For the report: the properties of the file as far as it was read. */
  get notices(): readonly string[] {
    if (this.#header === undefined) return [];
    const ofVersions = versionNotices(this.versions, this.#settings.pipeIdentity);
    return [...fileNotices(this.#header, this.#form, this.checkpoint), ...ofVersions];
  }

  /** Of the whole file: pipes that stand there with several dates. */
  get versions(): VersionCount {
    return this.#versions.count;
  }

  /**
   * Resolves when the checkpoint is behind the last row. Throws the first error, after all rows settled by then are
   * durable; in both cases no part of this push is still running.
   */
  async run(): Promise<void> {
    // The rows before a fault of the file are sent all the same.
    const readingFault = await this.#read().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    this.#hasEnded = true;
    this.#send();
    await this.#until(() => this.#sending === 0 && (this.#fault !== undefined || this.#ahead.isSettled));
    this.#pass();
    await this.#writer.settled(this.#context.isOwned() ? this.#header : undefined);
    const fault = this.#fault ?? readingFault;
    if (fault !== undefined) throw fault.error;
    // Checks the rows that were read after the last step.
    await this.#assertSame();
  }

  async #read(): Promise<void> {
    const { files, file, reading, signal } = this.#context;
    await this.#assertSame();
    const { position: from } = this.checkpoint;
    if (from !== undefined) await this.#countBefore(from);
    const batches = files.read(file, { ...reading, ...(from === undefined ? {} : { from }), signal });
    for await (const { header, form, entries } of batches) {
      this.#header = header;
      this.#form = form;
      for (const entry of entries) {
        this.#take(entry);
        if (!this.#hasRoom()) await this.#room();
      }
      if (this.#fault !== undefined) return;
      this.#pass();
    }
  }

  /** Reads what the checkpoint has passed, for the count of the versions: no table of pipes is kept with it. */
  async #countBefore({ byte }: FilePosition): Promise<void> {
    const { files, file, reading, signal } = this.#context;
    for await (const { entries } of files.read(file, { ...reading, signal })) {
      for (const entry of entries) {
        if (entry.end.byte > byte) return;
        if (entry.kind === 'item') this.#versions.add(entry);
      }
    }
  }

  #take(entry: PipeEntry): void {
    if (entry.kind === 'rejected') {
      this.#ahead.reject(entry);
      return;
    }
    this.#versions.add(entry);
    this.#ahead.add(entry);
    this.#send();
  }

  #hasRoom(): boolean {
    return (
      this.#ahead.hasRoom && this.#ahead.bufferedBytes + this.#writer.unsavedBytes < this.#settings.maxBufferedBytes
    );
  }

  async #room(): Promise<void> {
    this.#pass();
    this.#send();
    await this.#until(() => this.#fault !== undefined || this.#hasRoom());
  }

  #send(): void {
    while (this.#fault === undefined) {
      const chunk = this.#ahead.next(this.#reader());
      if (chunk === undefined) return;
      this.#sending += 1;
      void this.#sendChunk(chunk);
    }
  }

  #reader(): ReaderState {
    if (this.#hasEnded) return 'ended';
    return this.#hasRoom() ? 'reading' : 'waiting';
  }

  async #sendChunk(chunk: FileChunk): Promise<void> {
    const { sender, files } = this.#context;
    try {
      const header = this.#header;
      if (header === undefined) throw new Error('a chunk was read without a header');
      const rejectsOf = ({ item, reason }: GivenUpItem<PipeItem>) => files.rejectItem(item, header, reason);
      const outcome = await sender.send(chunk.items, (part) => {
        this.#bring(part.accepted);
        this.#ahead.settlePart(chunk, part, rejectsOf);
        this.#pass();
        this.#send();
      });
      this.#bring(outcome.accepted);
      this.#ahead.settle(chunk, outcome, rejectsOf);
      this.#pass();
    } catch (error) {
      this.#wakeWith({ error });
    }
    this.#sending -= 1;
    this.#send();
    this.#wake();
  }

  #bring(accepted: readonly PipeItem[]): void {
    if (this.#context.lacking.size === 0) return;
    for (const { network, sourceId, version } of accepted) {
      const key = { network, sourceId, version };
      if (this.#context.lacking.has(textOfKey(key))) this.#brought.push(key);
    }
  }

  #pass(): void {
    if (this.#header !== undefined) this.#writer.add(this.#ahead.pass(), this.#header);
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
