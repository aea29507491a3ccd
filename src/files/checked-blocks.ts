/** Reads a file of this host for a copy, and compares it with what it should hold. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AbortedError, TransientError, UnreachableError, UsageError } from '../core/base/errors.ts';
import { fileOutage, fileReason } from '../core/base/file-fault.ts';
import { DAY_MS } from '../core/time/window.ts';
import type { FileContent } from './port.ts';

const blockBytes = 256 * 1024;

/**
 * The bytes of the file in blocks. Throws behind the last block, so that no copy is completed, a UsageError if they are
 * not `content`; before it, UsageError for a file that cannot be read and AbortedError on the signal.
 */
export async function* checkedBlocks(
  path: string,
  content: FileContent,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const check = new ContentCheck(content);
  const stream = createReadStream(path, { highWaterMark: blockBytes });
  try {
    for await (const block of stream) {
      if (signal?.aborted === true) throw new AbortedError();
      check.add(block as Buffer);
      yield block as Buffer;
    }
  } catch (error) {
    throw sourceFault(error, path);
  } finally {
    stream.destroy();
  }
  if (check.isSame()) return;
  const hint = 'Push it when it is complete; a rename makes that sure.';
  throw new UsageError(`${path} changed while it was copied`, { hint });
}

function sourceFault(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error instanceof AbortedError) return error;
  return fileOutage(error, path) ?? new UsageError(`${path} cannot be read: ${fileReason(error)}`, { cause: error });
}

/** Compares bytes that come in blocks with the size and the digest that they should have. */
export class ContentCheck {
  readonly #content: FileContent;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(content: FileContent) {
    this.#content = content;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(block: Uint8Array): void {
    this.#bytes += block.length;
    this.#hash.update(block);
  }

  /** Whether all was there; to be called once, behind the last block. */
  isSame(): boolean {
    return this.#bytes === this.#content.bytes && this.#hash.digest('hex') === this.#content.sha256;
  }
}

/** Faults of a store of files, in words that are the same for a folder and for S3. */
const damaged = 'file-damaged';

/** The store answers, and its file is not the one that was put there. `how`: what differs. */
export function damagedFile(file: string, how: string): TransientError {
  return new TransientError(damaged, `${file} is not the file that was put there: ${how}`, {
    hint: 'The store of files.url has lost or changed a part of it. Check the store, and push the file again: that replaces it.',
  });
}

/** For a file whose content counts as none if it is not the one that was put there. */
export function noneIfDamaged(error: unknown): undefined {
  if (!(error instanceof TransientError && error.code === damaged)) throw error;
}

/** The store has kept another size than it was sent: nothing is queued then. */
export function lostPart(file: string, sentBytes: number, keptBytes: number | undefined): UnreachableError {
  const kept = keptBytes === undefined ? 'keeps no such file' : `keeps ${keptBytes} bytes`;
  return new UnreachableError('files', `the store was sent ${sentBytes} bytes for ${file} and ${kept}`, {
    hint: 'The store of files.url has lost a part of it: check the store before anything is pushed through it.',
  });
}

// Copies of files of a store that killed processes of this host have left in their folder.

/** The copies that a store makes for a worker begin with it. */
export const copyPrefix = 'fetched-';

/** Far longer than a push takes; one that takes longer fetches its file again. */
const keptMs = 2 * DAY_MS;

/** Removes them once they are two days old. A fault of one, or of the folder, is no error: the next worker tries again. */
export async function removeLeftCopies(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(copyPrefix))) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < nowMs - keptMs) await rm(file, { force: true }).catch(() => undefined);
  }
}
