/** Owns which targets a command means: from flags, from a CSV file, from the warehouse, or from the configuration. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../core/errors.ts';

/** What kind of targets a command takes, and where an operator may name them. */
export interface TargetKind {
  readonly one: string;
  readonly many: string;
  /** Of the CSV file. */
  readonly column: string;
  readonly flag: string;
  readonly fileFlag: string;
  readonly setting: string;
  readonly fileSetting: string;
}

export const uwiKind: TargetKind = {
  one: 'well',
  many: 'wells',
  column: 'uwi',
  flag: '--uwi',
  fileFlag: '--wells',
  setting: 'export.wells',
  fileSetting: 'export.wellsFile',
};

export const sourceWellKind: TargetKind = {
  one: 'well',
  many: 'wells',
  column: 'well',
  flag: '--well',
  fileFlag: '--wells',
  setting: 'export.sourceWells',
  fileSetting: 'export.sourceWellsFile',
};

export const equipmentKind: TargetKind = {
  one: 'piece of equipment',
  many: 'pieces of equipment',
  column: 'equipment',
  flag: '--equipment',
  fileFlag: '--equipment-file',
  setting: 'export.equipment',
  fileSetting: 'export.equipmentFile',
};

export interface Targets {
  /** Distinct, in the order in which they were named first. */
  readonly names: readonly string[];
  /** How many more times targets were named that were named before. */
  readonly repeatedCount: number;
}

export interface TargetSources {
  readonly names: readonly string[];
  /** CSV; `-` is standard input. */
  readonly file: string | undefined;
  /** The targets that the warehouse knows, by name; asked last, once all else is in order. */
  readonly known?: (() => Promise<readonly string[]>) | undefined;
}

/** Flags win over the configuration as a whole. Throws UsageError where nothing names a target, or a name is empty. */
export async function targetsFrom(
  kind: TargetKind,
  flags: TargetSources,
  configured: TargetSources,
  stdin: Readable,
): Promise<Targets> {
  const sources = isNaming(flags) ? flags : configured;
  if (!isNaming(sources)) throw noTargets(kind);
  const named = sources.names.map((name) => name.trim());
  if (named.includes('')) {
    throw new UsageError(`${kind.flag} is empty`, { hint: `Give the ${kind.one} as ${kind.flag} "15/9-F-1 C".` });
  }
  const read = sources.file === undefined ? [] : await readTargets(kind, sources.file, stdin);
  const known = (await sources.known?.()) ?? [];
  const names = [...new Set([...named, ...read, ...known])];
  if (names.length === 0) {
    throw new UsageError(`the warehouse knows no ${kind.many} yet`, {
      hint: `Name them by ${kind.flag} or ${kind.fileFlag} once; then --from-warehouse has them.`,
    });
  }
  // That the warehouse knows a target that was named is no slip of the operator.
  const repeatedCount = named.length + read.length - new Set([...named, ...read]).size;
  return { names, repeatedCount };
}

function noTargets({ many, column, flag, fileFlag, setting, fileSetting }: TargetKind): UsageError {
  return new UsageError(`no ${many} are named`, {
    hint:
      `Name them by ${flag} "15/9-F-1 C" (repeatable), by ${fileFlag} FILE.csv with the column ${column}, ` +
      `by --from-warehouse, or by ${setting} or ${fileSetting} in the configuration.`,
  });
}

function isNaming({ names, file, known }: TargetSources): boolean {
  return names.length > 0 || file !== undefined || known !== undefined;
}

async function readTargets(kind: TargetKind, file: string, stdin: Readable): Promise<readonly string[]> {
  const name = file === '-' ? 'standard input' : file;
  const bytes = file === '-' ? await buffer(stdin) : await readBytes(kind, file);
  return namesOf(kind, decode(bytes, name), name);
}

async function readBytes(kind: TargetKind, file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
    throw new UsageError(`the file ${file} cannot be read: ${reason}`, {
      hint: `Check the path given by ${kind.fileFlag} or ${kind.fileSetting}.`,
      cause: error,
    });
  }
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${name} is not a text in UTF-8`, { hint: 'Save it as CSV, UTF-8.', cause: error });
  }
}

/** The cells of the kind's column, trimmed. Throws UsageError with every empty cell at once, by its line. */
function namesOf(kind: TargetKind, text: string, file: string): readonly string[] {
  const { one, column: wanted } = kind;
  const hint = `The first line must name the columns, one of them ${wanted}, and every other line a ${one}.`;
  const [header, ...records] = parseCsv(text, file);
  if (header === undefined) throw new UsageError(`${file} is empty`, { hint });
  const column = header.cells.findIndex((cell) => cell.trim().toLowerCase() === wanted);
  if (column < 0) {
    const found = header.cells.map((cell) => JSON.stringify(cell.trim().slice(0, 40))).join(', ');
    throw new UsageError(`${file} has no column ${wanted}: its first line holds ${found}`, { hint });
  }
  if (records.length === 0) throw new UsageError(`${file} names no ${one}: nothing follows its header`);
  const cells = records.map(({ line, cells: row }) => ({ line, name: (row[column] ?? '').trim() }));
  refuseEmpty(cells, wanted, file);
  return cells.map((cell) => cell.name);
}

const mostIssuesShown = 20;

function refuseEmpty(
  cells: readonly { readonly line: number; readonly name: string }[],
  column: string,
  file: string,
): void {
  const empty = cells
    .filter((cell) => cell.name === '')
    .map(({ line }) => `line ${line}: the cell of ${column} is empty`);
  if (empty.length === 0) return;
  const more = empty.length - mostIssuesShown;
  const article = /^[aeio]/.test(column) ? 'an' : 'a';
  throw new UsageError(
    `${file} has ${empty.length === 1 ? 'a row' : `${empty.length} rows`} without ${article} ${column}`,
    {
      issues: [...empty.slice(0, mostIssuesShown), ...(more > 0 ? [`and ${more} more`] : [])],
      hint: 'Nothing was started. Fill the cells or delete the lines.',
    },
  );
}

interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

function parseCsv(text: string, name: string): readonly CsvRecord[] {
  try {
    // `info.lines` counts the line on which a record ends, which is the line of its start for all but quoted newlines.
    const records: unknown = parse(text, { info: true, relax_column_count: true, skip_empty_lines: true });
    return (records as ReadonlyArray<{ readonly info: { readonly lines: number }; readonly record: string[] }>).map(
      ({ info, record }) => ({ line: info.lines, cells: record }),
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UsageError(`${name} is not CSV: ${error.message}`, { cause: error });
  }
}
