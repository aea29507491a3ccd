/** Appends the rows of windows to tables of DuckDB, by copies of slices of their columns (docs/design.md section 7). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { xidBytes } from '../../../core/daily/row.ts';
import type { Noticed, WellWindow } from '../../sql/daily/daily-tables.ts';
import { wellFormed } from '../../sql/session.ts';
import { type AppendedTable, type DuckdbSession, withAppender } from '../file/session.ts';
import { type ChunkColumn, ColumnChunk, rowsPerChunk, TextSlice } from '../file/column-chunk.ts';
import { rowColumns } from '../schema.ts';

/** Slots of 32 bits of an instant in the form of the engine. */
const slotsPerInstant = 2;
const slotRange = 2 ** 32;

/** Whole microseconds in two slots, the low one first: most lie beyond what a double holds. */
function microseconds(
  instantsMs: Float64Array,
  slots = new Uint32Array(instantsMs.length * slotsPerInstant),
): Uint32Array {
  for (const [index, instantMs] of instantsMs.entries()) {
    const highMs = Math.floor(instantMs / slotRange);
    const low = (instantMs - highMs * slotRange) * 1_000;
    const carried = Math.floor(low / slotRange);
    slots[index * slotsPerInstant] = low - carried * slotRange;
    slots[index * slotsPerInstant + 1] = highMs * 1_000 + carried;
  }
  return slots;
}

/** A table that takes the rows of windows. */
export interface RowTable<Window extends WindowBatch> extends AppendedTable {
  /** Index of `xid`, the first column of a row; the others follow in the order of `rowColumns` (../schema.ts). */
  readonly xidColumn: number;
  /** Writes the columns of the table that are not of a row, for a slice that lies at the rows from `row` on. */
  copyOwn(columns: readonly ChunkColumn[], slice: Slice<Window>, row: number): void;
}

/** A window and its number in the batch. */
export interface NumberedWindow<Window extends WindowBatch = WindowBatch> {
  readonly windowNo: number;
  readonly window: Window;
}

/** `count` rows of a window from `from` on. */
interface Slice<Window extends WindowBatch> extends NumberedWindow<Window> {
  readonly from: number;
  readonly count: number;
}

/**
 * Chunks that are appended between two turns of the event loop. A turn may read a page, and the batch keeps its
 * rows until it is written: a turn after each chunk made an export 5 % slower.
 */
const chunksPerTurn = 8;

/** Appends the rows of windows to a table of the transaction, in their order. */
export async function appendWindows<Window extends WindowBatch>(
  session: DuckdbSession,
  table: RowTable<Window>,
  windows: readonly NumberedWindow<Window>[],
): Promise<void> {
  await withAppender(session, table, async (appender) => {
    const types = Array.from({ length: appender.columnCount }, (_, index) => appender.columnType(index));
    const chunk = new RowChunk(new ColumnChunk(types), table);
    let [filled, chunks] = [0, 0];
    for (const slice of slicesOf(windows)) {
      chunk.copy(slice, filled);
      filled += slice.count;
      if (filled < rowsPerChunk) continue;
      chunk.rows.appendTo(appender, filled);
      filled = 0;
      chunks += 1;
      if (chunks % chunksPerTurn === 0) await nextTurn();
    }
    if (filled > 0) chunk.rows.appendTo(appender, filled);
  });
}

/** Cuts the rows of all windows where a chunk ends. */
function* slicesOf<Window extends WindowBatch>(windows: readonly NumberedWindow<Window>[]): Iterable<Slice<Window>> {
  let filled = 0;
  for (const { windowNo, window } of windows) {
    const { rows } = window;
    for (let from = 0; from < rows.length;) {
      const count = Math.min(rows.length - from, rowsPerChunk - filled);
      yield { windowNo, window, from, count };
      from += count;
      filled = (filled + count) % rowsPerChunk;
    }
  }
}

/** A chunk of a table, and room for the values whose form in the engine is another. */
class RowChunk<Window extends WindowBatch> {
  readonly rows: ColumnChunk;
  readonly #table: RowTable<Window>;
  readonly #uuids = new Uint8Array(rowsPerChunk * xidBytes);
  readonly #microseconds = new Uint32Array(rowsPerChunk * slotsPerInstant);
  readonly #texts = new TextSlice();

  constructor(rows: ColumnChunk, table: RowTable<Window>) {
    this.rows = rows;
    this.#table = table;
  }

  /** Copies a slice to the rows from `row` on. */
  copy(slice: Slice<Window>, row: number): void {
    const { from, count } = slice;
    const { rows } = slice.window;
    this.#table.copyOwn(this.rows.columns, slice, row);
    const [xids, dates, days, ...others] = this.rows.columns.slice(this.#table.xidColumn);
    xids?.copy(this.#uuidsOf(rows.xids, from, count), 0, count, row, xidBytes);
    dates?.copy(
      microseconds(rows.instantsMs.subarray(from, from + count), this.#microseconds),
      0,
      count,
      row,
      slotsPerInstant,
    );
    days?.copy(rows.days, from, count, row);
    const { measures } = rows;
    for (const [index, measure] of measures.entries()) {
      const column = others[index];
      if (column === undefined) throw new Error(`${this.#table.name} has no column for measure ${index}`);
      if (measure.kind === 'string') this.#texts.copy(column, measure.values, from, count, row);
      else {
        column.copy(measure.values, from, count, row);
        if (measure.nulls !== undefined) column.copyNulls(measure.nulls, from, count, row);
      }
    }
    const extras = others[measures.length];
    if (extras !== undefined) copyExtras(extras, rows.extras, from, count, row);
  }

  /** The engine holds a UUID as a signed integer of 128 bits, last byte first, with the top bit flipped to sort as text. */
  #uuidsOf(xids: Uint8Array, from: number, count: number): Uint8Array {
    for (let index = 0; index < count; index += 1) {
      const begin = (from + index) * xidBytes;
      const last = (index + 1) * xidBytes - 1;
      for (let byte = 0; byte < xidBytes; byte += 1) this.#uuids[last - byte] = xids[begin + byte] ?? 0;
      this.#uuids[last] = (this.#uuids[last] ?? 0) ^ 0x80;
    }
    return this.#uuids;
  }
}

function copyExtras(
  column: ChunkColumn,
  extras: ReadonlyMap<number, string>,
  from: number,
  count: number,
  row: number,
): void {
  for (let index = 0; index < count; index += 1) {
    const json = extras.size === 0 ? undefined : extras.get(from + index);
    if (json === undefined) column.setNull(row + index);
    else column.setText(row + index, wellFormed(json));
  }
}

// Rows of wells of which nothing is stored go straight into the table, where they can: through a temporary one they
// would be written twice.

/**
 * Parts the windows of a batch. Direct are those of a well of which nothing is stored, where all its windows have their
 * rows in the order of time, which is that of the table, and none has a row with extra fields: on their way through
 * `staged_row` those are checked to be JSON.
 */
export function partWindows<Window extends WellWindow>(
  windows: readonly Window[],
): Readonly<Record<'direct' | 'staged', readonly NumberedWindow<Window>[]>> {
  const isPlain = (window: Window): boolean => window.isNew && window.rows.extras.size === 0 && isInOrder(window);
  const others = new Set(windows.filter((window) => !isPlain(window)).map(({ wellId }) => wellId));
  const numbered = windows.map((window, windowNo) => ({ windowNo, window }));
  return {
    direct: numbered.filter(({ window }) => !others.has(window.wellId)),
    staged: numbered.filter(({ window }) => others.has(window.wellId)),
  };
}

/** Whether the rows come in the order of time. */
export function isInOrder({ rows }: WellWindow): boolean {
  const { instantsMs, length } = rows;
  for (let row = 1; row < length; row += 1) {
    if ((instantsMs[row] ?? 0) < (instantsMs[row - 1] ?? 0)) return false;
  }
  return true;
}

/** Inserts the rows of windows that {@link partWindows} calls direct, in their order. */
export async function insertDirect(
  session: DuckdbSession,
  windows: readonly NumberedWindow<WellWindow>[],
  noticed: Noticed,
): Promise<void> {
  if (windows.some(({ window }) => window.rows.length > 0))
    await appendWindows(session, productionTable(noticed), windows);
}

/** `internal.daily_production`: the key of the well, the row, and which run inserted and changed it when. */
function productionTable({ runId, atMs }: Noticed): RowTable<WellWindow> {
  const wellIds = new Int32Array(rowsPerChunk);
  const instants = microseconds(new Float64Array(rowsPerChunk).fill(atMs));
  return {
    name: 'daily_production',
    schema: 'internal',
    catalog: null,
    xidColumn: 2,
    copyOwn: (columns, { window: { wellId, uwi }, count }, row) => {
      const [wellIdColumn, uwiColumn] = columns;
      wellIdColumn?.copy(wellIds.fill(wellId, 0, count), 0, count, row);
      uwiColumn?.repeatText(uwi, count, row);
      const [insertedRun, changedRun, changedAt] = columns.slice(1 + rowColumns.length);
      insertedRun?.repeatText(runId, count, row);
      changedRun?.repeatText(runId, count, row);
      changedAt?.copy(instants, 0, count, row, slotsPerInstant);
    },
  };
}
