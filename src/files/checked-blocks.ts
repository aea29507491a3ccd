/** Reads a file of this host for a copy, and compares it with what it should hold. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AbortedError, UsageError } from '../core/base/errors.ts';
import { fileOutage, fileReason } from '../core/base/file-fault.ts';
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
  throw new UsageError(`${path} changed while it was copied`, {
    hint: 'Push it when it is complete; a rename makes that sure.',
  });
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

  /** Bytes so far. */
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
