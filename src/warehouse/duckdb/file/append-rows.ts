/** Appends records to a table by data chunks, without a statement or text per row. */
import type { DuckDBConnection, DuckDBType, DuckDBValue, DuckDBDataChunk as DataChunk } from '@duckdb/node-api';
import { withAppender } from './appender.ts';
import { rowsPerChunk } from './column-chunk.ts';
import { DuckDBDataChunk } from './engine.ts';

/** Reads the value of a column of the given type. */
type ColumnValue<T> = (record: T, type: DuckDBType) => DuckDBValue;

/** Appends records to a table; `columns` reads the value of each column, in the table's order. */
export async function appendRows<T>(
  connection: DuckDBConnection,
  table: string,
  records: Iterable<T>,
  columns: ReadonlyArray<ColumnValue<T>>,
  catalog?: 'temp',
): Promise<void> {
  await withAppender(connection, { name: table, schema: null, catalog: catalog ?? null }, async (appender) => {
    const types = columns.map((_, index) => appender.columnType(index));
    // One chunk for all parts: its memory is only freed when it is collected, and the collector does not see its size.
    const chunk = DuckDBDataChunk.create(types);
    for (const part of partsOf(records, rowsPerChunk)) {
      fill(chunk, types, part, columns);
      appender.appendDataChunk(chunk);
    }
  });
}

function fill<T>(
  chunk: DataChunk,
  types: readonly DuckDBType[],
  records: readonly T[],
  columns: ReadonlyArray<ColumnValue<T>>,
): void {
  chunk.reset();
  chunk.rowCount = records.length;
  for (const [index, type] of types.entries()) {
    const valueOf = columns[index] ?? nullValue;
    const vector = chunk.getColumnVector(index);
    for (const [place, record] of records.entries()) vector.setItem(place, valueOf(record, type));
    vector.flush();
  }
}

function nullValue(): null {
  return null;
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
