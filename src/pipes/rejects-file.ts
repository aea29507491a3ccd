/**
 * The rejects file of a run: a CSV file with line, column and reason before the original cells, so that it can be
 * corrected and pushed as it is (docs/design.md section 4.3).
 *
 * Safe over a crash: the caller appends, in the order of the file, the rejects that its next checkpoint passes, and
 * stores the returned size with that checkpoint. Rejects behind the last checkpoint are cut off when the file is opened
 * again, and written again with their rows, so no row is in it twice and none is missing.
 */
import { createReadStream } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, rename, rm, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PermanentError } from '../core/base/errors.ts';
import { onDisk } from '../core/base/file-fault.ts';
import { counted, figure } from '../core/base/text.ts';
import { type PipeHeader, rejectColumns } from './header.ts';
import type { RejectedRow } from './items.ts';

/** Rejects as CSV rows, with the delimiter of the pushed file. */
export function rejectsText(rows: readonly RejectedRow[], delimiter: string): string {
  return rows
    .map(({ line, column, reason, raw }) =>
      [line, cell(column, delimiter), cell(reason, delimiter), raw].join(delimiter),
    )
    .map((text) => `${text}\n`)
    .join('');
}

export function rejectsHeader(header: PipeHeader): string {
  return `${[...rejectColumns, header.raw].join(header.delimiter)}\n`;
}

/** A cell on one line, quoted when needed: a reason may hold text of the service. */
function cell(text: string, delimiter: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.includes('"') || line.includes(delimiter) ? `"${line.replaceAll('"', '""')}"` : line;
}

/** The file exists only once there is a reject. */
export class RejectsFile {
  readonly #log: ByteLog;
  #bytes: number;

  private constructor(log: ByteLog, bytes: number) {
    this.#log = log;
    this.#bytes = bytes;
  }

  /** As {@link openIn}, for a file of this host. Throws OutageError while its disk fails. */
  static async open(path: string, bytes: number): Promise<RejectsFile> {
    return RejectsFile.openIn(new LocalByteLog(path), bytes);
  }

  /**
   * `bytes`: the size in the checkpoint, 0 for a new run. Throws PermanentError (`rejects-changed`) when the file is
   * shorter: somebody removed or edited it before the run was done.
   */
  static async openIn(log: ByteLog, bytes: number): Promise<RejectsFile> {
    const size = await log.cutTo(bytes);
    if (size !== bytes) throw changed(log.location, size, bytes);
    return new RejectsFile(log, bytes);
  }

  /**
   * Appends rejects; they are durable when it returns. Resolves to the new size in bytes, to be stored with the next
   * checkpoint. Throws PermanentError (`rejects-changed`) when another program has written to the file, OutageError
   * while its disk is full or fails: the file is then opened anew, which cuts off what was written in part.
   */
  async append(rows: readonly RejectedRow[], header: PipeHeader): Promise<number> {
    if (rows.length === 0) return this.#bytes;
    const text = Buffer.from((this.#bytes === 0 ? rejectsHeader(header) : '') + rejectsText(rows, header.delimiter));
    const size = await this.#log.append(text, this.#bytes);
    if (size !== this.#bytes) throw changed(this.#log.location, size, this.#bytes);
    this.#bytes += text.length;
    return this.#bytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log.close();
  }
}

function changed(path: string, size: number, written: number): PermanentError {
  return new PermanentError(
    'rejects-changed',
    `${path} has ${counted(size, 'byte')}, and the run had written ${figure(written)}`,
    {
      hint: 'Leave the rejects file in place until the run is done, or start the push again.',
    },
  );
}

/** A file that grows at its end and is read while it does, wherever it lies. It is no file until it has bytes. */
export interface ByteLog {
  /** Path or address, for messages. */
  readonly location: string;
  size(): Promise<number>;
  /**
   * Removes what lies behind `bytes`, and what others still append. Resolves to the size then, which is another one where the
   * log was changed.
   */
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
  readonly location: string;
  #handle: FileHandle | undefined;

  constructor(file: string) {
    this.location = file;
  }

  async size(): Promise<number> {
    try {
      return (await stat(this.location)).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }

  async cutTo(bytes: number): Promise<number> {
    return onDisk(this.location, async () => {
      await mkdir(dirname(this.location), { recursive: true });
      const size = await this.size();
      if (bytes === 0) await rm(this.location, { force: true });
      else if (size >= bytes) await this.#replaceByStart(bytes);
      return Math.min(size, bytes);
    });
  }

  /** What a worker that was paused, and lost the push to this one, still appends goes into the file before (G2). */
  async #replaceByStart(bytes: number): Promise<void> {
    const part = `${this.location}.part`;
    await copyFile(this.location, part);
    await truncate(part, bytes);
    await using copy = await open(part, 'r+');
    await copy.sync();
    await rename(part, this.location);
  }

  async append(bytes: Uint8Array, at: number): Promise<number> {
    return onDisk(this.location, async () => {
      this.#handle ??= await open(this.location, 'a');
      const { size } = await this.#handle.stat();
      if (size !== at) return size;
      await this.#handle.appendFile(bytes);
      await this.#handle.datasync();
      return size;
    });
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    if ((await this.size()) === 0) return;
    for await (const block of createReadStream(this.location, { highWaterMark: readBytes })) yield block as Buffer;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }
}
