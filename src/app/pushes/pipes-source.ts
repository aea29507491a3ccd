/** The source of a push: a file in its place, or standard input, copied to the data folder for the run. */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { onDisk } from '../../core/base/file-fault.ts';
import {
  identifyContent,
  identifyFile,
  type FileContent,
  type FileIdentity,
  type UnpackingBounds,
} from '../../pipes/pipe-files.ts';

/** Its name in messages. */
export const standardInput = 'standard input';

/** A file that is to be pushed. */
export interface PushedFile {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** Its name in messages, where that is not its path. It becomes no path. */
  readonly name?: string;
  /** Of an upload; a file of this host is its operator's, and may unpack to as much as it does. */
  readonly unpacking?: UnpackingBounds;
  /** Ends the reading of the file: whoever sent it is gone. */
  readonly signal?: AbortSignal;
}

export interface PushSource {
  /** The operator's name for it. */
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  readonly isSpooled: boolean;
  readonly identity: FileIdentity;
  readonly content: FileContent;
}

/**
 * `-` is standard input, which is copied: a run must be able to read it again, after a kill and on a retry. Throws
 * UsageError, UnpacksTooFarError, AbortedError on the signal, and OutageError when the data folder has no room for the copy.
 */
export async function pushSource(
  { file: named, name: given, unpacking, signal }: PushedFile,
  stdin: Readable,
  dataDir: string,
): Promise<PushSource> {
  const isSpooled = named === '-';
  const name = given ?? (isSpooled ? standardInput : named);
  const file = isSpooled ? await spool(stdin, spoolFolderOf({ dataDir })) : path.resolve(named);
  try {
    const identity = await identifyFile(file, signal);
    const content = await identifyContent({ path: file, name }, identity, unpacking, signal);
    return { name, file, isSpooled, identity, content };
  } catch (error) {
    await dropSource({ file, isSpooled });
    throw error;
  }
}

/** Removes the copy of standard input if no run will. */
export async function dropSource({ file, isSpooled }: Pick<PushSource, 'file' | 'isSpooled'>): Promise<void> {
  if (isSpooled) await rm(file, { force: true });
}

/** For copies that this host makes: of standard input, uploads and files of a store. */
export function spoolFolderOf({ dataDir }: { readonly dataDir: string }): string {
  return path.resolve(dataDir, 'spool');
}

/** Whether a file of that folder is a copy of standard input or an upload. */
export function isCopyName(name: string): boolean {
  return /^[\da-f]{16}\.csv$/.test(name);
}

async function spool(stdin: Readable, folder: string): Promise<string> {
  await onDisk(folder, () => mkdir(folder, { recursive: true }));
  const file = path.join(folder, `${randomBytes(8).toString('hex')}.csv`);
  try {
    await onDisk(file, () => pipeline(stdin, createWriteStream(file, { flags: 'wx' })));
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  return file;
}
