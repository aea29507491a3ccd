/**
 * The port through which a push reads files of network pipes and writes its rejects, and its only implementation: on
 * this host, or among the files that several hosts share. A disk that is full or fails is an OutageError everywhere.
 */
import { rm, stat } from 'node:fs/promises';
import { BlockedError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import { onDisk } from '../core/base/file-fault.ts';
import type { SharedLocation } from '../core/run/run.ts';
import type { RejectsLocation } from '../core/pipes/checkpoint.ts';
import { assertSameFile, type FileIdentity } from './file-identity.ts';
import type { PipeHeader } from './header.ts';
import { describeReject, type PipeItem, type RejectedRow, type RejectedRows, rejectItem } from './items.ts';
import { type PipeBatch, readPipes, type ReadPipesOptions } from './read-pipes.ts';
import { type ByteLog, LocalByteLog, RejectsFile } from './rejects-file.ts';

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
