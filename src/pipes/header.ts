import { UsageError } from '../core/base/errors.ts';
import { nearestName, firstNames } from '../core/base/text.ts';
import { type PipeField, pipeFields } from '../core/pipes/pipe.ts';
import { type CsvRow, rawText } from './csv-rows.ts';

/**
 * First three columns of a rejects file. The reader skips them, so that a corrected rejects file can be pushed as it
 * is.
 */
export const rejectColumns = ['reject_line', 'reject_column', 'reject_reason'] as const;

export interface HeaderOptions {
  readonly delimiter: string;
  /** Other names of fields, in any case: `{ network: 'sourceNetworkId' }`. */
  readonly aliases?: Readonly<Record<string, PipeField>>;
  readonly ignoreUnknownColumns?: boolean;
}

export interface PipeHeader {
  /** Column names as written in the file. */
  readonly cells: readonly string[];
  /** The header line without byte order mark, line end and reject columns: the header of a rejects file. */
  readonly raw: string;
  readonly delimiter: string;
  /** Index of the column of each of `pipeFields`, or -1. */
  readonly columnOf: readonly number[];
  /** Fields without a column: absent in every item. */
  readonly missing: readonly PipeField[];
  /** Unknown columns, ignored on request. */
  readonly ignored: readonly string[];
  /** Whether the file is a rejects file. */
  readonly hasRejectColumns: boolean;
}

/** Reads the first row as the header. Throws UsageError with all its faults. */
export function readHeader(row: CsvRow, options: HeaderOptions, name: string): PipeHeader {
  if (row.fault !== undefined) throw brokenHeader(row, name);
  const names = row.cells.map((cell) => cell.trim().toLowerCase());
  const hasRejectColumns = rejectColumns.every((column, index) => names[index] === column);
  const fieldOf = fieldNames(options.aliases ?? {});
  const fields = names.map((column, index) =>
    hasRejectColumns && index < rejectColumns.length ? 'reject' : fieldOf.get(column),
  );
  if (hasLoneReturn(row) || fields.every((field) => field === undefined)) throw noHeader(row, name, options.delimiter);

  const unknown = row.cells.filter((_, index) => fields[index] === undefined);
  const faults = [
    ...doubledFaults(fields),
    ...(['sourceNetworkId', 'sourceId'] as const)
      .filter((field) => !fields.includes(field))
      .map((field) => `there is no column ${field}`),
    ...(options.ignoreUnknownColumns === true || unknown.length === 0
      ? []
      : [`unknown ${unknown.length === 1 ? 'column' : 'columns'}: ${firstNames(unknown, unknownName)}`]),
  ];
  if (faults.length > 0) throw badHeader(faults, name, unknown.length > 0);
  return {
    cells: row.cells,
    raw: withoutRejectCells(rawText(row), options.delimiter, hasRejectColumns),
    delimiter: options.delimiter,
    columnOf: pipeFields.map((field) => fields.indexOf(field)),
    missing: pipeFields.filter((field) => !fields.includes(field)),
    ignored: unknown,
    hasRejectColumns,
  };
}

/** A row of a rejects file without its first three cells: the original cells, byte for byte. */
export function withoutRejectCells(raw: string, delimiter: string, hasRejectColumns: boolean): string {
  if (!hasRejectColumns) return raw;
  const between = `\\u${delimiter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const cell = `(?:"(?:[^"]|"")*"|[^"]*?)`;
  return raw.replace(new RegExp(`^(?:${cell}${between}){${rejectColumns.length}}`), '');
}

const longestNameShown = 40;

function unknownName(name: string): string {
  const cell = name.slice(0, longestNameShown);
  if (cell === '') return '(without a name)';
  const meant = nearestName(cell.trim().toLowerCase(), [...fieldNames({}).keys()]);
  return meant === undefined ? cell : `${cell} (${fieldNames({}).get(meant) ?? meant}?)`;
}

function fieldNames(aliases: Readonly<Record<string, PipeField>>): ReadonlyMap<string, PipeField> {
  return new Map([
    ...pipeFields.map((field) => [field.toLowerCase(), field] as const),
    ...Object.entries(aliases).map(([alias, field]) => [alias.trim().toLowerCase(), field] as const),
  ]);
}

function doubledFaults(fields: readonly (PipeField | 'reject' | undefined)[]): readonly string[] {
  return pipeFields
    .filter((field) => fields.indexOf(field) !== fields.lastIndexOf(field))
    .map((field) => `the column ${field} stands there twice`);
}

/** Lines that end with a lone carriage return, as in old Macintosh files: the whole file is then one line. */
function hasLoneReturn(row: CsvRow): boolean {
  return /\r(?!\n)/.test(rawText(row));
}

function brokenHeader({ line, fault }: CsvRow, name: string): UsageError {
  return new UsageError(`the header of ${name} cannot be read: line ${line}: ${fault ?? ''}`, {
    hint: 'Close the quote, or take it away.',
  });
}

function noHeader(row: CsvRow, name: string, delimiter: string): UsageError {
  const other = [';', '\t', '|', ','].find((candidate) => candidate !== delimiter && rawText(row).includes(candidate));
  if (hasLoneReturn(row)) {
    return new UsageError(`${name} has no header`, {
      hint: 'Its lines end with a lone carriage return: save it with LF or CRLF.',
    });
  }
  if (row.cells.length === 1 && other !== undefined) {
    return new UsageError(`${name} has no header`, {
      hint: `Is the delimiter ${JSON.stringify(other)}?`,
      action: { kind: 'name-delimiter', delimiter: other },
    });
  }
  return new UsageError(
    `${name} has no header of pipes: its first line is ${JSON.stringify(rawText(row).slice(0, 80))}`,
    {
      hint: `That line must name the columns: ${pipeFields.join(', ')}.`,
    },
  );
}

function badHeader(issues: readonly string[], name: string, hasUnknown: boolean): UsageError {
  return new UsageError(`the header of ${name} is not right: ${issues.join('; ')}`, {
    hint: 'Fix the header, or name an alias in the configuration (push.aliases).',
    ...(hasUnknown ? { action: { kind: 'ignore-unknown-columns' } } : {}),
  });
}
