/**
 * Assembles rows into items: one row in the wide form, consecutive rows of one pipe in the long form. Recognises which
 * of the two forms a file has (docs/decisions/0004-pipes-long-form.md).
 *
 *   undecided --(a list cell)--------------------------------------> wide
 *   undecided --(two rows of one pipe: numbers differ, rest equal)--> long
 *
 * While the form is undecided, every row means the same in both forms, so no item is ever taken back.
 */
import { UsageError } from '../core/base/errors.ts';
import type { FilePosition } from '../core/pipes/chunk-cutter.ts';
import { listFields, pipeFields, type PipeKey } from '../core/pipes/pipe.ts';
import { itemOfRow, itemOfRows, rejectedRows, type PipeEntry } from './items.ts';
import { isListText, type CellFault } from './cells.ts';
import type { PipeHeader } from './header.ts';
import type { CheckedRow } from './row-check.ts';

export interface FormOptions {
  /** Form from a checkpoint, or as set by the operator. */
  readonly form: FilePosition['form'];
  /** Most rows of one item in the long form. They wait until the item is complete; more end the read. */
  readonly maxSegments: number;
}

/**
 * Takes checked rows in the order of the file and emits entries in that order. Throws UsageError beyond `maxSegments`.
 */
export class ItemAssembler {
  readonly #header: PipeHeader;
  readonly #options: FormOptions;
  readonly #emit: (entry: PipeEntry) => void;
  #form: FilePosition['form'];
  /** Consecutive rows of one pipe, kept while the file may be in the long form. */
  #pending: CheckedRow[] = [];
  /** Rows without a readable id behind them, which belong to the same pipe if the next row does. */
  #strays: CheckedRow[] = [];

  constructor(header: PipeHeader, options: FormOptions, emit: (entry: PipeEntry) => void) {
    this.#header = header;
    this.#options = options;
    this.#emit = emit;
    this.#form = options.form;
  }

  get form(): FilePosition['form'] {
    return this.#form;
  }

  add(checked: CheckedRow): void {
    if (this.#form === 'undecided' && checked.hasList) {
      this.end();
      this.#form = 'wide';
    }
    if (this.#form === 'wide') this.#emitAlone(checked);
    else if (checked.sourceId === undefined) this.#addStray(checked);
    else this.#addPending(checked);
  }

  /** Emits the rows that wait; also at the end of the file. */
  end(): void {
    const pending = this.#pending.splice(0);
    const strays = this.#strays.splice(0);
    if (pending.length === 1 && pending[0] !== undefined) this.#emitAlone(pending[0]);
    else if (pending.length > 1) this.#emitGroup(pending);
    for (const stray of strays) this.#emitAlone(stray);
  }

  #addStray(checked: CheckedRow): void {
    if (this.#pending.length === 0) this.#emitAlone(checked);
    else this.#strays.push(checked);
    // Too many to be broken rows of one pipe: this bounds the memory.
    if (this.#strays.length > this.#options.maxSegments) this.end();
  }

  #addPending(checked: CheckedRow): void {
    const first = this.#pending.find(isGood);
    const isSamePipe = this.#pending.length > 0 && isSame(this.#pending[0], checked);
    const isSameItem = isSamePipe && (first === undefined || !isGood(checked) || first.scalars === checked.scalars);
    if (!isSameItem) this.end();
    this.#pending.push(...this.#strays.splice(0), this.#asSegment(checked));
    if (first !== undefined && isSameItem && this.#form === 'undecided' && isNextSegment(first, checked)) {
      this.#form = 'long';
    }
    if (this.#pending.length > this.#options.maxSegments) throw this.#tooMany(checked);
  }

  /** The row with a fault for each list, which no cell of the long form holds. */
  #asSegment(checked: CheckedRow): CheckedRow {
    if (this.#form !== 'long' || !checked.hasList) return checked;
    const reason =
      'holds a list in a file of the long form, where a cell is one number: insist on the wide form if it is none';
    const columns = listFields.filter((_, index) => isListText(this.#cell(checked, index)));
    return { ...checked, faults: [...checked.faults, ...columns.map((column) => ({ column, reason }))] };
  }

  #cell({ row }: CheckedRow, list: number): string {
    const field = pipeFields.length - listFields.length + list;
    return row.cells[this.#header.columnOf[field] ?? -1] ?? '';
  }

  #emitGroup(rows: readonly CheckedRow[]): void {
    if (this.#form === 'long') this.#emitLong(rows);
    else if (rows.every((checked) => !isGood(checked) || !hasNumbers(checked))) {
      for (const checked of rows) this.#emitAlone(checked);
    } else {
      const reason = `the same row ${rows.length} times, and nothing tells whether these are equal segments or a repeated line: insist on the long or on the wide form`;
      this.#rejectAll(rows, reason);
    }
  }

  #emitLong(rows: readonly CheckedRow[]): void {
    const guilty = rows.find((checked) => !isGood(checked));
    const gaps = guilty === undefined ? gapFaults(rows) : [];
    if (guilty !== undefined) {
      this.#rejectAll(rows, `belongs to the pipe of line ${guilty.row.line}, which is rejected`);
    } else if (gaps.length > 0) {
      this.#reject(
        rows.map(({ row }) => ({ row, faults: gaps })),
        keyOf(rows),
      );
    } else this.#emit(itemOfRows(rows, this.#form));
  }

  #tooMany({ row }: CheckedRow): UsageError {
    const { maxSegments } = this.#options;
    return new UsageError(`line ${row.line}: more than ${maxSegments} rows of one pipe follow each other`, {
      hint: 'Are these segments of one pipe?',
      action: { kind: 'push-wide' },
    });
  }

  /** Rejects the rows: those with faults for their own reasons, the others for `reason`. */
  #rejectAll(rows: readonly CheckedRow[], reason: string): void {
    this.#reject(
      rows.map(({ row, faults }) => ({ row, faults: faults.length > 0 ? faults : [{ column: '', reason }] })),
      keyOf(rows),
    );
  }

  #emitAlone(checked: CheckedRow): void {
    if (isGood(checked)) this.#emit(itemOfRow(checked, this.#form));
    else this.#reject([checked], keyOf([checked]));
  }

  #reject(rows: ReadonlyArray<Pick<CheckedRow, 'row' | 'faults'>>, key: PipeKey | undefined): void {
    this.#emit(rejectedRows(rows, this.#header, this.#form, key));
  }
}

/** Of rows of one pipe. */
function keyOf(rows: readonly CheckedRow[]): PipeKey | undefined {
  const keyed = rows.find(({ isKeyed }) => isKeyed);
  if (keyed?.network === undefined || keyed.sourceId === undefined) return undefined;
  return { network: keyed.network, sourceId: keyed.sourceId, version: keyed.version };
}

function isGood({ faults }: CheckedRow): boolean {
  return faults.length === 0;
}

function isSame(left: CheckedRow | undefined, right: CheckedRow): boolean {
  return left?.sourceId === right.sourceId && left?.network === right.network;
}

function hasNumbers({ lists }: CheckedRow): boolean {
  return lists.some((list) => list !== undefined);
}

/** Whether two rows of one pipe differ in their numbers and in nothing else. */
function isNextSegment(first: CheckedRow, next: CheckedRow): boolean {
  return isGood(next) && listFields.some((_, index) => first.lists[index] !== next.lists[index]);
}

/**
 * Faults of columns with an empty cell between two numbers: the segment without a number could not be identified later.
 */
function gapFaults(rows: readonly CheckedRow[]): readonly CellFault[] {
  return listFields.flatMap((column, index) => {
    const filled = rows.map(({ lists }) => lists[index] !== undefined);
    const gap = filled.indexOf(false, Math.max(0, filled.indexOf(true)));
    if (gap === -1 || !filled.includes(true) || !filled.includes(true, gap)) return [];
    return [{ column, reason: `is empty on line ${rows[gap]?.row.line ?? 0}, between two numbers of the pipe` }];
  });
}
