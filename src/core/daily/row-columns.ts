/**
 * The rows of one window by columns: typed arrays that a warehouse copies by slices, without an object a row. About 330
 * bytes a row (G8).
 */
import { type DailyProductionRow, type FieldKind, measureFields, readXid, xidBytes } from './row.ts';

/** One byte a row, 1 for null; undefined for a column without nulls. */
type Nulls = Uint8Array | undefined;

/** Values of one measure field by row; under a null they mean nothing. */
export type MeasureColumn =
  | { readonly kind: 'double'; readonly values: Float64Array; readonly nulls: Nulls }
  | { readonly kind: 'int32'; readonly values: Int32Array; readonly nulls: Nulls }
  | { readonly kind: 'boolean'; readonly values: Uint8Array; readonly nulls: Nulls }
  | { readonly kind: 'string'; readonly values: ReadonlyArray<string | null> };

/** Checked rows, in no order. No number is -0: DuckDB's compression keeps one of 0 and -0 for both. */
export interface RowColumns {
  readonly length: number;
  /** 16 bytes a row, in the order in which a UUID is written. */
  readonly xids: Uint8Array;
  /** Milliseconds since 1970-01-01T00:00Z. */
  readonly instantsMs: Float64Array;
  /** Calendar days in the configured zone: days since 1970-01-01. */
  readonly days: Int32Array;
  /** One for each of `measureFields`, in that order. */
  readonly measures: readonly MeasureColumn[];
  /** Fields that the interface does not name, as one JSON object, by row; most rows have none. */
  readonly extras: ReadonlyMap<number, string>;
}

const leastCapacity = 8;
/** More room than this for each row that came is given back. */
const mostRoom = 1.15;

/** Collects the rows of a read while its pages arrive. A row is known by its index, which it keeps. */
export class RowColumnsBuilder {
  readonly #blocks: RowBlocks;
  #block: RowBlock;
  #length = 0;
  readonly #extras = new Map<number, string>();
  readonly #dropped = new Set<number>();

  constructor(blocks = new RowBlocks()) {
    this.#blocks = blocks;
    this.#block = blocks.take(leastCapacity);
  }

  /** Makes room for `rows` rows behind the last, so that the arrays of a page grow once. What is written there stays. */
  reserve(rows: number): void {
    const needed = this.#length + rows;
    const { capacity } = this.#block;
    if (needed <= capacity) return;
    this.#move(this.#length === 0 ? needed : Math.max(needed, capacity * 2), capacity);
  }

  /** Moves the first `count` rows to a block for `capacity` of them. */
  #move(capacity: number, count: number): void {
    const before = this.#block;
    this.#block = this.#blocks.take(capacity);
    this.#block.takeOver(before, count);
    this.#blocks.giveBack(before);
  }

  /** Where the rows are written; replaced when it grows. */
  get block(): RowBlock {
    return this.#block;
  }

  /** The index behind the last row, with room for one. */
  get next(): number {
    this.reserve(1);
    return this.#length;
  }

  /** Rows that were put and not dropped. */
  get rowCount(): number {
    return this.#length - this.#dropped.size;
  }

  /** Takes in the row that was written to the block at {@link next}, or again at an earlier index. */
  put(rowIndex: number): void {
    if (rowIndex === this.#length) this.#length += 1;
    if (this.#extras.size > 0) this.#extras.delete(rowIndex);
  }

  /**
   * Writes a row and takes it in. `defaulted`: an absent required number took its documented default. Throws RangeError for
   * an xid that is not a UUID.
   */
  putRow(rowIndex: number, row: DailyProductionRow, defaulted = false): void {
    writeRow(this.#block, rowIndex, row);
    this.#block.defaulted[rowIndex] = defaulted ? 1 : 0;
    this.put(rowIndex);
    if (row.extras !== null) this.#extras.set(rowIndex, row.extras);
  }

  /** Leaves out a row, for good. */
  drop(rowIndex: number): void {
    this.#dropped.add(rowIndex);
  }

  /** Rows in which an absent required number took its documented default. */
  get defaultedCount(): number {
    let count = 0;
    for (let rowIndex = 0; rowIndex < this.#length; rowIndex += 1) {
      if (this.#block.defaulted[rowIndex] === 1 && !this.#dropped.has(rowIndex)) count += 1;
    }
    return count;
  }

  /**
   * The rows that were put and not dropped. Nothing may be put after it. They may be released to the blocks that the
   * builder was given.
   */
  rows(): RowColumns {
    const isRoomy = this.#block.capacity > this.#length * mostRoom;
    if (isRoomy) this.#move(this.#length, this.#length);
    for (const texts of this.#block.texts) texts.length = Math.min(texts.length, this.#length);
    const rows = columnsOf(this.#block, this.#length, this.#extras);
    this.#blocks.keepBlock(rows, this.#block);
    if (this.#dropped.size === 0) return rows;
    const kept = rowsWhere(rows, (row) => !this.#dropped.has(row));
    this.#blocks.release(rows);
    return kept;
  }
}

function writeRow(block: RowBlock, rowIndex: number, { xid, instantMs, day, measures }: DailyProductionRow): void {
  const { capacity } = block;
  if (!readXid(xid, block.xids, rowIndex * xidBytes)) throw new RangeError(`${xid} is not a UUID`);
  block.instantsMs[rowIndex] = instantMs;
  block.days[rowIndex] = day;
  let position = 0;
  for (const { kind } of measureFields) {
    const value = measures[position] ?? null;
    const n = columnOf[position] ?? 0;
    const at = n * capacity + rowIndex;
    block.nulls[position * capacity + rowIndex] = value === null ? 1 : 0;
    // Adding 0 makes -0 a 0.
    if (kind === 'double') block.doubles[at] = typeof value === 'number' ? value + 0 : 0;
    else if (kind === 'int32') block.int32s[at] = typeof value === 'number' ? value : 0;
    else if (kind === 'boolean') block.booleans[at] = value === true ? 1 : 0;
    else (block.texts[n] ?? [])[rowIndex] = typeof value === 'string' ? value : null;
    position += 1;
  }
}

/** The first `length` rows of a block. The views of its measures are made when they are read: they cost more than a few rows. */
function columnsOf(block: RowBlock, length: number, extras: ReadonlyMap<number, string>): RowColumns {
  return {
    length,
    xids: block.xids.subarray(0, length * xidBytes),
    instantsMs: block.instantsMs.subarray(0, length),
    days: block.days.subarray(0, length),
    extras,
    get measures() {
      return measureFields.map(({ kind }, position) => measureOf(block, length, kind, position));
    },
  };
}

function measureOf(block: RowBlock, length: number, kind: FieldKind, position: number): MeasureColumn {
  const n = columnOf[position] ?? 0;
  const nulls = nullsOf(slice(block.nulls, position));
  switch (kind) {
    case 'double':
      return { kind, values: slice(block.doubles, n), nulls };
    case 'int32':
      return { kind, values: slice(block.int32s, n), nulls };
    case 'boolean':
      return { kind, values: slice(block.booleans, n), nulls };
    case 'string':
      return { kind, values: block.texts[n] ?? [] };
  }
  function slice<T extends Float64Array | Int32Array | Uint8Array>(array: T, column: number): T {
    const from = column * block.capacity;
    return array.subarray(from, from + length) as T;
  }
}

function nullsOf(nulls: Uint8Array): Nulls {
  return nulls.includes(1) ? nulls : undefined;
}

/** The rows for which `isKept` is true, in their order. */
export function rowsWhere(rows: RowColumns, isKept: (row: number) => boolean): RowColumns {
  const kept = Uint32Array.from({ length: rows.length }, (_, row) => row).filter(isKept);
  const xids = new Uint8Array(kept.length * xidBytes);
  const extras = new Map<number, string>();
  for (const [rowIndex, row] of kept.entries()) {
    xids.set(rows.xids.subarray(row * xidBytes, (row + 1) * xidBytes), rowIndex * xidBytes);
    const text = rows.extras.get(row);
    if (text !== undefined) extras.set(rowIndex, text);
  }
  return {
    length: kept.length,
    xids,
    instantsMs: picked(rows.instantsMs, kept),
    days: picked(rows.days, kept),
    measures: rows.measures.map((column) => pickedMeasure(column, kept)),
    extras,
  };
}

function pickedMeasure(column: MeasureColumn, kept: Uint32Array): MeasureColumn {
  if (column.kind === 'string')
    return { kind: 'string', values: Array.from(kept, (row) => column.values[row] ?? null) };
  const nulls = column.nulls === undefined ? undefined : nullsOf(picked(column.nulls, kept));
  switch (column.kind) {
    case 'double':
      return { kind: column.kind, values: picked(column.values, kept), nulls };
    case 'int32':
      return { kind: column.kind, values: picked(column.values, kept), nulls };
    case 'boolean':
      return { kind: column.kind, values: picked(column.values, kept), nulls };
  }
}

function picked<T extends Float64Array | Int32Array | Uint8Array>(values: T, rows: Uint32Array): T {
  const taken = values.slice(0, rows.length) as T;
  for (const [rowIndex, row] of rows.entries()) taken[rowIndex] = values[row] ?? 0;
  return taken;
}

// Room for the rows of a window that is read. It is used again for other windows: a new array is zeroed, its memory is new to
// the process, and what lies outside V8's heap is freed late and makes it collect more often. An export of 365,200 rows took
// 5 % more CPU with new arrays for each window.

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
