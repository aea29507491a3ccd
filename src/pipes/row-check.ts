import { counted, figure } from '../core/base/text.ts';
import { type ListField, listFields, pipeFields, type PipeLimits, undated, versionOfDate } from '../core/pipes/pipe.ts';
import { type CellFault, type CellResult, isListText, readBoolean, readDate, readNumbers, textJson } from './cells.ts';
import { type PipeHeader, rejectColumns } from './header.ts';
import { type CsvRow, quoteFault, rawText } from './row-parser.ts';

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
