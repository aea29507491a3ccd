/** The rows that DuckDB reads for a query: it skips row groups by the smallest and largest value of a column. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { z } from 'zod';

const planSchema = z.object({ cumulative_rows_scanned: z.number() });

export async function scannedRows(connection: DuckDBConnection, sql: string): Promise<number> {
  const reader = await connection.runAndReadAll(`EXPLAIN (ANALYZE, FORMAT json) ${sql}`);
  return planSchema.parse(JSON.parse(String(reader.getRows()[0]?.[1]))).cumulative_rows_scanned;
}
