/** Reads a list file: CSV in UTF-8 with a header, from a path or from standard input. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { UsageError } from '../../core/base/errors.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { counted, figure } from '../../core/base/text.ts';
import { openRegularFile } from '../../pipes/regular-file.ts';
import { EmptyListError } from './empty-list.ts';
import { parseList, type ListRecord } from './list-parser.ts';

export interface CsvFile {
  /** Its path, or `standard input`. */
  readonly name: string;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** All column names, as written. */
  readonly header: readonly string[];
  /** Without empty lines; of each only the cells of the columns that were asked for. */
  readonly records: readonly ListRecord[];
}

/** The purpose of a list file, for its error messages. */
export interface CsvUse {
  /** Name of the file: `the wells file`. */
  readonly called: string;
  readonly pathHint: string;
  readonly headerHint: string;
  /** Name of a line: `well`. */
  readonly record: string;
  /** The columns to keep, in lower case; a list may have a hundred times as many cells as memory has room for. */
  readonly columns: readonly string[];
}

/** Limit of the records in a list, which is in memory as a whole: a longer one would end the process (G8). */
export const mostRecords = 150_000;
const maxMegabytes = 16;

/**
 * `file` may be `-` for standard input, if `stdin` is given. Throws UsageError for a file that cannot be read, is too
 * large, is not CSV or has no header.
 */
export async function readCsv(file: string, stdin: Readable | undefined, use: CsvUse): Promise<CsvFile> {
  const isStandardInput = file === '-' && stdin !== undefined;
  const name = isStandardInput ? 'standard input' : file;
  const bytes = await readBytes(file, isStandardInput ? stdin : undefined, use, stdin !== undefined);
  if (bytes === undefined) throw tooLong(name, `${maxMegabytes} MB`);
  const refuseMore = (): never => {
    throw tooLong(name, `${figure(mostRecords)} rows`);
  };
  const { header, records } = parseList(bytes, name, { columns: use.columns, mostRecords, refuseMore });
  if (header === undefined) throw new UsageError(`${name} is empty`, { hint: use.headerHint });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { name, sha256, header, records };
}

export function tooLong(name: string, most: string): UsageError {
  return new UsageError(`${name} is longer than the ${most} that a list may have`, {
    hint: 'Nothing was started. Take it in parts, one after another.',
  });
}

/** A pipe may never begin, so that none is opened by its name: not that of a shell, `<(…)`, either. */
const pipeHint =
  'What another program writes is read from standard input: give - for the file, and pipe it into the command.';

/** Undefined if there are more bytes than a list may have. `mayBePiped`: whether `-` is taken. */
async function readBytes(
  file: string,
  stdin: Readable | undefined,
  { called, pathHint }: CsvUse,
  mayBePiped: boolean,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of stdin ?? (await openRegularFile(file)).createReadStream()) {
      const bytes = Buffer.from(part as Buffer | string);
      length += bytes.length;
      if (length > maxMegabytes * 1024 * 1024) return undefined;
      parts.push(bytes);
    }
    return Buffer.concat(parts);
  } catch (error) {
    const isPipe = ['ENOTREG', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '');
    const hint = isPipe && mayBePiped ? pipeHint : pathHint;
    throw new UsageError(`${called} ${file} cannot be read: ${fileReason(error)}`, { hint, cause: error });
  }
}

const mostIssuesShown = 20;

/**
 * The cells of the one column that was asked for, trimmed. Throws UsageError if it is missing, and with every empty
 * cell at once; EmptyListError if nothing follows the header.
 */
export function columnOf({ name, header, records }: CsvFile, column: string, use: CsvUse): readonly string[] {
  if (!header.some((cell) => cell.trim().toLowerCase() === column)) {
    throw new UsageError(`${name} has no column ${column}: its first line holds ${namesShown(header)}`, {
      hint: use.headerHint,
    });
  }
  if (records.length === 0) throw new EmptyListError(`${name} names no ${use.record}: nothing follows its header`);
  const cells = records.map(({ line, cells: [text = ''] }) => ({ line, text: text.trim() }));
  refuseEmpty(cells, column, name);
  return cells.map(({ text }) => text);
}

const mostNamesShown = 20;

/** Names of columns in a message, in quotes and cut: a file of another kind may have a million. */
export function namesShown(names: readonly string[]): string {
  const shown = names.slice(0, mostNamesShown).map((name) => JSON.stringify(name.trim().slice(0, 40)));
  const more = names.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${figure(more)} more` : ''}`;
}

function refuseEmpty(
  cells: ReadonlyArray<{ readonly line: number; readonly text: string }>,
  column: string,
  name: string,
): void {
  const empty = cells
    .filter(({ text }) => text === '')
    .map(({ line }) => `line ${line}: the cell of ${column} is empty`);
  if (empty.length === 0) return;
  const rows = counted(empty.length, 'row');
  const article = /^[aeio]/.test(column) ? 'an' : 'a';
  throw new UsageError(`${name} has ${rows} without ${article} ${column}`, {
    issues: firstIssues(empty),
    hint: 'Nothing was started. Fill the cells or delete the lines.',
  });
}

/** The first issues, as many as a screen holds, and the number of the others. */
export function firstIssues(issues: readonly string[]): readonly string[] {
  const more = issues.length - mostIssuesShown;
  return [...issues.slice(0, mostIssuesShown), ...(more > 0 ? [`and ${more} more`] : [])];
}
