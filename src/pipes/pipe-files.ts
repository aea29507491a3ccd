/**
 * The port through which a push reads files of network pipes and writes its rejects, and its only implementation: on
 * this host, or among the files that several hosts share. A disk that is full or fails is an OutageError everywhere.
 */
import { rm, stat } from 'node:fs/promises';
import { AbortedError, BlockedError, PermanentError, UnpacksTooFarError, UsageError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import { onDisk } from '../core/base/file-fault.ts';
import type { SharedLocation } from '../core/run/run.ts';
import type { RejectsLocation } from '../core/pipes/checkpoint.ts';
import type { PipeHeader } from './header.ts';
import { describeReject, type PipeItem, type RejectedRow, type RejectedRows, rejectItem } from './items.ts';
import { type PipeBatch, readPipes, type ReadPipesOptions } from './read-pipes.ts';
import { type ByteLog, LocalByteLog, RejectsFile } from './rejects-file.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { bytesText, counted, figure } from '../core/base/text.ts';
import { isPacked, openRegularFile, readContent, unreadable } from './content.ts';

/** A file that is to be pushed. */
export interface PipeSourceFile {
  /** Absolute path on the host that requested the push. */
  readonly file: string;
  readonly identity: FileIdentity;
  /** Where every host finds it; undefined for a file that lies on one host alone. */
  readonly shared?: SharedLocation | undefined;
}

/** A file that this host can read, for as long as it is not disposed. */
export interface OpenedSource extends AsyncDisposable {
  readonly file: string;
  readonly identity: FileIdentity;
}

export interface PipeFiles {
  /**
   * Throws BlockedError for a shared file that this host cannot read and another may, PermanentError (`source-missing`)
   * for one that is gone.
   */
  requireSource(source: PipeSourceFile, signal?: AbortSignal): Promise<void>;
  /** Fetches a shared file; its content is compared. Throws as {@link requireSource} does, and for a damaged file. */
  open(source: PipeSourceFile, signal: AbortSignal): Promise<OpenedSource>;
  /** The entries of a file in batches, from its start or from the end of an earlier entry. */
  read(file: string, options: ReadPipesOptions): AsyncIterable<PipeBatch>;
  /**
   * Throws PermanentError (`source-changed`) when the content of the file changed, UsageError when there is no file.
   */
  assertSame(file: string, identity: FileIdentity, signal?: AbortSignal): Promise<FileIdentity>;
  /** The bytes of the rejects of a run. */
  rejects(location: RejectsLocation): Promise<ByteLog>;
  /** Opens the rejects of a run for more, cut back to the size in its checkpoint. */
  openRejects(location: RejectsLocation, bytes: number, signal?: AbortSignal): Promise<RejectsFile>;
  /** Copies the rejects of another run; removes those of `to` where there are none. */
  copyRejects(from: RejectsLocation, to: RejectsLocation, signal?: AbortSignal): Promise<void>;
  /** The rejects of an item that was not stored, all with one reason. */
  rejectItem(item: PipeItem, header: PipeHeader, reason: string): RejectedRows;
  describeReject(reject: RejectedRow): string;
  /** Removes a file kept only for the run. */
  remove(file: string): Promise<void>;
}

/** What a push needs of the files that several hosts share; throws BlockedError for a place that this host has not. */
export interface SharedPipeFiles {
  requireFile(location: SharedLocation, content: FileIdentity, signal?: AbortSignal): Promise<void>;
  fetch(
    location: SharedLocation,
    content: FileIdentity,
    signal?: AbortSignal,
  ): Promise<{ readonly path: string } & AsyncDisposable>;
  rejects(location: SharedLocation, runId: string, signal?: AbortSignal): Promise<ByteLog>;
}

/** `shared`: undefined on a host without files.url. */
export function createPipeFiles(shared: SharedPipeFiles | undefined): PipeFiles {
  const rejects = async (location: RejectsLocation, signal?: AbortSignal): Promise<ByteLog> =>
    'file' in location
      ? withSteps('rejects', new LocalByteLog(location.file))
      : at(shared, location.shared).rejects(location.shared, location.runId, signal);
  return {
    requireSource: async ({ shared: location, identity }, signal) => {
      if (location !== undefined) await at(shared, location).requireFile(location, identity, signal);
    },
    open: async ({ file, identity, shared: location }, signal) => {
      if (location === undefined) return { file, identity, [Symbol.asyncDispose]: async () => {} };
      return openShared(await at(shared, location).fetch(location, identity, signal), identity);
    },
    read: (file, options) => readPipes({ path: file }, options),
    assertSame: assertSameFile,
    rejects,
    openRejects: async (location, bytes, signal) => RejectsFile.openIn(await rejects(location, signal), bytes),
    copyRejects: async (from, to, signal) => copyLog(await rejects(from, signal), await rejects(to, signal)),
    rejectItem,
    describeReject,
    remove: (file) => onDisk(file, () => rm(file, { force: true })),
  };
}

/** The files of this host alone. */
export const localPipeFiles = createPipeFiles(undefined);

const pollAgainMs = 15_000;

function at(shared: SharedPipeFiles | undefined, { address }: SharedLocation): SharedPipeFiles {
  if (shared !== undefined) return shared;
  const message = `the file of the run lies in ${address}, and this host has no files.url: a worker of another may have it`;
  throw new BlockedError('files-elsewhere', message, pollAgainMs);
}

async function openShared(
  fetched: { readonly path: string } & AsyncDisposable,
  identity: FileIdentity,
): Promise<OpenedSource> {
  const { mtimeMs } = await stat(fetched.path);
  return {
    file: fetched.path,
    identity: { ...identity, mtimeMs },
    [Symbol.asyncDispose]: () => fetched[Symbol.asyncDispose](),
  };
}

async function copyLog(from: ByteLog, to: ByteLog): Promise<void> {
  let bytes = await to.cutTo(0);
  try {
    for await (const block of from.read()) {
      await to.append(block, bytes);
      bytes += block.length;
    }
  } finally {
    await Promise.all([from.close(), to.close()]);
  }
}

// The identity of a file (device, inode, size, time), and the identity of its content (SHA-256) under any name.

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
