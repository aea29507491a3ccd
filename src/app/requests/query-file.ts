/** A file for the rows of a query: its format by its ending, written aside and given its name when it is whole. */
import { existsSync, statSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../core/base/errors.ts';
import type { CopyTarget } from '../../warehouse/port/query.ts';
import type { Warehouse } from '../../warehouse/port/warehouse.ts';
import { asideOf, placeNew, placeOver } from '../place-file.ts';

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
interface FileNames {
  readonly file: string;
  readonly overwrite: string;
}

export interface QueryFile {
  readonly file: string;
  readonly format: CopyTarget['format'];
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes the rows of a read-only statement to `file`, which holds the whole result or is not there: a file of that name
 * stays until then. Throws UsageError for a name without a known ending, a missing folder, and a file that exists unless
 * `isOverwritten`.
 */
export async function writeQueryFile(
  warehouse: Pick<Warehouse, 'copyQuery' | 'isAt'>,
  { sql, file, isOverwritten }: { readonly sql: string; readonly file: string; readonly isOverwritten: boolean },
  names: FileNames,
  signal: AbortSignal,
): Promise<QueryFile> {
  const target = path.resolve(file);
  const { format, isGzip } = formatOf(target, names);
  refuseMissingFolder(target, names);
  if (warehouse.isAt(target)) throw new UsageError(`${target} is the warehouse itself: nothing was written`);
  if (!isOverwritten && existsSync(target)) throw existing(target, names);
  const aside = asideOf(target);
  try {
    const rows = await warehouse.copyQuery(sql, { path: aside, format, isGzip }, signal);
    const { size: bytes } = await stat(aside);
    if (isOverwritten) await placeOver(aside, target);
    else if (!(await placeNew(aside, target))) throw existing(target, names);
    return { file: target, format, rows, bytes };
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
