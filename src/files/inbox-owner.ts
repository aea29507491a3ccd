/** The file in an inbox that names its owner, and the links that an inbox may not have. */
import { lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { fileReason, onDisk } from '../core/base/file-fault.ts';
import { type InboxOwner, ownerName } from '../core/pipes/inbox.ts';
import { sleep } from '../timers/sleep.ts';
import { readSmall, replace, unlessCode, writeExclusively } from './durable-file.ts';
import { ownFolders } from './inbox-folder.ts';

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
