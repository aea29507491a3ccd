/** Decides whether a file is the one that it was, and by its content whether it was ever seen, under whatever name. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { AbortedError, PermanentError, UsageError } from '../core/errors.ts';
import { figure } from '../core/figure.ts';
import { isPacked, readContent, unreadable } from './content.ts';

/** JSON, to be kept with a run. */
export interface FileIdentity {
  readonly bytes: number;
  readonly mtimeMs: number;
  /** Of the bytes as they lie on disk, packed or not; hexadecimal. */
  readonly sha256: string;
}

/** What a file holds, unpacked where it is gzip. JSON. */
export interface FileContent {
  readonly bytes: number;
  /** The same for the same rows packed in another way, or not at all. */
  readonly sha256: string;
}

/** Reads the file once more where it is packed. Throws UsageError where it cannot be unpacked to its end. */
export async function identifyContent(
  path: string,
  { bytes, sha256 }: FileIdentity,
  signal?: AbortSignal,
): Promise<FileContent> {
  if (!(await isPacked(path))) return { bytes, sha256 };
  const hash = createHash('sha256');
  let unpackedBytes = 0;
  for await (const block of readContent({ path }, signal)) {
    hash.update(block);
    unpackedBytes += block.length;
  }
  return { bytes: unpackedBytes, sha256: hash.digest('hex') };
}

/** Reads the whole file once. Throws UsageError for what is no file or cannot be read, and when it changes meanwhile. */
export async function identifyFile(path: string, signal?: AbortSignal): Promise<FileIdentity> {
  const before = await look(path);
  const sha256 = await hashOf(path, signal);
  const after = await look(path);
  if (after.bytes !== before.bytes || after.mtimeMs !== before.mtimeMs) {
    throw new UsageError(`${path} is being written`, {
      hint: 'Push it when it is complete; a rename makes that sure.',
    });
  }
  return { ...after, sha256 };
}

/**
 * Throws PermanentError (`source-changed`) when the file is not what it was. Cheap as long as size and time are the same,
 * so it can be asked at every checkpoint; a new time alone has the content compared. Gives the identity to go on with.
 */
export async function assertSameFile(
  path: string,
  identity: FileIdentity,
  signal?: AbortSignal,
): Promise<FileIdentity> {
  const now = await look(path);
  if (now.bytes !== identity.bytes)
    throw changed(path, `it had ${figure(identity.bytes)} bytes and has ${figure(now.bytes)}`);
  if (now.mtimeMs === identity.mtimeMs) return identity;
  if ((await hashOf(path, signal)) !== identity.sha256) throw changed(path, 'its content is another one');
  return { ...identity, mtimeMs: now.mtimeMs };
}

function changed(path: string, how: string): PermanentError {
  return new PermanentError('source-changed', `${path} changed under the run: ${how}`, {
    hint: 'Put it back as it was and retry the run, or push the file as it is now with a new one.',
  });
}

async function look(path: string): Promise<Omit<FileIdentity, 'sha256'>> {
  const stats = await stat(path).catch((error: unknown) => {
    throw unreadable(error, path);
  });
  if (stats.isFile()) return { bytes: stats.size, mtimeMs: stats.mtimeMs };
  if (stats.isDirectory()) throw new UsageError(`${path} is a folder, no file`, { hint: 'Name one CSV file.' });
  // What another program writes can be read once, and a run may have to read again.
  throw new UsageError(`${path} is no file`, {
    hint: 'Name one CSV file, or - and have another program write to standard input.',
  });
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
