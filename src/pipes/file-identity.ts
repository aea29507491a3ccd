/** The identity of a file (device, inode, size, time), and the identity of its content (SHA-256) under any name. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { AbortedError, PermanentError, UnpacksTooFarError, UsageError } from '../core/base/errors.ts';
import { bytesText, counted, figure } from '../core/base/text.ts';
import { isPacked, openRegularFile, readContent, unreadable } from './content.ts';

/** Stored with a run as JSON. */
export interface FileIdentity {
  readonly bytes: number;
  readonly mtimeMs: number;
  /** Hash of the bytes on disk, packed or not; hexadecimal. */
  readonly sha256: string;
}

/** Identity of the content of a file, unpacked for gzip. Stored as JSON. */
export interface FileContent {
  readonly bytes: number;
  /** Hash of the unpacked content, hexadecimal: independent of the packing. */
  readonly sha256: string;
}

/** What a packed file may unpack to. */
export interface UnpackingBounds {
  readonly maxBytes: number;
  /** Most bytes for each byte of the file; the first 32 MB count for none. */
  readonly maxTimes: number;
}

interface PackedFile {
  readonly path: string;
  /** Its name in messages. */
  readonly name: string;
}

/** So little that it is unpacked at once, however well it packs. */
const anywayBytes = 32_000_000;

/**
 * Reads a packed file once more. Throws UsageError when it cannot be unpacked to its end, UnpacksTooFarError beyond the
 * bounds, AbortedError on the signal.
 */
export async function identifyContent(
  { path, name }: PackedFile,
  { bytes, sha256 }: FileIdentity,
  { maxBytes, maxTimes }: UnpackingBounds = { maxBytes: Infinity, maxTimes: Infinity },
  signal?: AbortSignal,
): Promise<FileContent> {
  if (!(await isPacked(path))) return { bytes, sha256 };
  const hash = createHash('sha256');
  const densestBytes = Math.max(anywayBytes, bytes * maxTimes);
  let unpackedBytes = 0;
  for await (const block of readContent({ path, name }, signal)) {
    hash.update(block);
    unpackedBytes += block.length;
    if (unpackedBytes > maxBytes) {
      throw new UnpacksTooFarError(
        `the file unpacks to more than ${bytesText(maxBytes)}: nothing was started`,
        'Push it in parts, or where it may be so long raise the limit (http.maxUnpackedMb).',
      );
    }
    if (unpackedBytes > densestBytes) {
      throw new UnpacksTooFarError(
        `the file unpacks to more than ${maxTimes} times its ${bytesText(bytes)}: nothing was started`,
        'Rows of pipes do not pack so well: see whether it is full of empty lines. Else send it unpacked.',
      );
    }
  }
  return { bytes: unpackedBytes, sha256: hash.digest('hex') };
}

/**
 * Reads the whole file once. Throws UsageError for a path that is not a file or cannot be read, and for a file that
 * changes during the read.
 */
export async function identifyFile(path: string, signal?: AbortSignal): Promise<FileIdentity> {
  const before = await readStats(path);
  const sha256 = await hashOf(path, signal);
  const after = await readStats(path);
  if (after.bytes !== before.bytes || after.mtimeMs !== before.mtimeMs) {
    throw new UsageError(`${path} is being written`, {
      hint: 'Push it when it is complete; a rename makes that sure.',
    });
  }
  return { ...after, sha256 };
}

/**
 * Compares a file with its identity and returns the identity to continue with. Throws PermanentError (`source-changed`)
 * when the content differs. Cheap while size and time are the same, so every checkpoint may call it; a new time alone
 * makes it hash the content.
 */
export async function assertSameFile(
  path: string,
  identity: FileIdentity,
  signal?: AbortSignal,
): Promise<FileIdentity> {
  const now = await readStats(path);
  if (now.bytes !== identity.bytes)
    throw changed(path, `it had ${counted(identity.bytes, 'byte')} and has ${figure(now.bytes)}`);
  if (now.mtimeMs === identity.mtimeMs) return identity;
  if ((await hashOf(path, signal)) !== identity.sha256) throw changed(path, 'its content is another one');
  return { ...identity, mtimeMs: now.mtimeMs };
}

function changed(path: string, how: string): PermanentError {
  return new PermanentError('source-changed', `${path} changed under the run: ${how}`, {
    hint: 'Put it back as it was and retry the run, or push the file as it is now with a new one.',
  });
}

async function readStats(path: string): Promise<Omit<FileIdentity, 'sha256'>> {
  try {
    await using handle = await openRegularFile(path);
    const { size, mtimeMs } = await handle.stat();
    return { bytes: size, mtimeMs };
  } catch (error) {
    throw unreadable(error, path);
  }
}

async function hashOf(path: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const block of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
      if (signal?.aborted === true) throw new AbortedError();
      hash.update(block as Buffer);
      await setImmediate();
    }
  } catch (error) {
    throw unreadable(error, path);
  }
  return hash.digest('hex');
}
