/**
 * Owns the rejects file of a run: one CSV with line, column and reason before the original cells, so that it can be
 * mended and pushed as it is (DESIGN.md section 4.3).
 *
 * Safe over a crash: the caller appends in the order of the file what its checkpoint is about to pass, and keeps the
 * size that comes back with that checkpoint. What was appended after the last checkpoint is cut off when the file is
 * opened again, and comes again with its rows, so no row stands there twice and none is missing.
 */
import { open, rm, truncate, type FileHandle } from 'node:fs/promises';
import { PermanentError } from '../core/errors.ts';
import { rejectColumns, type PipeHeader } from './header.ts';
import type { RejectedRow } from './items.ts';

/** The text of rejects, each on lines of its own; with the delimiter of the file they came from. */
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

/** Always quoted, on one line: a reason may hold the service's words. */
function cell(text: string, delimiter: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.includes('"') || line.includes(delimiter) ? `"${line.replaceAll('"', '""')}"` : line;
}

/** There is no file as long as there is nothing to reject. */
export class RejectsFile {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #bytes: number;

  private constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  /**
   * `bytes`: the size that the checkpoint holds, 0 for a run that starts. Throws PermanentError (`rejects-changed`) when
   * the file is shorter than that: somebody took it away or mended it while the run was not done.
   */
  static async open(path: string, bytes: number): Promise<RejectsFile> {
    if (bytes === 0) await rm(path, { force: true });
    else await cutTo(path, bytes);
    return new RejectsFile(path, bytes);
  }

  /** Durable when it returns. Resolves to the new size, to be kept with the next checkpoint. Throws PermanentError where somebody else has written as well. */
  async append(rows: readonly RejectedRow[], header: PipeHeader): Promise<number> {
    if (rows.length === 0) return this.#bytes;
    this.#handle ??= await open(this.#path, 'a');
    const { size } = await this.#handle.stat();
    if (size !== this.#bytes) throw changed(this.#path, size, this.#bytes);
    const text = Buffer.from((this.#bytes === 0 ? rejectsHeader(header) : '') + rejectsText(rows, header.delimiter));
    await this.#handle.appendFile(text);
    await this.#handle.datasync();
    this.#bytes += text.length;
    return this.#bytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }
}

async function cutTo(path: string, bytes: number): Promise<void> {
  const size = await sizeOf(path);
  if (size < bytes) throw changed(path, size, bytes);
  await truncate(path, bytes);
}

function changed(path: string, size: number, written: number): PermanentError {
  return new PermanentError('rejects-changed', `${path} has ${size} bytes, and the run had written ${written}`, {
    hint: 'Leave the rejects file in place until the run is done, or start the push anew.',
  });
}

async function sizeOf(path: string): Promise<number> {
  try {
    await using handle = await open(path, 'r');
    return (await handle.stat()).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
