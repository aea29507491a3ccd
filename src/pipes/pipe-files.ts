/**
 * The port through which a push reads files of network pipes, and its only implementation. A disk that is full or
 * fails is an OutageError everywhere.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { onDisk } from '../core/base/file-fault.ts';
import { assertSameFile, type FileIdentity } from './file-identity.ts';
import type { PipeHeader } from './header.ts';
import { describeReject, rejectItem, type PipeItem, type RejectedRow, type RejectedRows } from './items.ts';
import { readPipes, type PipeBatch, type ReadPipesOptions } from './read-pipes.ts';
import { RejectsFile } from './rejects-file.ts';

export interface PipeFiles {
  /** The entries of a file in batches, from its start or from the end of an earlier entry. */
  read(file: string, options: ReadPipesOptions): AsyncIterable<PipeBatch>;
  /**
   * Throws PermanentError (`source-changed`) when the content of the file changed, UsageError when there is no file.
   */
  assertSame(file: string, identity: FileIdentity, signal?: AbortSignal): Promise<FileIdentity>;
  /** Opens the rejects file of a run, cut back to the size in its checkpoint. Creates its folder. */
  openRejects(file: string, bytes: number): Promise<RejectsFile>;
  /** Copies the rejects file of another run; removes `to` where there is none. Creates its folder. */
  copyRejects(from: string, to: string): Promise<void>;
  /** The rejects of an item that was not stored, all with one reason. */
  rejectItem(item: PipeItem, header: PipeHeader, reason: string): RejectedRows;
  describeReject(reject: RejectedRow): string;
  /** Removes a file kept only for the run. */
  remove(file: string): Promise<void>;
}

export const pipeFiles: PipeFiles = {
  read: (file, options) => readPipes({ path: file }, options),
  assertSame: assertSameFile,
  openRejects: async (file, bytes) => {
    await onDisk(file, () => mkdir(path.dirname(file), { recursive: true }));
    return RejectsFile.open(file, bytes);
  },
  copyRejects: (from, to) => onDisk(to, () => copyRejects(from, to)),
  rejectItem,
  describeReject,
  remove: (file) => onDisk(file, () => rm(file, { force: true })),
};

async function copyRejects(from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true });
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await rm(to, { force: true });
  }
}
