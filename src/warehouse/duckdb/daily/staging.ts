/** Loads the rows of windows into DuckDB, by copies of slices of their columns (docs/design.md section 7). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import type { MeasureColumn, RowColumns } from '../../../core/daily/row-columns.ts';
import { xidBytes } from '../../../core/daily/xid.ts';
import { type ChunkColumn, ColumnChunk, rowsPerChunk, TextSlice } from '../file/column-chunk.ts';
import { declared } from '../../sql/daily/row-fields.ts';
import { measureColumns } from '../schema/columns.ts';
import { wellFormed } from '../../sql/json-text.ts';

/** The final types: the merge casts nothing. `extras` is JSON text. */
const stagedTable = `CREATE OR REPLACE TEMP TABLE staged_row
  (window_no INTEGER, xid UUID, date TIMESTAMPTZ, production_day DATE, ${declared(measureColumns)}, extras VARCHAR)`;

/** Creates and fills the temporary table `staged_row`; `window_no` is the index of the window. */
export async function stageRows(connection: DuckDBConnection, windows: readonly WindowBatch[]): Promise<void> {
  await connection.run(stagedTable);
  const appender = await connection.createAppender('staged_row', null, 'temp');
  try {
    const types = Array.from({ length: appender.columnCount }, (_, index) => appender.columnType(index));
    const chunk = new StagedChunk(new ColumnChunk(types));
    let filled = 0;
    for (const slice of slicesOf(windows)) {
      chunk.copy(slice, filled);
      filled += slice.count;
      if (filled < rowsPerChunk) continue;
      chunk.rows.appendTo(appender, filled);
      filled = 0;
      // Pages that have come meanwhile are read.
      await nextTurn();
    }
    if (filled > 0) chunk.rows.appendTo(appender, filled);
    appender.flushSync();
  } finally {
    appender.closeSync();
  }
}

/** `count` rows of a window from `from` on. */
interface Slice {
  readonly windowNo: number;
  readonly rows: RowColumns;
  readonly measures: readonly MeasureColumn[];
  readonly from: number;
  readonly count: number;
}

/** Cuts the rows of all windows where a chunk ends. */
function* slicesOf(windows: readonly WindowBatch[]): Iterable<Slice> {
  let filled = 0;
  for (const [windowNo, { rows }] of windows.entries()) {
    const { measures } = rows;
    for (let from = 0; from < rows.length;) {
      const count = Math.min(rows.length - from, rowsPerChunk - filled);
      yield { windowNo, rows, measures, from, count };
      from += count;
      filled = (filled + count) % rowsPerChunk;
    }
  }
}

/** A chunk of `staged_row`, and room for the values whose form in the engine is another. */
class StagedChunk {
  readonly rows: ColumnChunk;
  readonly #windowNos = new Int32Array(rowsPerChunk);
  readonly #uuids = new Uint8Array(rowsPerChunk * xidBytes);
  readonly #microseconds = new Uint32Array(rowsPerChunk * wordsPerInstant);
  readonly #texts = new TextSlice();

  constructor(rows: ColumnChunk) {
    this.rows = rows;
  }

  /** Copies a slice to the rows from `row` on. */
  copy({ windowNo, rows, measures, from, count }: Slice, row: number): void {
    const [windowNos, xids, dates, days, ...others] = this.rows.columns;
    windowNos?.copy(this.#windowNos.fill(windowNo, 0, count), 0, count, row);
    xids?.copy(this.#uuidsOf(rows.xids, from, count), 0, count, row, xidBytes);
    dates?.copy(this.#microsecondsOf(rows.instantsMs, from, count), 0, count, row, wordsPerInstant);
    days?.copy(rows.days, from, count, row);
    for (const [index, column] of others.entries()) {
      const measure = measures[index];
      if (measure === undefined) copyExtras(column, rows.extras, from, count, row);
      else if (measure.kind === 'string') this.#texts.copy(column, measure.values, from, count, row);
      else {
        column.copy(measure.values, from, count, row);
        if (measure.nulls !== undefined) column.copyNulls(measure.nulls, from, count, row);
      }
    }
  }

  /** The engine holds a UUID as a signed integer of 128 bits, last byte first, with the top bit flipped to sort as text. */
  #uuidsOf(xids: Uint8Array, from: number, count: number): Uint8Array {
    for (let index = 0; index < count; index += 1) {
      const [begin, last] = [(from + index) * xidBytes, (index + 1) * xidBytes - 1];
      for (let byte = 0; byte < xidBytes; byte += 1) this.#uuids[last - byte] = xids[begin + byte] ?? 0;
      this.#uuids[last] = (this.#uuids[last] ?? 0) ^ 0x80;
    }
    return this.#uuids;
  }

  /** Whole microseconds as two words, the low one first: most lie beyond what a double holds. */
  #microsecondsOf(instantsMs: Float64Array, from: number, count: number): Uint32Array {
    for (let index = 0; index < count; index += 1) {
      const instantMs = instantsMs[from + index] ?? 0;
      const highMs = Math.floor(instantMs / wordRange);
      const low = (instantMs - highMs * wordRange) * 1_000;
      const carried = Math.floor(low / wordRange);
      this.#microseconds[index * wordsPerInstant] = low - carried * wordRange;
      this.#microseconds[index * wordsPerInstant + 1] = highMs * 1_000 + carried;
    }
    return this.#microseconds;
  }
}

const wordsPerInstant = 2;
const wordRange = 2 ** 32;

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
