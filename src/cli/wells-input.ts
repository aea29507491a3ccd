/** Owns which wells a command means: from flags, from a CSV file with the column uwi, or from the configuration. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../core/errors.ts';

export interface Wells {
  /** Distinct, in the order in which they were named first. */
  readonly uwis: readonly string[];
  /** How many more times wells were named that were named before. */
  readonly repeatedCount: number;
}

export interface WellSources {
  readonly uwis: readonly string[];
  /** CSV; `-` is standard input. */
  readonly file: string | undefined;
}

/** Flags win over the configuration as a whole. Throws UsageError where nothing names a well, or a name is empty. */
export async function wellsFrom(flags: WellSources, configured: WellSources, stdin: Readable): Promise<Wells> {
  const sources = isNaming(flags) ? flags : configured;
  if (!isNaming(sources)) {
    throw new UsageError('no wells are named', {
      hint:
        'Name them by --uwi "15/9-F-1 C" (repeatable), by --wells FILE.csv with the column uwi, ' +
        'or by export.wells or export.wellsFile in the configuration.',
    });
  }
  const named = sources.uwis.map((uwi) => uwi.trim());
  if (named.includes('')) throw new UsageError('--uwi is empty', { hint: 'Give the well as --uwi "15/9-F-1 C".' });
  const read = sources.file === undefined ? [] : await readWells(sources.file, stdin);
  const uwis = [...new Set([...named, ...read])];
  return { uwis, repeatedCount: named.length + read.length - uwis.length };
}

function isNaming(sources: WellSources): boolean {
  return sources.uwis.length > 0 || sources.file !== undefined;
}

async function readWells(file: string, stdin: Readable): Promise<readonly string[]> {
  const name = file === '-' ? 'standard input' : file;
  const bytes = file === '-' ? await buffer(stdin) : await readBytes(file);
  return uwisOf(decode(bytes, name), name);
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
    throw new UsageError(`the wells file ${file} cannot be read: ${reason}`, {
      hint: 'Check the path given by --wells or export.wellsFile.',
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

/** The cells of the column uwi, trimmed. Throws UsageError with every empty cell at once, by its line. */
function uwisOf(text: string, name: string): readonly string[] {
  const [header, ...records] = parseCsv(text, name);
  if (header === undefined) throw new UsageError(`${name} is empty`, { hint: headerHint });
  const column = header.cells.findIndex((cell) => cell.trim().toLowerCase() === 'uwi');
  if (column < 0) {
    const found = header.cells.map((cell) => JSON.stringify(cell.trim().slice(0, 40))).join(', ');
    throw new UsageError(`${name} has no column uwi: its first line holds ${found}`, { hint: headerHint });
  }
  if (records.length === 0) throw new UsageError(`${name} names no well: nothing follows its header`);
  const cells = records.map(({ line, cells: row }) => ({ line, uwi: (row[column] ?? '').trim() }));
  refuseEmpty(cells, name);
  return cells.map((cell) => cell.uwi);
}

const headerHint = 'The first line must name the columns, one of them uwi, and every other line a well.';
const mostIssuesShown = 20;

function refuseEmpty(cells: readonly { readonly line: number; readonly uwi: string }[], name: string): void {
  const empty = cells.filter((cell) => cell.uwi === '').map((cell) => `line ${cell.line}: the cell of uwi is empty`);
  if (empty.length === 0) return;
  const more = empty.length - mostIssuesShown;
  throw new UsageError(`${name} has ${empty.length === 1 ? 'a row' : `${empty.length} rows`} without a uwi`, {
    issues: [...empty.slice(0, mostIssuesShown), ...(more > 0 ? [`and ${more} more`] : [])],
    hint: 'Nothing was started. Fill the cells or delete the lines.',
  });
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
