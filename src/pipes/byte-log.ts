/**
 * A file that grows at its end and is read while it does, wherever it lies. It is no file until it has bytes.
 */
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat, truncate, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { onDisk } from '../core/base/file-fault.ts';

export interface ByteLog {
  /** Path or address, for messages. */
  readonly place: string;
  size(): Promise<number>;
  /** Removes what lies behind `bytes`. Resolves to the size then, which is another one where the log was changed. */
  cutTo(bytes: number): Promise<number>;
  /**
   * Appends bytes at the end, which should be at `at`; they are durable when it resolves. Resolves to the size before:
   * nothing is written when that is not `at`.
   */
  append(bytes: Uint8Array, at: number): Promise<number>;
  read(): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

const readBytes = 4 * 1024 * 1024;

/** In a file of this host. Throws OutageError while its disk is full or fails. */
export class LocalByteLog implements ByteLog {
  readonly place: string;
  #handle: FileHandle | undefined;

  constructor(file: string) {
    this.place = file;
  }

  async size(): Promise<number> {
    try {
      return (await stat(this.place)).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }

  async cutTo(bytes: number): Promise<number> {
    return onDisk(this.place, async () => {
      await mkdir(path.dirname(this.place), { recursive: true });
      const size = await this.size();
      if (bytes === 0) await rm(this.place, { force: true });
      else if (size > bytes) await truncate(this.place, bytes);
      return Math.min(size, bytes);
    });
  }

  async append(bytes: Uint8Array, at: number): Promise<number> {
    return onDisk(this.place, async () => {
      this.#handle ??= await open(this.place, 'a');
      const { size } = await this.#handle.stat();
      if (size !== at) return size;
      await this.#handle.appendFile(bytes);
      await this.#handle.datasync();
      return size;
    });
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    if ((await this.size()) === 0) return;
    for await (const block of createReadStream(this.place, { highWaterMark: readBytes })) yield block as Buffer;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }
}
