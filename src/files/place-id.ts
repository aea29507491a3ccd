/**
 * The id of the place of a DuckDB warehouse: a small file beside it. A copy of the warehouse has the id of its original in
 * its tables; what is copied along with it here is told from what was written here (core/pipes/inbox.ts).
 */
import { randomUUID } from 'node:crypto';
import { link, open, realpath, rename, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { onDisk } from '../core/base/file-fault.ts';
import { isSameLocation, type KeptLocation } from '../core/pipes/inbox.ts';
import { readSmall, unlessCode, withAside } from './durable-file.ts';

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
