/** Appends records to a table by data chunks, without a statement or text per row. */
import type { DuckDBConnection, DuckDBValue, DuckDBDataChunk as DataChunk } from '@duckdb/node-api';
import { rowsPerChunk } from './column-chunk.ts';
import { DuckDBDataChunk } from './engine.ts';

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
