/** Gives a file that was written aside its name: it appears there whole or not at all. */
import { randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** A name beside the file, which no other process takes: process ids repeat among containers. */
export function asideOf(file: string): string {
  return `${file}.${randomUUID().slice(0, 8)}.part`;
}

/** Replaces a file of that name. Both are on the disk when it resolves: the bytes before the name. */
export async function placeOver(aside: string, file: string): Promise<void> {
  await synced(aside);
  await rename(aside, file);
  await syncedFolder(path.dirname(file));
}

/**
 * Returns false, and places nothing, if a file of that name exists, also one that has just appeared. `linked` gives the
 * file its second name; the first one may stay.
 */
export async function placeNew(aside: string, file: string, linked = link): Promise<boolean> {
  await synced(aside);
  const isPlaced = await linked(aside, file).then(
    () => true,
    (error: NodeJS.ErrnoException) => (lacksLinks.has(error.code ?? '') ? claim(aside, file) : unlessExists(error)),
  );
  await syncedFolder(path.dirname(file));
  return isPlaced;
}

/** What file systems without hard links answer, as FAT and some of networks. */
const lacksLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/** Takes the name by an empty file, which the other one then replaces. */
async function claim(aside: string, file: string): Promise<boolean> {
  try {
    await (await open(file, 'wx')).close();
  } catch (error) {
    return unlessExists(error as NodeJS.ErrnoException);
  }
  try {
    await rename(aside, file);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  return true;
}

function unlessExists(error: NodeJS.ErrnoException): false {
  if (error.code === 'EEXIST') return false;
  throw error;
}

async function synced(file: string): Promise<void> {
  await using handle = await open(file, 'r');
  await handle.sync();
}

/** The names in it; not every file system can. */
async function syncedFolder(folder: string): Promise<void> {
  await synced(folder).catch((error: NodeJS.ErrnoException) => {
    if (!cannotSync.has(error.code ?? '')) throw error;
  });
}

const cannotSync: ReadonlySet<string> = new Set(['EACCES', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM']);
