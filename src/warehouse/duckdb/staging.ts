/** Carries rows into DuckDB column by column: data chunks into a temporary table, no statement a row and no text in between. */
import { DuckDBDataChunk, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import type { DailyProductionRow, Measure } from '../../core/daily-production.ts';
import type { WindowBatch } from '../../core/merge.ts';
import { declared, measureColumns } from './columns.ts';
import { wellFormed } from './sql.ts';

/** The most that a data chunk holds. */
const rowsPerChunk = 2_048;

/** Text and doubles are the quickest way in; the merge casts them in one go. */
const stagedTable = `CREATE OR REPLACE TEMP TABLE staged_row
  (window_no INTEGER, xid VARCHAR, instant_ms DOUBLE, production_day VARCHAR, ${declared(measureColumns)}, extras VARCHAR)`;

interface StagedRow {
  readonly windowNo: number;
  readonly row: DailyProductionRow;
}

/** Fills the temporary table `staged_row`, made anew; `window_no` is a window's place in the list. */
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
  await appendRows(connection, 'staged_row', stagedRows(windows), columns, 'temp');
}

/** DuckDB's compression takes 0 and -0 for the same and stores either for both: a 0 beside a -0 would come back as -0. */
function unsignedZero(value: Measure): Measure {
  return value === 0 ? 0 : value;
}

function* stagedRows(windows: readonly WindowBatch[]): Iterable<StagedRow> {
  for (const [windowNo, { rows }] of windows.entries()) {
    for (const row of rows) yield { windowNo, row };
  }
}

/** Appends records to a table; `columns` reads the value of each of its columns, in the table's order. */
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
    // One for all parts: the memory of a chunk is given back when it is collected, and the collector does not see its size.
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

function fill<T>(
  chunk: DuckDBDataChunk,
  records: readonly T[],
  columns: ReadonlyArray<(record: T) => DuckDBValue>,
): void {
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
