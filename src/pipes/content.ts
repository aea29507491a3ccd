/** Reads a source as blocks of bytes, unpacked where the source is gzip. */
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { AbortedError, UsageError, WellsyncError } from '../core/base/errors.ts';
import { fileOutage, fileReason, codeOf } from '../core/base/file-fault.ts';

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
 * Bytes worked between two turns of the event loop, so that other work runs every few milliseconds (docs/queue.md
 * section 4: a blocked loop loses its locks).
 */
const defaultBlockBytes = 64 * 1024;
/** Bytes of one read from disk. */
const readBytes = 128 * 1024;

/**
 * The content in blocks of at most `blockBytes`, with a turn of the event loop after each. Closes the source when the
 * consumer stops. Throws UsageError for a source that cannot be read or unpacked, AbortedError on the signal.
 */
export async function* readContent(
  source: PipeSource,
  signal?: AbortSignal,
  blockBytes = defaultBlockBytes,
): AsyncGenerator<Buffer, void, undefined> {
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
  const code = codeOf(error);
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

// Checks that bytes are UTF-8 text, and names the likely encoding where they are not.

/** Bytes that `guessFromStart` examines. */
export const startBytes = 64;

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);

/** The length of a UTF-8 byte order mark at the start of a file. */
export function bomLength(start: Buffer): number {
  return start.subarray(0, utf8Bom.length).equals(utf8Bom) ? utf8Bom.length : 0;
}

/** The encoding that the first bytes of a file indicate; undefined when they do not rule out UTF-8. */
export function guessFromStart(start: Buffer): string | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? 'UTF-32 LE' : 'UTF-16 LE';
  if (first === 0xfe && second === 0xff) return 'UTF-16 BE';
  const nulsAt = (parity: number): number =>
    start.subarray(0, startBytes).filter((byte, index) => byte === 0 && index % 2 === parity).length;
  const [even, odd] = [nulsAt(0), nulsAt(1)];
  if (even === 0 && odd === 0) return undefined;
  if (even > 0 && odd > 0) return 'UTF-32 or a binary file';
  return odd > 0 ? 'UTF-16 LE without a byte order mark' : 'UTF-16 BE without a byte order mark';
}

/**
 * The likely encoding of a byte that is not UTF-8. 0x80 to 0x9f are control characters in Latin-1, which files do not
 * contain.
 */
export function guessFromByte(byte: number): string {
  return byte >= 0x80 && byte <= 0x9f ? 'Windows-1252' : 'Latin-1 (ISO 8859-1) or Windows-1252';
}

/** The whole characters of a block and, when they end before the block does, the invalid byte behind them. */
interface CheckedText {
  readonly text: Buffer;
  readonly faultyByte: number | undefined;
}

/** Checks a stream of bytes, block by block. A character cut by the end of a block waits for the next block. */
export class Utf8Check {
  #cut: Buffer = Buffer.alloc(0);

  /** `text` starts with the cut character of the previous block. */
  check(block: Buffer): CheckedText {
    const bytes = this.#cut.length === 0 ? block : Buffer.concat([this.#cut, block]);
    const end = bytes.length - unfinishedLength(bytes);
    const whole = bytes.subarray(0, end);
    this.#cut = bytes.subarray(end);
    if (isUtf8(whole)) return { text: whole, faultyByte: undefined };
    const faultAt = firstFault(whole);
    return { text: whole.subarray(0, faultAt), faultyByte: whole[faultAt] };
  }

  /** First byte of a character that the end of the file cuts; undefined when there is none. */
  end(): number | undefined {
    return this.#cut[0];
  }
}

/** Bytes at the end that may start a longer character, at most 3. */
function unfinishedLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return characterLength(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function characterLength(lead: number): number {
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/** Offset of the first invalid character. Tests characters one by one, at most once per file. */
function firstFault(bytes: Buffer): number {
  let offset = 0;
  while (offset < bytes.length) {
    const lead = bytes[offset] ?? 0;
    const length = lead < 0x80 ? 1 : characterLength(lead);
    if (!isUtf8(bytes.subarray(offset, offset + length))) return offset;
    offset += length;
  }
  return offset;
}

// Opens a file that an operator names, and nothing that may never begin or never end: a pipe, a device, a socket.

/** Its code is no code of the system: core/base/file-fault.ts has the words. */
class NoRegularFileError extends Error {
  override readonly name = 'NoRegularFileError';
  readonly code: string;

  constructor(path: string, code: 'EISDIR' | 'ENOTREG') {
    super(`${path} is no regular file`);
    this.code = code;
  }
}

/** Follows links. Throws an error with a code, of the system or ENOTREG. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  // Without O_NONBLOCK the opening of a pipe waits for a writer, in a thread that nothing can stop.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new NoRegularFileError(path, stats.isDirectory() ? 'EISDIR' : 'ENOTREG');
}
