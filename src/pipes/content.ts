/** Owns the way from a source to its content: blocks of bytes, unpacked where the source is gzip. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable, pipeline } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { AbortedError, UsageError, WellsyncError } from '../core/errors.ts';

/** A file, or a stream that is read once (standard input). `name` is what messages call it: its path, where it has none. */
export type PipeSource =
  | { readonly path: string; readonly name?: string }
  | { readonly stream: Readable; readonly name: string };

export function sourceName(source: PipeSource): string {
  return source.name ?? ('path' in source ? source.path : '');
}

/** Parsed in one go, so that other work gets its turn every few milliseconds (QUEUE.md: a blocked loop loses its locks). */
const blockBytes = 64 * 1024;
/** Read in one go: the disk is asked rarely. */
const readBytes = 128 * 1024;

/**
 * The content in blocks of at most 64 KiB, with a turn of the event loop after each. The source is closed when the
 * consumer stops. Throws UsageError for a source that cannot be read or unpacked, AbortedError on the signal.
 */
export async function* readContent(source: PipeSource, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  const stream = 'path' in source ? createReadStream(source.path, { highWaterMark: readBytes }) : source.stream;
  try {
    for await (const bytes of unpacked(stream)) {
      for (let offset = 0; offset < bytes.length; offset += blockBytes) {
        if (signal?.aborted === true) throw new AbortedError();
        yield bytes.subarray(offset, offset + blockBytes);
        await setImmediate();
      }
    }
  } catch (error) {
    throw unreadable(error, sourceName(source));
  } finally {
    stream.destroy();
  }
}

/** Whether a file is gzip, so that its own size says nothing of its content's. */
export async function isPacked(path: string): Promise<boolean> {
  await using handle = await open(path);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && isGzip(buffer);
}

/** By its magic bytes, whatever the name of the file. */
function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

async function* unpacked(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  const blocks = bytesOf(stream);
  const start = await firstBytes(blocks, 2);
  const whole = chained(start, blocks);
  if (!isGzip(start)) return yield* whole;
  const gunzip = createGunzip({ chunkSize: readBytes });
  // The error of either end reaches the reader through the iteration below.
  pipeline(Readable.from(whole), gunzip, () => undefined);
  for await (const block of gunzip) yield block as Buffer;
}

async function* bytesOf(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  for await (const block of stream) yield typeof block === 'string' ? Buffer.from(block) : (block as Buffer);
}

async function* chained(
  start: Buffer,
  rest: AsyncGenerator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  if (start.length > 0) yield start;
  yield* rest;
}

/** At least so many bytes, or all that there are. */
export async function firstBytes(blocks: AsyncGenerator<Buffer, void, undefined>, atLeast: number): Promise<Buffer> {
  const taken: Buffer[] = [];
  let length = 0;
  while (length < atLeast) {
    const { value, done } = await blocks.next();
    if (done === true) break;
    taken.push(value);
    length += value.length;
  }
  return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken);
}

/** UsageError for what an operator can mend; another error as it is. */
export function unreadable(error: unknown, name: string): unknown {
  if (error instanceof WellsyncError || !(error instanceof Error)) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'ENOENT') return new UsageError(`there is no file ${name}`, { cause: error });
  if (code.startsWith('Z_')) {
    const hint = 'The file was cut or damaged on its way: make it again, or unpack it to see how far it goes.';
    const how = code === 'Z_BUF_ERROR' ? 'it ends before it is complete' : 'its bytes are damaged';
    return new UsageError(`${name} is a gzip file that cannot be unpacked: ${how}`, { cause: error, hint });
  }
  if (code === 'EISDIR')
    return new UsageError(`${name} is a folder, no file`, { cause: error, hint: 'Name one CSV file.' });
  if (code === 'EACCES') return new UsageError(`${name} may not be read by this user`, { cause: error });
  if (code.startsWith('E')) return new UsageError(`${name} cannot be read (${code})`, { cause: error });
  return error;
}
