/** A file for the rows of a query: its format by its ending, written aside and given its name when it is whole. */
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../core/base/errors.ts';
import { type Units, unitsOfQuery } from '../../core/daily/units.ts';
import type { CopyTarget } from '../../warehouse/port/query.ts';
import type { Warehouse } from '../../warehouse/port/warehouse.ts';

type FileFormat = Pick<CopyTarget, 'format' | 'isGzip'>;

const formats: Readonly<Record<string, FileFormat>> = {
  '.csv': { format: 'csv', isGzip: false },
  '.csv.gz': { format: 'csv', isGzip: true },
  '.ndjson': { format: 'ndjson', isGzip: false },
  '.ndjson.gz': { format: 'ndjson', isGzip: true },
  '.parquet': { format: 'parquet', isGzip: false },
};

/** The endings of file names that have a format. */
const fileEndings: readonly string[] = Object.keys(formats);

/** Names of what the caller gave, for errors: `--output`. */
export interface FileNames {
  readonly file: string;
  readonly overwrite: string;
}

interface QueryFile {
  readonly file: string;
  readonly format: CopyTarget['format'];
  readonly rows: number;
  readonly bytes: number;
}

interface FileRequest {
  readonly sql: string;
  readonly file: string;
  readonly isOverwritten: boolean;
  /** By column of daily production. */
  readonly units: Units;
  /** Units in the header of CSV. */
  readonly hasUnitHeads?: boolean;
}

/**
 * Writes the rows of a read-only statement to `file`, which holds the whole result or is not there: a file of that name
 * stays until then. Throws UsageError for a name without a known ending, a missing folder, and a file that exists unless
 * `isOverwritten`.
 */
export async function writeQueryFile(
  warehouse: Pick<Warehouse, 'copyQuery' | 'isAt'>,
  { sql, file, isOverwritten, units, hasUnitHeads = false }: FileRequest,
  names: FileNames,
  signal: AbortSignal,
): Promise<QueryFile> {
  const target = path.resolve(file);
  const { format, isGzip } = formatOf(target, names);
  if (hasUnitHeads && format !== 'csv') {
    throw new UsageError(`${target} has no header for units`, {
      hint: 'Parquet has them in its metadata. Name a file that ends in .csv or .csv.gz.',
    });
  }
  return writeWhole(target, { warehouse, isOverwritten, names }, async (aside) => {
    const copied = { path: aside, format, isGzip, units: unitsOfQuery(sql, units), hasUnitHeads };
    const rows = await warehouse.copyQuery(sql, copied, signal);
    return { file: target, format, rows, bytes: (await stat(aside)).size };
  });
}

/**
 * Gives the file that `write` wrote the name `target` once it is whole. Throws UsageError for a missing folder, for the file of
 * the warehouse, and for a file that exists unless `isOverwritten`.
 */
export async function writeWhole<T>(
  target: string,
  how: {
    readonly warehouse: Pick<Warehouse, 'isAt'>;
    readonly isOverwritten: boolean;
    readonly names: FileNames;
  },
  write: (aside: string) => Promise<T>,
): Promise<T> {
  const { warehouse, isOverwritten, names } = how;
  refuseMissingFolder(target, names);
  if (warehouse.isAt(target)) throw new UsageError(`${target} is the warehouse itself: nothing was written`);
  if (!isOverwritten && existsSync(target)) throw existing(target, names);
  const aside = asideOf(target);
  try {
    const written = await write(aside);
    if (isOverwritten) await moveOver(aside, target);
    else if (!(await moveToNew(aside, target))) throw existing(target, names);
    return written;
  } finally {
    await rm(aside, { force: true });
  }
}

function formatOf(file: string, names: FileNames): FileFormat {
  const ending = fileEndings.toSorted((left, right) => right.length - left.length).find((each) => file.endsWith(each));
  const format = ending === undefined ? undefined : formats[ending];
  if (format !== undefined) return format;
  throw new UsageError(`${file} has no ending that tells the format`, {
    hint: `Let the name of ${names.file} end in ${fileEndings.join(', ')}.`,
  });
}

function refuseMissingFolder(file: string, names: FileNames): void {
  const folder = path.dirname(file);
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  throw new UsageError(`there is no folder ${folder}`, { hint: `Check ${names.file}: no folder is made.` });
}

function existing(file: string, names: FileNames): UsageError {
  return new UsageError(`${file} exists: nothing was written`, {
    hint: `Choose another name, or give ${names.overwrite} to replace it.`,
  });
}

// Gives a file that was written aside its name: it appears there whole or not at all.

/** A name beside the file, which no other process takes: process ids repeat among containers. */
export function asideOf(file: string): string {
  return `${file}.${randomUUID().slice(0, 8)}.part`;
}

/** Replaces a file of that name. Both are on the disk when it resolves: the bytes before the name. */
export async function moveOver(aside: string, file: string): Promise<void> {
  await synced(aside);
  await rename(aside, file);
  await syncedFolder(path.dirname(file));
}

/**
 * Returns false, and places nothing, if a file of that name exists, also one that has just appeared. `linked` gives the
 * file its second name; the first one may stay.
 */
export async function moveToNew(aside: string, file: string, linked = link): Promise<boolean> {
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

export type { QueryResult } from '../../warehouse/port/query.ts';
