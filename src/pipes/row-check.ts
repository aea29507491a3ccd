/** Checks the rows of a file of pipes: their cells, and what they say together. */
import { counted, figure, shortened } from '../core/base/text.ts';
import {
  type ListField,
  listFields,
  type NumberLimit,
  pipeFields,
  type PipeLimits,
  undated,
  versionOfDate,
} from '../core/pipes/pipe.ts';
import { type PipeHeader, rejectColumns } from './header.ts';
import { type CsvRow, quoteFault, rawText } from './csv-rows.ts';

/** A checked row. A row with empty `faults` can be sent. */
export interface CheckedRow {
  readonly row: CsvRow;
  /** Undefined when the id is missing, or cannot be found in a broken row. */
  readonly network: string | undefined;
  readonly sourceId: string | undefined;
  readonly upstream: string | undefined;
  readonly downstream: string | undefined;
  /** The version of the pipe that its date names (core/pipes/pipe.ts). */
  readonly version: string;
  /** The six scalar fields as JSON members, without braces. */
  readonly scalars: string;
  /** JSON arrays in the order of `listFields`; undefined = absent. */
  readonly lists: readonly (string | undefined)[];
  /** Whether a list field was written as a list, not as one number. */
  readonly hasList: boolean;
  readonly faults: readonly CellFault[];
  /** Whether its ids and its date can be read: they tell which version of which pipe it is. */
  readonly isKeyed: boolean;
}

/** Fields at the start that are ids and date. */
const keyCount = 3;
const scalarCount = pipeFields.length - listFields.length;
const none: readonly CellFault[] = [];
const noLists: readonly undefined[] = listFields.map(() => undefined);

export class RowChecker {
  readonly #header: PipeHeader;
  readonly #limits: PipeLimits;
  /** Text and JSON of each field's last cell: files repeat values from row to row. */
  readonly #lastText: (string | undefined)[] = pipeFields.map(() => undefined);
  readonly #lastJson: string[] = pipeFields.map(() => '');
  #datedText = '';
  #dated = undated;
  /** Whether a text of the current row needed escapes. */
  #hasEscapes = false;

  constructor(header: PipeHeader, limits: PipeLimits) {
    this.#header = header;
    this.#limits = limits;
  }

  check(row: CsvRow): CheckedRow {
    const structural = this.#structuralFault(row);
    if (structural !== undefined) return this.#unreadable(row, structural);
    const faults: CellFault[] = [];
    const scalars = this.#scalars(row, faults);
    const lists = this.#lists(row, faults);
    // A quote is escaped in a text, and is a fault in any other cell.
    const quoted = faults.length > 0 || this.#hasEscapes ? this.#quoteFault(row) : undefined;
    if (quoted !== undefined) return this.#unreadable(row, quoted);
    const isKeyed = faults.length === 0 || this.#isKeyed(faults);
    return {
      row,
      isKeyed,
      network: this.#cell(row, 0),
      sourceId: this.#cell(row, 1),
      upstream: this.#cell(row, 3),
      downstream: this.#cell(row, 4),
      version: isKeyed ? this.#version(this.#cell(row, 2)) : undated,
      scalars,
      lists,
      hasList: this.#hasList(row),
      faults: faults.length === 0 ? none : faults,
    };
  }

  /** The fault of a row whose cells cannot be checked one by one; undefined when there is none. */
  #structuralFault(row: CsvRow): string | undefined {
    if (row.fault !== undefined) return row.fault;
    const { cells } = this.#header;
    if (row.cells.length !== cells.length) {
      const aside = this.#header.hasRejectColumns ? rejectColumns.length : 0;
      const count = Math.max(0, row.cells.length - aside);
      return this.#quoteFault(row) ?? `has ${counted(count, 'cell')}, the header has ${figure(cells.length - aside)}`;
    }
    if (row.cells[0] === cells[0] && row.cells.every((cell, index) => cell === cells[index])) {
      return 'is the header once more';
    }
    return undefined;
  }

  /** The strict check is slow, so it runs only on rows that hold a quote. */
  #quoteFault(row: CsvRow): string | undefined {
    return row.cells.some((cell) => cell.includes('"')) ? quoteFault(row, this.#header.delimiter) : undefined;
  }

  #cell(row: CsvRow, field: number): string | undefined {
    const text = row.cells[this.#header.columnOf[field] ?? -1];
    return text === '' ? undefined : text;
  }

  #version(date: string | undefined): string {
    if (date === undefined) return undated;
    if (date !== this.#datedText) {
      this.#dated = versionOfDate(date);
      this.#datedText = date;
    }
    return this.#dated;
  }

  #isKeyed(faults: readonly CellFault[]): boolean {
    const names = Array.from({ length: keyCount }, (_, field) => this.#columnName(field));
    return !faults.some(({ column }) => names.includes(column));
  }

  #columnName(field: number): string {
    return this.#header.cells[this.#header.columnOf[field] ?? -1] ?? pipeFields[field] ?? '';
  }

  #scalars(row: CsvRow, faults: CellFault[]): string {
    let members = '';
    this.#hasEscapes = false;
    for (let field = 0; field < scalarCount; field += 1) {
      const text = this.#cell(row, field);
      if (text === undefined && field >= 2) continue;
      const json =
        text !== undefined && text === this.#lastText[field]
          ? this.#lastJson[field]
          : this.#scalar(field, text, faults);
      if (json === undefined) continue;
      members += members === '' ? `"${pipeFields[field] ?? ''}":${json}` : `,"${pipeFields[field] ?? ''}":${json}`;
    }
    return members;
  }

  #scalar(field: number, text: string | undefined, faults: CellFault[]): string | undefined {
    const result = text === undefined ? { reason: 'is missing' } : this.#readScalar(field, text);
    if ('json' in result) return this.#remember(field, text, result.json);
    faults.push({ column: this.#columnName(field), reason: result.reason });
    return undefined;
  }

  /** A text with escapes is not cached: its row is checked for broken quotes. */
  #remember(field: number, text: string | undefined, json: string): string {
    if (this.#hasEscapes) return json;
    this.#lastText[field] = text;
    this.#lastJson[field] = json;
    return json;
  }

  #readScalar(field: number, text: string): CellResult {
    if (pipeFields[field] === 'enabled') return readBoolean(text);
    if (pipeFields[field] === 'date') return readDate(text);
    if (text.includes('\u0000')) return { reason: 'holds a NUL byte' };
    if (field < 2 && text.trim() === '') return { reason: 'is blank' };
    const json = textJson(text);
    this.#hasEscapes ||= json.length > text.length + 2;
    return { json };
  }

  #lists(row: CsvRow, faults: CellFault[]): (string | undefined)[] {
    const lists: (string | undefined)[] = [];
    for (let index = 0; index < listFields.length; index += 1) {
      const text = this.#cell(row, scalarCount + index);
      const name = listFields[index];
      lists.push(
        text === undefined || name === undefined ? undefined : this.#list(name, scalarCount + index, text, faults),
      );
    }
    return lists;
  }

  #list(name: ListField, field: number, text: string, faults: CellFault[]): string | undefined {
    if (text === this.#lastText[field]) return this.#lastJson[field];
    const result = readNumbers(text, this.#limits[name]);
    if (typeof result === 'string') return this.#remember(field, text, result);
    for (const reason of result) faults.push({ column: this.#columnName(field), reason });
    return undefined;
  }

  #hasList(row: CsvRow): boolean {
    for (let field = scalarCount; field < pipeFields.length; field += 1) {
      if (isListText(this.#cell(row, field) ?? '')) return true;
    }
    return false;
  }

  /** Takes the ids as they appear: in the long form they tell to which pipe the row would have belonged. */
  #unreadable(row: CsvRow, reason: string): CheckedRow {
    const cells = row.fault === undefined ? row.cells : rawText(row).split(this.#header.delimiter);
    const id = (field: number): string | undefined => cells[this.#header.columnOf[field] ?? -1] || undefined;
    return {
      row,
      isKeyed: false,
      network: id(0),
      sourceId: id(1),
      upstream: undefined,
      downstream: undefined,
      version: undated,
      scalars: '',
      lists: noLists,
      hasList: false,
      faults: [{ column: '', reason }],
    };
  }
}

// Parsers for the text of one cell: text in, JSON text or a reason out. A number that is valid JSON is never parsed and
// printed again, so every digit is sent as it was written.

/** Fault of a cell. `column` is the name in the header; empty when the whole row is at fault. */
export interface CellFault {
  readonly column: string;
  readonly reason: string;
}

/** JSON text of a cell, or the reason why it has none. */
type CellResult = { readonly json: string } | { readonly reason: string };

const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const jsonNumber = new RegExp(`^${number}$`);
/** White space by the rules of JSON; a no-break space is not. */
const blank = String.raw`[ \t\r\n]*`;
const jsonNumbers = new RegExp(String.raw`^\[${blank}${number}(?:${blank},${blank}${number})*${blank}\]$`);
const jsonEmpty = /^\[[ \t\r\n]*\]$/;
const looseNumber = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eE][+-]?\d+)?)$/;
// eslint-disable-next-line no-control-regex -- control characters are what JSON wants escaped
const plainText = /^[^"\\\u0000-\u001f]*$/;
/** Length up to which a number without an exponent fits a double. */
const plainDigits = 300;

/** The text, unchanged, as a JSON string. */
function textJson(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A text for a message: quoted, cut to 40 characters, on one line. */
function shown(text: string): string {
  return JSON.stringify(shortened(text, 40));
}

/** Accepts `true` and `false` in any case, and the 1 and 0 that databases write. */
function readBoolean(text: string): CellResult {
  const value = text.trim().toLowerCase();
  if (value === 'true' || value === '1') return { json: 'true' };
  if (value === 'false' || value === '0') return { json: 'false' };
  return { reason: `${shown(text)} is neither true nor false` };
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-](\d\d)(?::?(\d\d))?)?$/;

/**
 * Accepts an ISO date-time that exists in the calendar, with or without an offset (`Z`, `+01:00`, `+0100`, `+01`), as
 * for other dates of the service. Keeps its text.
 */
export function readDate(text: string): CellResult {
  const match = dateTime.exec(text);
  if (match === null) return { reason: `${shown(text)} is not an ISO date-time such as 2024-03-01T00:00:00Z` };
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = match
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0));
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month);
  const isTime = hour <= 23 && minute <= 59 && second <= 59 && zoneHour <= 23 && zoneMinute <= 59;
  return isDay && isTime ? { json: `"${text}"` } : { reason: `${shown(text)} is not in the calendar` };
}

function daysOfMonth(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (isLeapYear ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Whether the cell of a list field holds a JSON array or a list with `;`. A row of the long form never does. */
export function isListText(text: string): boolean {
  return text.includes('[') || text.includes(';');
}

/** Count of the numbers in a JSON array that `readNumbers` returned. */
export function countNumbers(json: string): number {
  if (json === '[]') return 0;
  let count = 1;
  for (let comma = json.indexOf(','); comma !== -1; comma = json.indexOf(',', comma + 1)) count += 1;
  return count;
}

/**
 * The cell of a list field as a JSON array: from a JSON array, from numbers separated by `;`, or from one number.
 * Otherwise every reason why it is not one. `cell` is not empty: an empty cell is an absent field.
 */
function readNumbers(cell: string, limit: NumberLimit | undefined): string | readonly string[] {
  const text = cell.trim();
  if (text.startsWith('[')) return readArray(text, limit);
  return readParts(text.includes(';') ? text.split(';') : [text], limit);
}

/** Valid text is returned as it is, which is fast; invalid text is parsed again for exact reasons. */
function readArray(text: string, limit: NumberLimit | undefined): string | readonly string[] {
  if (jsonNumbers.test(text)) {
    return isBounded(text, limit) ? (reasonsOf(text.slice(1, -1).split(','), limit) ?? text) : text;
  }
  if (jsonEmpty.test(text)) return '[]';
  if (!text.endsWith(']')) return [`${shown(text)} is a list without its closing bracket`];
  const parts = text.slice(1, -1).split(',');
  return parts.flatMap((part, index) => withOrdinal(faultOfJsonElement(part.trim()), index, parts.length));
}

/**
 * Whether the values must be checked. Without a limit only an exponent or a great length makes a number too large for a
 * double.
 */
function isBounded(text: string, limit: NumberLimit | undefined): boolean {
  return limit !== undefined || text.includes('e') || text.includes('E') || text.length > plainDigits;
}

function faultOfJsonElement(text: string): string | undefined {
  return jsonNumber.test(text) ? undefined : text === '' ? 'is empty' : `${shown(text)} is not a JSON number`;
}

function readParts(parts: readonly string[], limit: NumberLimit | undefined): string | readonly string[] {
  const results = parts.map((part) => readNumber(part.trim()));
  const faults = results.flatMap((result, index) =>
    'reason' in result ? withOrdinal(result.reason, index, parts.length) : [],
  );
  if (faults.length > 0) return faults;
  const numbers = results.map((result) => ('json' in result ? result.json : ''));
  return reasonsOf(numbers, limit) ?? `[${numbers.join(',')}]`;
}

/**
 * Keeps JSON numbers as they are. Accepts other forms only when a plus sign or a trailing point is dropped, or a zero
 * is added before the point (`+5`, `5.`, `.5`), so that no digit changes. Refuses the rest, since its meaning would be
 * a guess.
 */
function readNumber(text: string): CellResult {
  if (jsonNumber.test(text)) return { json: text };
  if (text === '') return { reason: 'is empty' };
  const match = looseNumber.exec(text);
  if (match === null) return { reason: `${shown(text)} is not a number${commaHint(text)}` };
  const [, sign, whole = '', fraction = '', exponent = ''] = match;
  if (whole === '' && fraction === '') return { reason: `${shown(text)} is not a number` };
  if (/^0\d/.test(whole)) return { reason: `${shown(text)} has leading zeros` };
  const json = `${sign === '-' ? '-' : ''}${whole || '0'}${fraction === '' ? '' : `.${fraction}`}${exponent}`;
  return { json };
}

function commaHint(text: string): string {
  return /^[+-]?\d+,\d+$/.test(text) ? ': write a decimal point' : '';
}

/**
 * Reasons for the numbers beyond the limits or beyond a double; undefined when there are none. `numbers` are valid
 * JSON.
 */
function reasonsOf(numbers: readonly string[], limit: NumberLimit | undefined): string[] | undefined {
  let reasons: string[] | undefined;
  for (let index = 0; index < numbers.length; index += 1) {
    const text = numbers[index] ?? '';
    const reason = beyondLimit(text, Number(text), limit);
    if (reason !== undefined) (reasons ??= []).push(...withOrdinal(reason, index, numbers.length));
  }
  return reasons;
}

function beyondLimit(text: string, value: number, limit: NumberLimit | undefined): string | undefined {
  if (!Number.isFinite(value)) return `${shown(text.trim())} is too large for a number`;
  if (limit === undefined) return undefined;
  if (limit.min !== undefined && value < limit.min) return `${text.trim()} is below ${limit.min}`;
  if (limit.max !== undefined && value > limit.max) return `${text.trim()} is above ${limit.max}`;
  if (limit.above !== undefined && value <= limit.above) return `${text.trim()} is not above ${limit.above}`;
  return undefined;
}

function withOrdinal(reason: string | undefined, index: number, count: number): string[] {
  if (reason === undefined) return [];
  return [count === 1 ? reason : `element ${index + 1} ${reason}`];
}
