/**
 * The windows and rows of a batch in temporary tables of the merge's transaction, which end with it: a pooler may give the
 * connection to another client then.
 *
 *   merge_window   the windows of known wells, by number; `is_stored`: rows are stored in a window of its well
 *   staged_row     their rows, numbered
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MeasureColumn, RowColumns } from '../../core/daily/row-columns.ts';
import { xidBytes } from '../../core/daily/row.ts';
import type { Noticed, WellWindow } from '../sql/daily/daily-tables.ts';
import { declared, named } from '../sql/daily/row-fields.ts';
import { jsonText } from '../sql/session.ts';
import { serviceColumns } from './schema.ts';
import type { PostgresSession } from './server/postgres-database.ts';
import { storableJson, storableText } from './server/connections.ts';

/** A batch is compared again without the windows that have to be read again. */
const dropped = 'DROP TABLE IF EXISTS pg_temp.merge_window, pg_temp.staged_row, pg_temp.compared';

const mergeWindow = `CREATE TEMP TABLE merge_window (window_no INTEGER, well_id INTEGER, uwi TEXT COLLATE "C",
  from_at TIMESTAMPTZ, to_at TIMESTAMPTZ, is_verified BOOLEAN, is_stored BOOLEAN) ON COMMIT DROP`;

const dayMs = 86_400_000;

/**
 * SQL of an instant that JSON holds as milliseconds since 1970. A product with an interval is one of doubles, which hold the
 * microseconds of a day, and not those of all years.
 */
export function instant(name: string): string {
  return `timestamptz 'epoch' + (${name} / ${dayMs}) * interval '1 day' + (${name} % ${dayMs}) * interval '1 millisecond'`;
}

/**
 * All windows of a well count as stored if one of them is: a row may have moved from one to another. The window of each
 * probe is a condition with constants for the planner, which knows nothing of the rows of a list.
 */
const probedWindows = `
  INSERT INTO merge_window
    SELECT window_no, well_id, uwi, ${instant('from_ms')}, ${instant('to_ms')}, is_verified,
      EXISTS (SELECT 1 FROM internal.daily_production d WHERE d.well_id = w.well_id
        AND d.date >= ${instant('first_ms')} AND d.date < ${instant('last_ms')})
    FROM (
      SELECT *, min(from_ms) OVER (PARTITION BY well_id) AS first_ms, max(to_ms) OVER (PARTITION BY well_id) AS last_ms
      FROM json_to_recordset($1) AS read (window_no INTEGER, well_id INTEGER, uwi TEXT, from_ms BIGINT, to_ms BIGINT,
        is_verified BOOLEAN)) w
  RETURNING window_no AS "windowNo", is_stored AS "isStored"`;

/** Its fields stand in the order of {@link stagedRow}. */
const stagedRow = `CREATE TEMP TABLE staged_row
  (window_no INTEGER, row_no INTEGER, well_id INTEGER, ${declared(serviceColumns)}) ON COMMIT DROP`;

/** Returns the numbers of the windows of whose well something is stored in the batch's windows. */
export async function stageWindows(
  session: PostgresSession,
  batch: readonly WellWindow[],
): Promise<ReadonlySet<number>> {
  await session.run(dropped);
  await session.run(mergeWindow);
  const probed = await session.rows<{ windowNo: number; isStored: boolean }>(probedWindows, [
    jsonText(windowRows(batch)),
  ]);
  await session.run(stagedRow);
  await session.copy(`COPY staged_row FROM STDIN (FORMAT binary)`, copiedRows(stagedWindows(batch)));
  return new Set(probed.flatMap(({ windowNo, isStored }) => (isStored ? [windowNo] : [])));
}

function windowRows(batch: readonly WellWindow[]): readonly object[] {
  return batch.flatMap(({ wellId, uwi, window, isNew, isVerified }, index) => {
    const own = { from_ms: window.fromMs, to_ms: window.toMs, is_verified: isVerified };
    return isNew ? [] : [{ window_no: index, well_id: wellId, uwi, ...own }];
  });
}

function* stagedWindows(batch: readonly WellWindow[]): Generator<CopiedWindow> {
  for (const [index, { wellId, isNew, rows }] of batch.entries()) {
    if (!isNew) yield { rows, before: [{ int4: index }, 'rowNumber', { int4: wellId }], after: [] };
  }
}

/** Adds the rows of wells of which nothing is stored: they need no comparison. */
export async function copyNewRows(
  session: PostgresSession,
  batch: readonly WellWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const after = [{ text: runId }, { text: runId }, { timestamptzMs: atMs }];
  const rowsOf = batch.flatMap(({ wellId, isNew, rows }): readonly CopiedWindow[] =>
    isNew ? [{ rows, before: [{ int4: wellId }], after }] : [],
  );
  const columns = `well_id, ${named(serviceColumns)}, inserted_run_id, changed_run_id, changed_at`;
  await session.copy(`COPY internal.daily_production (${columns}) FROM STDIN (FORMAT binary)`, copiedRows(rowsOf));
}

// Rows of windows as PostgreSQL's binary COPY takes them (its manual, COPY, "Binary Format"), straight from their columns:
// to write the numbers as text takes ten times as long. The server casts nothing, so that each field has the very form of
// its column's type.

/** Larger chunks are not quicker. */
const chunkBytes = 256 * 1024;

const signature = Buffer.concat([Buffer.from('PGCOPY\n\u{ff}\r\n\0', 'latin1'), Buffer.alloc(8)]);
/** 2000-01-01, from which PostgreSQL counts. */
const epochDay = 10_957;
const epochMs = epochDay * 86_400_000;
const slotRange = 2 ** 32;
/** A UTF-16 unit is at most three bytes of UTF-8. */
const mostBytesOfUnit = 3;

/** The rows of a window, and what stands before and behind the fields of the service in each of them. */
export interface CopiedWindow {
  readonly rows: RowColumns;
  readonly before: readonly Constant[];
  readonly after: readonly Constant[];
}

/** A field with one value for all rows of a window; `rowNumber` counts them, from 0, over all windows of a copy. */
export type Constant =
  | { readonly int4: number }
  | { readonly timestamptzMs: number }
  | { readonly text: string }
  | 'rowNumber';

/** Chunks of the rows of all windows, with the signature and the trailer. */
export async function* copiedRows(windows: Iterable<CopiedWindow>): AsyncGenerator<Buffer> {
  const writer = new FieldWriter();
  writer.bytes(signature);
  let number = 0;
  for (const { rows, before, after } of windows) {
    const { measures } = rows;
    const fieldCount = before.length + fixedFields + measures.length + after.length;
    for (let row = 0; row < rows.length; row += 1) {
      writer.int16(fieldCount);
      for (const constant of before) writeConstant(writer, constant, number);
      writeRow(writer, rows, measures, row);
      for (const constant of after) writeConstant(writer, constant, number);
      number += 1;
      if (writer.length < chunkBytes) continue;
      yield writer.take();
      // Pages that have come meanwhile are read.
      await nextTurn();
    }
  }
  writer.int16(-1);
  yield writer.take();
}

const fixedFields = 4;

function writeConstant(writer: FieldWriter, constant: Constant, number: number): void {
  if (constant === 'rowNumber') writer.int4(number);
  else if ('int4' in constant) writer.int4(constant.int4);
  else if ('text' in constant) writer.text(constant.text);
  else writer.timestamptz(constant.timestamptzMs);
}

function writeRow(writer: FieldWriter, rows: RowColumns, measures: readonly MeasureColumn[], row: number): void {
  writer.uuid(rows.xids, row * xidBytes);
  writer.timestamptz(rows.instantsMs[row] ?? 0);
  writer.int4((rows.days[row] ?? 0) - epochDay);
  for (const measure of measures) writeMeasure(writer, measure, row);
  const extras = rows.extras.get(row);
  if (extras === undefined) writer.null();
  else writer.text(storableJson(extras));
}

function writeMeasure(writer: FieldWriter, measure: MeasureColumn, row: number): void {
  if (measure.kind === 'string') {
    const text = measure.values[row] ?? null;
    if (text === null) writer.null();
    else writer.text(storableText(text));
    return;
  }
  if (measure.nulls?.[row] === 1) {
    writer.null();
    return;
  }
  const value = measure.values[row] ?? 0;
  if (measure.kind === 'double') writer.float8(value);
  else if (measure.kind === 'int32') writer.int4(value);
  else writer.bool(value === 1);
}

/** Fields of the binary format, in a buffer that grows. */
class FieldWriter {
  #buffer = Buffer.allocUnsafe(chunkBytes + 4_096);
  #view = viewOf(this.#buffer);
  length = 0;

  /** What was written since the last call. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.length);
    this.#buffer = Buffer.allocUnsafe(chunkBytes + 4_096);
    this.#view = viewOf(this.#buffer);
    this.length = 0;
    return taken;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.length, value);
    this.length += 2;
  }

  null(): void {
    this.#reserve(4);
    this.#view.setInt32(this.length, -1);
    this.length += 4;
  }

  int4(value: number): void {
    const at = this.#field(4);
    this.#view.setInt32(at, value);
  }

  float8(value: number): void {
    const at = this.#field(8);
    this.#view.setFloat64(at, value);
  }

  bool(value: boolean): void {
    const at = this.#field(1);
    this.#view.setUint8(at, value ? 1 : 0);
  }

  uuid(bytes: Uint8Array, from: number): void {
    const at = this.#field(xidBytes);
    for (let byte = 0; byte < xidBytes; byte += 1) this.#buffer[at + byte] = bytes[from + byte] ?? 0;
  }

  /** Whole microseconds in two slots of 32 bits, the high one first: most lie beyond what a double holds. */
  timestamptz(instantMs: number): void {
    const at = this.#field(8);
    const sinceMs = instantMs - epochMs;
    const highMs = Math.floor(sinceMs / slotRange);
    const low = (sinceMs - highMs * slotRange) * 1_000;
    const carried = Math.floor(low / slotRange);
    this.#view.setInt32(at, highMs * 1_000 + carried);
    this.#view.setUint32(at + 4, low - carried * slotRange);
  }

  text(text: string): void {
    this.#reserve(4 + text.length * mostBytesOfUnit);
    const written = this.#buffer.write(text, this.length + 4, 'utf8');
    this.#view.setInt32(this.length, written);
    this.length += 4 + written;
  }

  /** Writes the length of a field, and returns where its bytes stand. */
  #field(bytes: number): number {
    this.#reserve(4 + bytes);
    this.#view.setInt32(this.length, bytes);
    const at = this.length + 4;
    this.length = at + bytes;
    return at;
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.length);
    this.#buffer = grown;
    this.#view = viewOf(grown);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
