/**
 * Room for the rows of a window that is read. It is used again for other windows: a new array is zeroed, its memory is new to
 * the process, and what lies outside V8's heap is freed late and makes it collect more often. An export of 365,200 rows took
 * 5 % more CPU with new arrays for each window.
 */
import { type FieldKind, measureFields, xidBytes } from './row.ts';

function fieldsOf(kind: FieldKind): typeof measureFields {
  return measureFields.filter((field) => field.kind === kind);
}

/** The number of each measure field among those of its kind: its column in a block. */
export const columnOf: readonly number[] = measureFields.map((field) => fieldsOf(field.kind).indexOf(field));

type Texts = Array<string | null>;

const columnCounts = {
  double: fieldsOf('double').length,
  int32: fieldsOf('int32').length,
  boolean: fieldsOf('boolean').length,
};
const noTexts = (): readonly Texts[] => fieldsOf('string').map(() => []);

/** Values by row and column; xids have 16 bytes a row. */
const arrayNames = ['instantsMs', 'days', 'defaulted', 'doubles', 'int32s', 'booleans', 'nulls'] as const;

/**
 * Room for `capacity` rows, with the values of earlier ones. The columns of one kind share an array, so that a window of few
 * rows costs few of them: the value of a row in the n-th column of its kind is at `n * capacity + row`.
 */
export class RowBlock {
  readonly capacity: number;
  readonly xids: Uint8Array;
  readonly instantsMs: Float64Array;
  readonly days: Int32Array;
  readonly doubles: Float64Array;
  readonly int32s: Int32Array;
  readonly booleans: Uint8Array;
  /** They have no capacity of their own: a larger block takes them over. */
  texts = noTexts();
  /** 1 for null, at `position of the measure field * capacity + row`. */
  readonly nulls: Uint8Array;
  /** 1 for a row in which an absent required number took its documented default. */
  readonly defaulted: Uint8Array;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.xids = new Uint8Array(capacity * xidBytes);
    this.instantsMs = new Float64Array(capacity);
    this.days = new Int32Array(capacity);
    this.doubles = new Float64Array(capacity * columnCounts.double);
    this.int32s = new Int32Array(capacity * columnCounts.int32);
    this.booleans = new Uint8Array(capacity * columnCounts.boolean);
    this.nulls = new Uint8Array(capacity * measureFields.length);
    this.defaulted = new Uint8Array(capacity);
  }

  /** Takes the first `count` rows of another block, and all its texts. */
  takeOver(other: RowBlock, count: number): void {
    this.xids.set(other.xids.subarray(0, count * xidBytes));
    for (const name of arrayNames) {
      const values = other[name];
      for (let from = 0, to = 0; from < values.length; from += other.capacity, to += this.capacity) {
        this[name].set(values.subarray(from, from + count), to);
      }
    }
    [this.texts, other.texts] = [other.texts, this.texts];
  }

  /** Writes the row of one place to another place as well. */
  copyRow(from: number, to: number): void {
    this.moveRows(from, to, 1);
  }

  /** Writes `count` rows from one place on to the places from another on. */
  moveRows(from: number, to: number, count: number): void {
    if (from === to) return;
    this.xids.copyWithin(to * xidBytes, from * xidBytes, (from + count) * xidBytes);
    for (const name of arrayNames) {
      const values = this[name];
      for (let at = 0; at < values.length; at += this.capacity)
        values.copyWithin(at + to, at + from, at + from + count);
    }
    for (const texts of this.texts) {
      for (let row = 0; row < count; row += 1) texts[to + row] = texts[from + row] ?? null;
    }
  }
}

/** The blocks of all windows of a process, used and unused. */
export class RowBlocks {
  readonly #mostSpareRows: () => number;
  /** By their capacity. */
  readonly #spare = new Map<number, RowBlock[]>();
  #spareRows = 0;
  readonly #blocksOfRows = new WeakMap<object, RowBlock>();

  /**
   * `mostSpareRows`: rows that unused blocks may have room for (G8), asked for when a block is taken or given back. By default
   * none is kept.
   */
  constructor(mostSpareRows: () => number = () => 0) {
    this.#mostSpareRows = mostSpareRows;
  }

  /** A block for `rows` rows: it has room for an eighth more at the most. */
  take(rows: number): RowBlock {
    const capacity = capacityFor(rows);
    const block = this.#spare.get(capacity)?.pop();
    if (block !== undefined) this.#spareRows -= capacity;
    this.#limitSpare(0);
    return block ?? new RowBlock(capacity);
  }

  /** No part of the block may be read any more. */
  giveBack(block: RowBlock): void {
    const { capacity } = block;
    this.#limitSpare(capacity);
    if (this.#spareRows + capacity > this.#mostSpareRows()) return;
    // An unused block holds no texts.
    block.texts = noTexts();
    const spare = this.#spare.get(capacity);
    if (spare === undefined) this.#spare.set(capacity, [block]);
    else spare.push(block);
    this.#spareRows += capacity;
  }

  /** Notes that `rows` are views of a block. */
  keepBlock(rows: object, block: RowBlock): void {
    this.#blocksOfRows.set(rows, block);
  }

  /** Gives back the block of rows that were noted. They may not be read any more. A second call does nothing. */
  release(rows: object): void {
    const block = this.#blocksOfRows.get(rows);
    if (block === undefined) return;
    this.#blocksOfRows.delete(rows);
    this.giveBack(block);
  }

  /** Drops unused blocks until there is room for `rows` more. */
  #limitSpare(rows: number): void {
    const mostRows = this.#mostSpareRows() - rows;
    for (const [capacity, blocks] of this.#spare) {
      while (this.#spareRows > mostRows && blocks.pop() !== undefined) this.#spareRows -= capacity;
    }
  }
}

/** Few capacities, so that a block fits many windows: eight between a power of two and the next. */
function capacityFor(rows: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, rows))) - 3);
  return Math.ceil(rows / step) * step;
}
