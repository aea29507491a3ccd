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
import { itemOfRow, itemOfRows, rejectedRows, type PipeEntry } from './items.ts';
import { isListText, type CellFault } from './cells.ts';
import { listFields, pipeFields } from '../core/pipes/fields.ts';
import type { PipeHeader } from './header.ts';
import type { CheckedRow } from './row-check.ts';

export interface FormOptions {
  /** Form from a checkpoint, or as set by the operator. */
  readonly form: FilePosition['form'];
  /** Most rows of one item in the long form. They are held until the item is complete; more end the read. */
  readonly maxSegments: number;
}

interface HeldRow {
  readonly checked: CheckedRow;
  readonly faults: readonly CellFault[];
}

/**
 * Takes checked rows in the order of the file and emits entries in that order. Throws UsageError beyond `maxSegments`.
 */
export class ItemAssembler {
  readonly #header: PipeHeader;
  readonly #options: FormOptions;
  readonly #emit: (entry: PipeEntry) => void;
  #form: FilePosition['form'];
  /** Consecutive rows of one pipe, held while the file may be in the long form. */
  #held: HeldRow[] = [];
  /** Rows without a readable id behind the held rows. They belong to the same pipe if the next row does. */
  #strays: HeldRow[] = [];

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
    if (this.#form === 'undecided' && checked.hasList) this.#decideWide();
    if (this.#form === 'wide') {
      this.#emitAlone(checked, checked.faults);
    } else if (checked.sourceId === undefined) {
      this.#addStray(checked);
    } else {
      this.#hold(checked);
    }
  }

  /** Emits the held rows at the end of the file. */
  end(): void {
    this.#flush();
  }

  #decideWide(): void {
    this.#flush();
    this.#form = 'wide';
  }

  #addStray(checked: CheckedRow): void {
    if (this.#held.length === 0) this.#emitAlone(checked, checked.faults);
    else this.#strays.push({ checked, faults: checked.faults });
    // Too many to be broken rows of one pipe; the flush bounds the memory.
    if (this.#strays.length > this.#options.maxSegments) this.#flush();
  }

  #hold(checked: CheckedRow): void {
    const first = this.#firstGood();
    const isSamePipe = this.#held.length > 0 && isSame(this.#held[0]?.checked, checked);
    const isSameItem =
      isSamePipe && (first === undefined || checked.faults.length > 0 || first.scalars === checked.scalars);
    if (!isSameItem) this.#flush();
    this.#held.push(...this.#strays.splice(0), { checked, faults: this.#longFaults(checked) });
    if (first !== undefined && isSameItem && this.#form === 'undecided' && isNextSegment(first, checked)) {
      this.#form = 'long';
    }
    if (this.#held.length > this.#options.maxSegments) throw this.#tooMany(checked);
  }

  #firstGood(): CheckedRow | undefined {
    return this.#held.find(({ faults }) => faults.length === 0)?.checked;
  }

  #longFaults(checked: CheckedRow): readonly CellFault[] {
    if (this.#form !== 'long' || !checked.hasList) return checked.faults;
    const reason =
      'holds a list in a file of the long form, where a cell is one number: insist on the wide form if it is none';
    const columns = listFields.filter((_, index) => isListText(this.#cell(checked, index)));
    return [...checked.faults, ...columns.map((column) => ({ column, reason }))];
  }

  #cell({ row }: CheckedRow, list: number): string {
    const field = pipeFields.length - listFields.length + list;
    return row.cells[this.#header.columnOf[field] ?? -1] ?? '';
  }

  #flush(): void {
    const held = this.#held.splice(0);
    const strays = this.#strays.splice(0);
    if (held.length === 1 && held[0] !== undefined) this.#emitAlone(held[0].checked, held[0].faults);
    else if (held.length > 1) this.#emitGroup(held);
    for (const { checked, faults } of strays) this.#emitAlone(checked, faults);
  }

  #emitGroup(held: readonly HeldRow[]): void {
    if (this.#form === 'long') {
      this.#emitLong(held);
    } else if (held.every(({ checked }) => checked.faults.length > 0 || !hasNumbers(checked))) {
      for (const { checked, faults } of held) this.#emitAlone(checked, faults);
    } else {
      const reason = `the same row ${held.length} times, and nothing tells whether these are equal segments or a repeated line: insist on the long or on the wide form`;
      this.#rejectAll(held, reason);
    }
  }

  #emitLong(held: readonly HeldRow[]): void {
    const guilty = held.find(({ faults }) => faults.length > 0);
    const gaps = guilty === undefined ? gapFaults(held) : [];
    if (guilty !== undefined) {
      this.#rejectAll(held, `belongs to the pipe of line ${guilty.checked.row.line}, which is rejected`);
    } else if (gaps.length > 0) {
      this.#emit(
        rejectedRows(
          held.map(({ checked }) => ({ row: checked.row, faults: gaps })),
          this.#header,
          this.#form,
        ),
      );
    } else {
      this.#emit(
        itemOfRows(
          held.map(({ checked }) => checked),
          this.#form,
        ),
      );
    }
  }

  #tooMany({ row }: CheckedRow): UsageError {
    const { maxSegments } = this.#options;
    return new UsageError(`line ${row.line}: more than ${maxSegments} rows of one pipe follow each other`, {
      hint: 'Are these segments of one pipe?',
      action: { kind: 'push-wide' },
    });
  }

  /** Rejects the rows: those with faults for their own reasons, the others for `reason`. */
  #rejectAll(held: readonly HeldRow[], reason: string): void {
    const rows = held.map(({ checked, faults }) => ({
      row: checked.row,
      faults: faults.length > 0 ? faults : [{ column: '', reason }],
    }));
    this.#emit(rejectedRows(rows, this.#header, this.#form));
  }

  #emitAlone(checked: CheckedRow, faults: readonly CellFault[]): void {
    if (faults.length === 0) this.#emit(itemOfRow(checked, this.#form));
    else this.#emit(rejectedRows([{ row: checked.row, faults }], this.#header, this.#form));
  }
}

function isSame(left: CheckedRow | undefined, right: CheckedRow): boolean {
  return left?.sourceId === right.sourceId && left?.network === right.network;
}

function hasNumbers({ lists }: CheckedRow): boolean {
  return lists.some((list) => list !== undefined);
}

/** Whether two rows of one pipe differ in their numbers and in nothing else. */
function isNextSegment(first: CheckedRow, next: CheckedRow): boolean {
  if (next.faults.length > 0) return false;
  return listFields.some((_, index) => first.lists[index] !== next.lists[index]);
}

/**
 * Faults of columns with an empty cell between two numbers: the segment without a number could not be identified later.
 */
function gapFaults(held: readonly HeldRow[]): readonly CellFault[] {
  return listFields.flatMap((column, index) => {
    const filled = held.map(({ checked }) => checked.lists[index] !== undefined);
    const gap = filled.indexOf(false, Math.max(0, filled.indexOf(true)));
    if (gap === -1 || !filled.includes(true) || !filled.includes(true, gap)) return [];
    return [
      { column, reason: `is empty on line ${held[gap]?.checked.row.line ?? 0}, between two numbers of the pipe` },
    ];
  });
}
