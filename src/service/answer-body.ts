/** The body of an answer as text: bounded on the wire and unpacked, and without loss where it is not UTF-8. */
import { isAscii, isUtf8 } from 'node:buffer';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type ZlibOptions } from 'node:zlib';
import { codeOf } from '../core/base/file-fault.ts';
import { AbortedError, PermanentError, TransientError } from '../core/base/errors.ts';
import { sharedBodyBytes } from '../core/base/memory-budget.ts';

/** Bytes of the start of a body: messages show 200 characters of it. */
const startBytes = 64 * 1024;

/** A body that announces no more is read at once: bit by bit it would take longer than its request. */
const shortBytes = 64 * 1024;

/** Broken bytes that are marked one by one. A body with more of them is no text at all. */
const mostBrokenBytes = 10_000;

interface Body {
  /** The bytes as they come; `bytes` reads all of them. */
  readonly chunks: Readable & { readonly bytes?: () => Promise<Uint8Array> };
  /** Value of the header Content-Length, which the parser of HTTP holds the body to. */
  readonly length: number | undefined;
  /** Value of the header Content-Encoding (RFC 9110 section 8.4). */
  readonly encoding: string | null;
  /** Method and path of the request, for messages. */
  readonly label: string;
}

export interface BodyBounds {
  readonly room: BodyRoom;
  /** Bounds the received bytes of one body, and the unpacked ones as well: a small body may unpack to a large one. */
  readonly maxBytes: number;
  /** Bytes of a block of `room`. */
  readonly blockBytes: number;
}

/** The body of an answer. It is read before its room is closed, since `bytes` lie in a block of it. */
export interface WholeBody {
  text(): string;
  /** Set where the bytes were kept. */
  readonly bytes?: Buffer;
}

/**
 * The whole body. With `keepsArray`, JSON text in ASCII that begins an array and lies in one block is kept as bytes; any
 * other is text. Bytes that are not UTF-8 stand in the text as lone surrogates, U+DC80 to U+DCFF, so that the check of
 * the records finds them. Throws NoRoomError for a body that has to come again when there is room (G8), PermanentError
 * `body-too-large`, TransientError `truncated` for a packed body that is cut short, `encoding` for one that cannot be
 * unpacked and `not-text` for bytes that are no text.
 */
export async function readWholeBody(body: Body, bounds: BodyBounds, keepsArray: boolean): Promise<WholeBody> {
  const blocks = await collect(body, bounds);
  const [bytes] = blocks;
  if (keepsArray && blocks.length === 1 && bytes?.[0] === openBracket && isAscii(bytes)) {
    return { bytes, text: () => bytes.toString('latin1') };
  }
  return textBody(textOf(blocks, body.label));
}

const openBracket = 0x5b;

export function textBody(text: string): WholeBody {
  return { text: () => text };
}

/**
 * The start of the body of an accepted POST or DELETE, which is short or of no meaning (docs/interface.md sections 4.3 to 4.5
 * and 4.7): it cannot be asked for again when there is room, so that it takes none. The rest is received and dropped. Throws
 * as {@link readWholeBody} does, save NoRoomError.
 */
export async function readReceipt(body: Body, maxBytes: number): Promise<WholeBody> {
  const short = await shortBody(body, () => true);
  return textBody(textOf([short ?? (await startOf(body, maxBytes))], body.label));
}

async function startOf(body: Body, maxBytes: number): Promise<Buffer> {
  const start: Buffer[] = [];
  let size = 0;
  for await (const chunk of unpacked(body, maxBytes)) {
    // Chunks may be parts of larger buffers, which they would keep in memory.
    if (size < startBytes) start.push(Buffer.from(chunk.subarray(0, startBytes - size)));
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(body.label);
  }
  return Buffer.concat(start);
}

/**
 * The start of a refusal's body; the rest is not read. A refusal counts even when its body is cut short or cannot be
 * unpacked.
 */
export async function readRefusal(body: Body): Promise<string> {
  const start = Buffer.allocUnsafe(startBytes);
  let size = 0;
  try {
    for await (const chunk of unpacked(body, startBytes)) {
      size += chunk.copy(start, size);
      if (size === startBytes) break;
    }
  } catch {
    // What has come is shown.
  }
  return start.toString('utf8', 0, size);
}

/** The bytes of a short body that is not packed, if `hasRoom`; undefined for any other. */
async function shortBody(
  { chunks, length, encoding }: Body,
  hasRoom: (bytes: number) => boolean,
): Promise<Buffer | undefined> {
  if (chunks.bytes === undefined || length === undefined || length > shortBytes || encoding !== null) return undefined;
  if (!hasRoom(length)) return undefined;
  const { buffer, byteOffset, byteLength } = await chunks.bytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The bytes in blocks: chunks may be parts of larger buffers, which they would keep in memory. */
async function collect(body: Body, { room, maxBytes, blockBytes }: BodyBounds): Promise<readonly Buffer[]> {
  const short = await shortBody(body, (bytes) => bytes <= maxBytes && room.grow(bytes));
  if (short !== undefined) return short.length === 0 ? [] : [short];
  const blocks: Buffer[] = [];
  let size = 0;
  // Ending the loop early destroys the connection, so that nothing more is sent.
  for await (const chunk of unpacked(body, maxBytes)) {
    if (size + chunk.length > maxBytes) throw tooLarge(body.label);
    if (!room.grow(chunk.length)) throw new NoRoomError();
    for (let taken = 0; taken < chunk.length;) {
      const at = size % blockBytes;
      if (at === 0) blocks.push(room.block());
      const copied = chunk.copy(blocks.at(-1) as Buffer, at, taken);
      taken += copied;
      size += copied;
    }
  }
  const rest = size % blockBytes;
  return rest === 0 ? blocks : [...blocks.slice(0, -1), (blocks.at(-1) as Buffer).subarray(0, rest)];
}

/** Few calls for a page, and little memory for each body. */
const unpackerOptions: ZlibOptions = { chunkSize: 128 * 1024 };

const unpackers: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(unpackerOptions),
  'x-gzip': () => createGunzip(unpackerOptions),
  deflate: () => createInflate(unpackerOptions),
  br: () => createBrotliDecompress(unpackerOptions),
};

/**
 * The unpacked bytes as they come; nothing of an empty body is unpacked. Throws what ends the body before its last byte,
 * and PermanentError `body-too-large` for more than `maxBytes` packed bytes, which may unpack to nothing.
 */
async function* unpacked({ chunks, encoding, label }: Body, maxBytes: number): AsyncIterable<Buffer> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') {
    yield* chunks as AsyncIterable<Buffer>;
    return;
  }
  const unpacker = Object.hasOwn(unpackers, name) ? unpackers[name]?.() : undefined;
  if (unpacker === undefined) {
    // Unread, it would hold its connection.
    chunks.on('error', () => undefined).destroy();
    throw new TransientError('encoding', `${label} was answered in a Content-Encoding that wellsync cannot unpack`, {
      hint: 'wellsync asks for gzip: see that the service, or a proxy before it, sends answers so or as they are.',
    });
  }
  let size = 0;
  let hasEnded = false;
  const bounded = async function* (packed: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of packed) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(label);
      yield chunk;
    }
    hasEnded = true;
  };
  try {
    // The loop over the unpacked bytes throws what fails.
    yield* pipeline(chunks, bounded, unpacker, () => undefined) as AsyncIterable<Buffer>;
  } catch (error) {
    // No format has a form of nothing, but an answer has: a body of no bytes that came to its end is whole (G4).
    if (size > 0 || !hasEnded) throw unpackingFault(error, name, label);
  }
}

/** What is no fault of unpacking is returned as it is. */
function unpackingFault(cause: unknown, encoding: string, label: string): unknown {
  const code = codeOf(cause);
  if (code === 'Z_BUF_ERROR')
    return new TransientError('truncated', `${label} was answered with a body cut short`, { cause });
  if (!/^(?:Z_|ERR__)/.test(code)) return cause;
  return new TransientError('encoding', `${label} was answered with a body that is not ${encoding}, as it says`, {
    cause,
  });
}

function tooLarge(label: string): PermanentError {
  return new PermanentError('body-too-large', `${label} was answered with more bytes than are taken`, {
    hint: 'Lower service.pageLimit, or raise service.maxBodyBytes.',
  });
}

function textOf(blocks: readonly Buffer[], label: string): string {
  // Texts of blocks are joined where no character can lie across two of them.
  if (blocks.every((block) => isAscii(block))) return blocks.map((block) => block.toString('latin1')).join('');
  const bytes = blocks.length === 1 && blocks[0] !== undefined ? blocks[0] : Buffer.concat(blocks);
  const text = isUtf8(bytes) ? bytes.toString('utf8') : markedText(bytes, label);
  // A byte order mark belongs to no value.
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Every byte that belongs to no UTF-8 sequence becomes the lone surrogate U+DC00 + byte. */
function markedText(bytes: Buffer, label: string): string {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    const end = at + sequenceLength(byte);
    if (byte < 0x80 || isUtf8(bytes.subarray(at, end))) {
      at = end;
      continue;
    }
    parts.push(bytes.toString('utf8', start, at), String.fromCharCode(0xdc_00 + byte));
    if (parts.length > 2 * mostBrokenBytes) throw notText(label);
    at += 1;
    start = at;
  }
  return [...parts, bytes.toString('utf8', start)].join('');
}

/** Length that the first byte of a UTF-8 sequence announces (RFC 3629 section 3). */
function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

function notText(label: string): TransientError {
  return new TransientError('not-text', `${label} was answered with bytes that are no text in UTF-8`, {
    hint: 'The service must send JSON in UTF-8.',
  });
}

// The memory of all bodies that a process receives at a time (G8). A body asks for room before it takes more bytes:
//
//   the oldest   has room up to the length of one body: it is kept free for it
//   the others   share `sharedBodyBytes` beside it
//
// The shared room goes to those who ask first. A body without room is given up: it lets go of what it has, keeps its turn
// among the others, and is asked for again when it is the oldest: turns come in the order in which bodies began. Younger
// bodies that take shared room meanwhile do not delay it, since the oldest needs none of it. It does not wait half read,
// since undici 7 asserts that no connection ends while its body rests, which would end the process. The bytes lie in
// blocks that are used again, since freed buffers stay in memory until V8 collects them.

/** Holds most pages whole: 1,000 records of 34 fields have 855 kB. Only what is written of a block takes memory. */
const blockBytes = 1024 * 1024;

/** A body was given up for lack of room. */
export class NoRoomError extends Error {
  override name = 'NoRoomError' as const;
}

export interface BodyRoom {
  /** Takes room for `bytes` more; false where there is none. Always true for the oldest. */
  grow(bytes: number): boolean;
  /** An empty block of `blockBytes`, to be filled within what `grow` took. */
  block(): Buffer;
  /** Gives room and blocks back, and keeps the turn; resolves when it is the oldest. Rejects with AbortedError. */
  turn(signal: AbortSignal): Promise<void>;
  /** Gives all back; no block may be read any more. */
  close(): void;
}

interface BodyInRoom {
  bytes: number;
  readonly blocks: Buffer[];
  /** Set while the body waits for its turn. */
  begin?: (() => void) | undefined;
}

export class BodyBudget {
  readonly blockBytes: number;
  readonly #sharedBytes: number;
  readonly #mostSpareBlocks: number;
  /** Those that have taken room, the oldest first. */
  readonly #bodies = new Set<BodyInRoom>();
  readonly #spareBlocks: Buffer[] = [];

  /** `maxBodyBytes`: of one body, which its reader bounds. */
  constructor(maxBodyBytes: number) {
    this.#sharedBytes = sharedBodyBytes(maxBodyBytes);
    this.blockBytes = Math.min(blockBytes, maxBodyBytes);
    this.#mostSpareBlocks = Math.ceil((maxBodyBytes + this.#sharedBytes) / this.blockBytes);
  }

  open(): BodyRoom {
    const body: BodyInRoom = { bytes: 0, blocks: [] };
    return {
      grow: (bytes) => {
        this.#bodies.add(body);
        const hasRoom = this.#hasRoom(body, bytes);
        if (hasRoom) body.bytes += bytes;
        return hasRoom;
      },
      block: () => {
        const block = this.#spareBlocks.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
        body.blocks.push(block);
        return block;
      },
      turn: (signal) => {
        this.#empty(body);
        return this.#turnOf(body, signal);
      },
      close: () => {
        this.#empty(body);
        this.#bodies.delete(body);
        const [oldest] = this.#bodies;
        oldest?.begin?.();
      },
    };
  }

  #hasRoom(body: BodyInRoom, bytes: number): boolean {
    const [oldest, ...others] = this.#bodies;
    if (body === oldest) return true;
    return others.reduce((sum, other) => sum + other.bytes, bytes) <= this.#sharedBytes;
  }

  #empty(body: BodyInRoom): void {
    body.bytes = 0;
    for (const block of body.blocks.splice(0)) {
      if (this.#spareBlocks.length < this.#mostSpareBlocks) this.#spareBlocks.push(block);
    }
  }

  #turnOf(body: BodyInRoom, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const [oldest] = this.#bodies;
      if (body === oldest) return resolve();
      const abort = (): void => {
        body.begin = undefined;
        reject(new AbortedError());
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      body.begin = () => {
        body.begin = undefined;
        signal.removeEventListener('abort', abort);
        resolve();
      };
    });
  }
}
