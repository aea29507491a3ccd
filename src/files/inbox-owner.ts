/** The file in an inbox that names its owner, and the links that an inbox may not have. */
import { link, lstat, mkdir, open, realpath, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { fileReason, onDisk } from '../core/base/file-fault.ts';
import { type InboxOwner, isSameLocation, type KeptLocation, ownerName } from '../core/pipes/inbox.ts';
import { sleep } from '../timers/sleep.ts';
import { readSmall, replace, unlessCode, withAside, writeExclusively } from './durable-file.ts';
import { ownFolders } from './inbox-folder.ts';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

const ownerSchema = z.object({
  warehouseId: z.string().min(1),
  placeId: z.string().min(1).nullable(),
  service: z.string().min(1),
  warehouse: z.string(),
  host: z.string(),
  since: z.iso.datetime(),
});

export type FoundOwner =
  | { readonly kind: 'none' }
  | { readonly kind: 'owner'; readonly owner: InboxOwner }
  /** `reason` stands after "names no owner". */
  | { readonly kind: 'unreadable'; readonly reason: string };

/** A file system without second names shows an empty file for a moment. */
const emptyReads = 10;
const emptyReadMs = 100;

/** Faults of the file alone; those of a disk pass, and are thrown. */
const ofFile = new Set(['ELOOP', 'EISDIR', 'EACCES', 'EPERM', 'ENXIO']);

/** `root`: absolute path of the folder of one kind. Throws OutageError for a disk that is gone. */
export async function readOwner(root: string): Promise<FoundOwner> {
  return onDisk(root, async () => {
    try {
      let text = await readSmall(path.join(root, ownerName));
      for (let read = 0; text === '' && read < emptyReads; read += 1) {
        await sleep(emptyReadMs);
        text = await readSmall(path.join(root, ownerName));
      }
      return text === undefined ? { kind: 'none' } : ownerOf(text);
    } catch (error) {
      if (!ofFile.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return { kind: 'unreadable', reason: reasonOf(error) };
    }
  });
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'ELOOP' ? 'it is a link' : fileReason(error);
}

function ownerOf(text: string): FoundOwner {
  if (text === '') return { kind: 'unreadable', reason: 'it is empty' };
  try {
    const { since, ...owner } = ownerSchema.parse(JSON.parse(text));
    return { kind: 'owner', owner: { ...owner, sinceMs: Date.parse(since) } };
  } catch {
    return { kind: 'unreadable', reason: 'it was damaged, or is not of wellsync' };
  }
}

function textOf({ sinceMs, warehouseId, placeId: locationId, service, warehouse, host }: InboxOwner): string {
  const since = new Date(sinceMs).toISOString();
  return `${JSON.stringify({ warehouseId, placeId: locationId, service, warehouse, host, since }, null, 2)}\n`;
}

/** Makes the folder, and names the owner unless one is named: of processes at once, one does. */
export async function createOwner(root: string, owner: InboxOwner): Promise<void> {
  await writeOwner(root, owner, writeExclusively);
}

/** Names the owner, whoever was named. */
export async function replaceOwner(root: string, owner: InboxOwner): Promise<void> {
  await writeOwner(root, owner, replace);
}

async function writeOwner(
  root: string,
  owner: InboxOwner,
  write: (file: string, text: string) => Promise<void>,
): Promise<void> {
  await onDisk(root, async () => {
    await mkdir(root, { recursive: true });
    await write(path.join(root, ownerName), textOf(owner));
  });
}

/** Names of the folders of wellsync in the inbox that are links. */
export async function linkedFolders(root: string): Promise<readonly string[]> {
  const links: string[] = [];
  for (const name of ownFolders) {
    const found = await lstat(path.join(root, name)).catch(unlessCode('ENOENT', 'ENOTDIR', 'EACCES'));
    if (found?.isSymbolicLink() === true) links.push(name);
  }
  return links;
}

// The id of the place of a DuckDB warehouse: a small file beside it. A copy of the warehouse has the id of its original in
// its tables; what is copied along with it here is told from what was written here (core/pipes/inbox.ts).

const keptSchema = z.object({
  id: z.uuid(),
  host: z.string(),
  folder: z.string(),
  mark: z.string(),
});

/** Undefined where it has none of its own yet. `database`: path of the DuckDB file, which exists. */
export async function readLocationId(database: string): Promise<string | undefined> {
  const file = await fileBeside(database);
  return onDisk(file, async () => (await find(file)).id);
}

/** The id, made where there is none. Of processes that make it at once, the first one's stays. */
export async function keepLocationId(database: string): Promise<string> {
  const file = await fileBeside(database);
  return onDisk(file, async () => {
    const { id, isThere } = await find(file);
    if (id !== undefined) return id;
    const made = randomUUID();
    const kept = { id: made, host: hostname(), folder: path.dirname(file) };
    await withAside(
      file,
      (aside) => writeId(aside, kept),
      (aside) =>
        isThere
          ? rename(aside, file)
          : link(aside, file).catch((error: unknown) => renamedUnlessThere(error, aside, file)),
    );
    return (await find(file)).id ?? made;
  });
}

/** A file system without second names: a process at the same moment may replace it once more. */
async function renamedUnlessThere(error: unknown, aside: string, file: string): Promise<void> {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rename(aside, file);
}

async function writeId(aside: string, kept: Omit<KeptLocation, 'mark'>): Promise<void> {
  await using handle = await open(aside, 'wx');
  await handle.writeFile(`${JSON.stringify({ ...kept, mark: await markOf(aside) }, null, 2)}\n`);
  await handle.sync();
}

async function find(file: string): Promise<{ readonly id: string | undefined; readonly isThere: boolean }> {
  const text = await readSmall(file);
  if (text === undefined) return { id: undefined, isThere: false };
  const kept = keptOf(text);
  const found = { host: hostname(), folder: path.dirname(file), mark: await markOf(file) };
  return { id: kept !== undefined && isSameLocation(kept, found) ? kept.id : undefined, isThere: true };
}

function keptOf(text: string): KeptLocation | undefined {
  try {
    return keptSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Stays when the file is renamed; a copy has another one. */
async function markOf(file: string): Promise<string> {
  const { ino, birthtimeNs } = await stat(file, { bigint: true });
  return `${ino}-${birthtimeNs}`;
}

async function fileBeside(database: string): Promise<string> {
  return `${(await realpath(database).catch(unlessCode('ENOENT'))) ?? path.resolve(database)}.place`;
}
