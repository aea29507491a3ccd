/** A pushed CSV as the service should get it: its rows, those that break its rules, and the last row of each pipe. */
import type { RecordBody } from '../evidence.ts';
import { objectOf } from './tables.ts';

const scalarFields = ['sourceNetworkId', 'sourceId', 'date', 'upstreamSourceId', 'downstreamSourceId', 'enabled'];
const listFields = ['length', 'trueVerticalDepth', 'innerDiameter', 'roughness'];
const rejectColumns = ['reject_line', 'reject_column', 'reject_reason'];

/** A row that can be sent. */
export interface PipeRow {
  /** Network and source id. */
  readonly pipe: string;
  readonly sourceId: string;
  /** The instant that the date names, or its text where no zone is named; empty without a date. */
  readonly version: string;
  readonly body: RecordBody;
}

export interface PipesFile {
  readonly rows: readonly PipeRow[];
  /** Data rows that break the rules of the file. */
  readonly broken: number;
  /** Whether each row is a pipe of its own for sure: not so in the long form, where rows are segments. */
  readonly isWide: boolean;
}

/** Network and source id as one text. */
export function pipeOf(body: RecordBody): string {
  return `${String(body['sourceNetworkId'])}\0${String(body['sourceId'])}`;
}

/** The version of a pipe that a date names: two texts of one instant are one. */
export function versionOf(date: unknown): string {
  if (typeof date !== 'string') return '';
  const hasOffset = /(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(date.slice(10));
  const ms = Date.parse(date);
  return hasOffset && !Number.isNaN(ms) ? new Date(ms).toISOString() : date;
}

/** Reads a file by the parameters of its push (`reading`). */
export function pipesFileOf(text: string, reading: Readonly<Record<string, unknown>>): PipesFile {
  const delimiter = typeof reading['delimiter'] === 'string' ? reading['delimiter'] : ',';
  const [header = [], ...lines] = cellsOf(text.replace(/^\uFEFF/, ''), delimiter);
  const names = header.map((name) => name.trim().toLowerCase());
  const skipped = rejectColumns.every((name, index) => names[index] === name) ? rejectColumns.length : 0;
  const columns = new Map(
    [...scalarFields, ...listFields].map((field) => [field, names.indexOf(field.toLowerCase(), skipped)] as const),
  );
  const limits = objectOf(reading['limits']);
  const read = lines.map((cells) => {
    const isHeader = cells.length === header.length && cells.every((cell, index) => cell === header[index]);
    return cells.length === header.length && !isHeader ? rowOf(cells, columns, limits) : undefined;
  });
  const rows = read.filter((row) => row !== undefined);
  return { rows, broken: read.length - rows.length, isWide: reading['form'] === 'wide' || isWide(lines, columns) };
}

/** A list in the first row decides; without one, no two rows in a row may be of one pipe. */
function isWide(lines: readonly (readonly string[])[], columns: ReadonlyMap<string, number>): boolean {
  const cell = (cells: readonly string[], field: string): string => cells[columns.get(field) ?? -1] ?? '';
  const hasList = (cells: readonly string[]): boolean => listFields.some((field) => /[[;]/.test(cell(cells, field)));
  const [first] = lines;
  if (first !== undefined && hasList(first)) return true;
  return lines.every((cells, index) => {
    const before = lines[index - 1];
    return before === undefined || cell(before, 'sourceId') !== cell(cells, 'sourceId');
  });
}

/** RFC 4180; lines without any character are no rows. */
function cellsOf(text: string, delimiter: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endRow = (): void => {
    cells.push(cell);
    if (cells.length > 1 || cell !== '') rows.push(cells);
    [cells, cell] = [[], ''];
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (isQuoted && char === '"' && text[at + 1] === '"') {
      cell += char;
      at += 1;
    } else if (char === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted;
    else if (isQuoted) cell += char;
    else if (char === delimiter) {
      cells.push(cell);
      cell = '';
    } else if (char === '\n') endRow();
    else if (char !== '\r') cell += char;
  }
  endRow();
  return rows;
}

/** Undefined for a row that breaks a rule. */
function rowOf(
  cells: readonly string[],
  columns: ReadonlyMap<string, number>,
  limits: Readonly<Record<string, unknown>>,
): PipeRow | undefined {
  const body: Record<string, unknown> = {};
  for (const [field, column] of columns) {
    const text = cells[column] ?? '';
    if (text === '' && field !== 'sourceNetworkId' && field !== 'sourceId') continue;
    const value = listFields.includes(field) ? numbersOf(text, objectOf(limits[field])) : scalarOf(field, text);
    if (value === undefined) return undefined;
    body[field] = value;
  }
  return { pipe: pipeOf(body), sourceId: String(body['sourceId']), version: versionOf(body['date']), body };
}

function scalarOf(field: string, text: string): unknown {
  if (text.includes('\0')) return undefined;
  if (field === 'enabled') {
    const value = text.trim().toLowerCase();
    return ['true', '1'].includes(value) ? true : ['false', '0'].includes(value) ? false : undefined;
  }
  if (field === 'date') return isDate(text) ? text : undefined;
  return field.startsWith('source') && text.trim() === '' ? undefined : text;
}

const dateTime = /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-](\d\d)(?::?(\d\d))?)?$/;

function isDate(text: string): boolean {
  const match = dateTime.exec(text);
  if (match === null) return false;
  const [, day = '', ...parts] = match;
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts.map((part: string | undefined) =>
    Number(part ?? 0),
  );
  const ms = Date.parse(`${day}T00:00:00Z`);
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
  return isDay && hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
}

const looseNumber = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A JSON array, numbers with `;` between, or one number. */
function numbersOf(text: string, limit: Readonly<Record<string, unknown>>): readonly number[] | undefined {
  const trimmed = text.trim();
  const inner = /^\[(.*)\]$/s.exec(trimmed)?.[1];
  if (inner?.trim() === '') return [];
  const parts = (inner ?? trimmed).split(inner === undefined ? ';' : ',').map((part) => part.trim());
  if (!parts.every((part) => looseNumber.test(part))) return undefined;
  const numbers = parts.map(Number);
  return numbers.every((value) => Number.isFinite(value) && isWithin(value, limit)) ? numbers : undefined;
}

function isWithin(value: number, { min, max, above }: Readonly<Record<string, unknown>>): boolean {
  const isAbove = typeof above !== 'number' || value > above;
  return isAbove && (typeof min !== 'number' || value >= min) && (typeof max !== 'number' || value <= max);
}
