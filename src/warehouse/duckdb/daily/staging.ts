/** Loads rows into DuckDB column by column: data chunks into a temporary table, without a statement or text per row. */
import type { DuckDBConnection, DuckDBValue, DuckDBDataChunk as DataChunk } from '@duckdb/node-api';
import { DuckDBDataChunk } from '../file/engine.ts';
import type { DailyProductionRow, Measure } from '../../../core/daily/row.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { declared, measureColumns, named } from '../schema/columns.ts';
import { instant, wellFormed } from '../file/sql.ts';

/** Capacity of a data chunk. */
const rowsPerChunk = 2_048;

/** Text and doubles load fastest; the merge casts them in one statement. */
const stagedTable = `CREATE OR REPLACE TEMP TABLE staged_text
  (window_no INTEGER, xid VARCHAR, instant_ms DOUBLE, production_day VARCHAR, ${declared(measureColumns)}, extras VARCHAR)`;

const typedTable = `CREATE OR REPLACE TEMP TABLE staged_row AS
  SELECT window_no, xid::UUID AS xid, ${instant('instant_ms')} AS date, production_day::DATE AS production_day,
    ${named(measureColumns)}, extras FROM staged_text`;

interface StagedRow {
  readonly windowNo: number;
  readonly row: DailyProductionRow;
}

/** Creates and fills the temporary table `staged_row`; `window_no` is the index of the window. */
export async function stageRows(connection: DuckDBConnection, windows: readonly WindowBatch[]): Promise<void> {
  await connection.run(stagedTable);
  const columns: ReadonlyArray<(staged: StagedRow) => DuckDBValue> = [
    ({ windowNo }) => windowNo,
    ({ row }) => row.xid,
    ({ row }) => row.instantMs,
    ({ row }) => row.day,
    ...measureColumns.map(
      (_, index) =>
        ({ row }: StagedRow) =>
          unsignedZero(row.measures[index] ?? null),
    ),
    ({ row }) => (row.extras === null ? null : wellFormed(row.extras)),
  ];
  await appendRows(connection, 'staged_text', stagedRows(windows), columns, 'temp');
  await connection.run(typedTable);
}

/**
 * DuckDB's compression treats 0 and -0 as equal and stores one of them for both: a 0 beside a -0 would come back as -0.
 */
function unsignedZero(value: Measure): Measure {
  return value === 0 ? 0 : value;
}

function* stagedRows(windows: readonly WindowBatch[]): Iterable<StagedRow> {
  for (const [windowNo, { rows }] of windows.entries()) {
    for (const row of rows) yield { windowNo, row };
  }
}

/** Appends records to a table; `columns` reads the value of each column, in the table's order. */
export async function appendRows<T>(
  connection: DuckDBConnection,
  table: string,
  records: Iterable<T>,
  columns: ReadonlyArray<(record: T) => DuckDBValue>,
  catalog?: 'temp',
): Promise<void> {
  const appender = await connection.createAppender(table, null, catalog ?? null);
  try {
    const types = columns.map((_, index) => appender.columnType(index));
    // One chunk for all parts: its memory is only freed when it is collected, and the collector does not see its size.
    const chunk = DuckDBDataChunk.create(types);
    for (const part of partsOf(records, rowsPerChunk)) {
      fill(chunk, part, columns);
      appender.appendDataChunk(chunk);
    }
    appender.flushSync();
  } finally {
    appender.closeSync();
  }
}

function fill<T>(chunk: DataChunk, records: readonly T[], columns: ReadonlyArray<(record: T) => DuckDBValue>): void {
  chunk.reset();
  chunk.rowCount = records.length;
  for (const [index, valueOf] of columns.entries()) {
    const vector = chunk.getColumnVector(index);
    for (const [place, record] of records.entries()) vector.setItem(place, valueOf(record));
    vector.flush();
  }
}

function* partsOf<T>(records: Iterable<T>, size: number): Iterable<readonly T[]> {
  let part: T[] = [];
  for (const record of records) {
    part.push(record);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
