/** Reads a source as blocks of bytes, unpacked where the source is gzip. */
import { Readable, pipeline } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { AbortedError, UsageError, WellsyncError } from '../core/base/errors.ts';
import { fileOutage, fileReason } from '../core/base/file-fault.ts';
import { openRegularFile } from './regular-file.ts';

/**
 * A file, or a stream that is read once (standard input). Messages call it `name`; a file without a name goes by its
 * path.
 */
export type PipeSource =
  | { readonly path: string; readonly name?: string }
  | { readonly stream: Readable; readonly name: string };

export function sourceName(source: PipeSource): string {
  return source.name ?? ('path' in source ? source.path : '');
}

/**
 * Bytes parsed between two turns of the event loop, so that other work runs every few milliseconds (docs/queue.md
 * section 4: a blocked loop loses its locks).
 */
const blockBytes = 64 * 1024;
/** Bytes of one read from disk. */
const readBytes = 128 * 1024;

/**
 * The content in blocks of at most 64 KiB, with a turn of the event loop after each. Closes the source when the
 * consumer stops. Throws UsageError for a source that cannot be read or unpacked, AbortedError on the signal.
 */
export async function* readContent(source: PipeSource, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  let stream: Readable | undefined;
  try {
    stream = await streamOf(source);
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
    stream?.destroy();
  }
}

async function streamOf(source: PipeSource): Promise<Readable> {
  if ('stream' in source) return source.stream;
  const handle = await openRegularFile(source.path);
  return handle.createReadStream({ highWaterMark: readBytes });
}

/** Whether a file is gzip; its size is then not the size of its content. */
export async function isPacked(path: string): Promise<boolean> {
  await using handle = await openRegularFile(path);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && isGzip(buffer);
}

/** Tests the magic bytes, whatever the name of the file. */
function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

async function* unpacked(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  const blocks = bytesOf(stream);
  const start = await firstBytes(blocks, 2);
  const whole = chained(start, blocks);
  if (!isGzip(start)) return yield* whole;
  const gunzip = createGunzip({ chunkSize: readBytes });
  // The loop below throws the error of either end.
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

/** The first blocks, with at least `atLeast` bytes, or all bytes when there are fewer. */
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

const nameOne = 'Name one CSV file.';

/**
 * Turns an error that an operator can correct into a UsageError, and a state of the disk that passes into an
 * OutageError; returns any other error unchanged.
 */
export function unreadable(error: unknown, name: string): unknown {
  if (error instanceof WellsyncError || !(error instanceof Error)) return error;
  const outage = fileOutage(error, name);
  if (outage !== undefined) return outage;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'ENOENT') return new UsageError(`there is no file ${name}`, { cause: error });
  if (code.startsWith('Z_')) {
    const hint = 'The file was cut or damaged on its way: make it again, or unpack it to see how far it goes.';
    const how = code === 'Z_BUF_ERROR' ? 'it ends before it is complete' : 'its bytes are damaged';
    return new UsageError(`${name} is a gzip file that cannot be unpacked: ${how}`, { cause: error, hint });
  }
  if (code === 'EISDIR') return new UsageError(`${name} is a folder, no file`, { cause: error, hint: nameOne });
  if (code === 'ENOTREG' || code === 'ENXIO') {
    // A pipe can be read only once, and a run may have to read again.
    const hint = `${nameOne.slice(0, -1)}, or - and have another program write to standard input.`;
    return new UsageError(`${name} is no regular file`, { cause: error, hint });
  }
  if (code.startsWith('E')) return new UsageError(`${name} cannot be read: ${fileReason(error)}`, { cause: error });
  return error;
}
