/** The port to files of network pipes: what a push asks of them, and the one way in which they are had. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { assertSameFile, type FileIdentity } from './file-identity.ts';
import type { PipeHeader } from './header.ts';
import { describeReject, rejectItem, type PipeItem, type RejectedRow, type RejectedRows } from './items.ts';
import { readPipes, type PipeBatch, type ReadPipesOptions } from './read-pipes.ts';
import { RejectsFile } from './rejects-file.ts';

export interface PipeFiles {
  /** The entries of a file in batches, from its beginning or from where an earlier reading stopped. */
  read(file: string, options: ReadPipesOptions): AsyncIterable<PipeBatch>;
  /** Throws PermanentError (`source-changed`) when the file is not what it was, UsageError when it is not there. */
  assertSame(file: string, identity: FileIdentity, signal?: AbortSignal): Promise<FileIdentity>;
  /** The rejects file of a run, cut back to the size that its checkpoint holds. Makes its folder. */
  openRejects(file: string, bytes: number): Promise<RejectsFile>;
  /** The rows of an item that could not be sent, with one reason for all. */
  rejectItem(item: PipeItem, header: PipeHeader, reason: string): RejectedRows;
  describeReject(reject: RejectedRow): string;
  /** Removes a file that was only kept for the run. */
  remove(file: string): Promise<void>;
}

export const pipeFiles: PipeFiles = {
  read: (file, options) => readPipes({ path: file }, options),
  assertSame: assertSameFile,
  openRejects: async (file, bytes) => {
    await mkdir(path.dirname(file), { recursive: true });
    return RejectsFile.open(file, bytes);
  },
  rejectItem,
  describeReject,
  remove: (file) => rm(file, { force: true }),
};
