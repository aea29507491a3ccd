/** The body of an answer as text: bounded on the wire and unpacked, and without loss where it is not UTF-8. */
import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { PermanentError, TransientError } from '../core/base/errors.ts';

/** Bytes of a refusal's body that are read: its messages show 200 characters. */
const mostRefusalBytes = 64 * 1024;

/** Broken bytes that are marked one by one. A body with more of them is no text at all. */
const mostBrokenBytes = 10_000;

interface Body {
  /** The bytes as they come. Ending the loop early destroys the connection, so that nothing more is sent. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Value of the header Content-Encoding (RFC 9110 section 8.4). */
  readonly encoding: string | null;
  /** Method and path of the request, for messages. */
  readonly label: string;
}

/**
 * The whole body. `maxBytes` bounds the received bytes, and the unpacked ones as well: a small body may unpack to a
 * large one (G8). Bytes that are not UTF-8 stand in the text as lone surrogates, U+DC80 to U+DCFF, so that the check of
 * the records finds them. Throws PermanentError `body-too-large`, TransientError `truncated` for a packed body that is
 * cut short, `encoding` for one that cannot be unpacked and `not-text` for bytes that are no text.
 */
export async function readWholeBody({ chunks, encoding, label }: Body, maxBytes: number): Promise<string> {
  const { parts, isCut } = await collect(chunks, maxBytes);
  if (isCut) throw tooLarge(label);
  return textOf(await unpack(Buffer.concat(parts), encoding, label, maxBytes), label);
}

/**
 * The start of a refusal's body; the rest is not read. Empty when nothing can be read: a refusal counts even when its
 * body was cut short.
 */
export async function readRefusal({ chunks, encoding, label }: Body): Promise<string> {
  try {
    const { parts } = await collect(chunks, mostRefusalBytes);
    return (await unpack(Buffer.concat(parts), encoding, label, mostRefusalBytes)).toString('utf8');
  } catch {
    return '';
  }
}

async function collect(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<{ readonly parts: readonly Buffer[]; readonly isCut: boolean }> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    parts.push(chunk.subarray(0, maxBytes - size));
    size += chunk.length;
    if (size > maxBytes) return { parts, isCut: true };
  }
  return { parts, isCut: false };
}

type Unpacker = (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>;

const asIs: Unpacker = async (bytes) => bytes;

/** wellsync asks for no packing, but a proxy may pack all the same. */
const unpackers: Readonly<Record<string, Unpacker>> = {
  '': asIs,
  identity: asIs,
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

async function unpack(bytes: Buffer, encoding: string | null, label: string, maxBytes: number): Promise<Buffer> {
  const name = (encoding ?? '').trim().toLowerCase();
  const unpacker = Object.hasOwn(unpackers, name) ? unpackers[name] : undefined;
  if (unpacker === undefined) {
    throw new TransientError('encoding', `${label} was answered in a Content-Encoding that wellsync cannot unpack`, {
      hint: 'wellsync asks for none: see that the service, or a proxy before it, sends answers as they are or by gzip.',
    });
  }
  if (bytes.length === 0) return bytes;
  try {
    return await unpacker(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    throw unpackingFault(error, name, label);
  }
}

function unpackingFault(cause: unknown, encoding: string, label: string): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(label);
  if (code === 'Z_BUF_ERROR')
    return new TransientError('truncated', `${label} was answered with a body cut short`, { cause });
  return new TransientError('encoding', `${label} was answered with a body that is not ${encoding}, as it says`, {
    cause,
  });
}

function tooLarge(label: string): PermanentError {
  return new PermanentError('body-too-large', `${label} was answered with more bytes than are taken`, {
    hint: 'Lower service.pageLimit, or raise service.maxBodyBytes.',
  });
}

function textOf(bytes: Buffer, label: string): string {
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
