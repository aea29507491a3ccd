/** The coverage ledger: the days of verified reads, as the fewest merged intervals a well. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { jsonText, relationOf } from '../file/sql.ts';

/** SQL of the calendar day for a day number: days since 1970-01-01. */
export function dayOfNumber(expression: string): string {
  return `DATE '1970-01-01' + (${expression})::INTEGER`;
}

const readRelation = relationOf('$1', { uwi: 'VARCHAR', from_day: 'INTEGER', to_day: 'INTEGER' });

/** An interval that no earlier one reaches begins an island; touching or overlapping intervals belong to it. */
const ledgerSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE covered AS
     WITH known AS (
            SELECT * FROM read_days UNION ALL SELECT * FROM coverage WHERE uwi IN (SELECT uwi FROM read_days)),
          reached AS (
            SELECT *, max(to_day) OVER (PARTITION BY uwi ORDER BY from_day, to_day
                                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_day FROM known),
          numbered AS (
            SELECT *, count(*) FILTER (reached_day IS NULL OR from_day > reached_day)
                        OVER (PARTITION BY uwi ORDER BY from_day, to_day ROWS UNBOUNDED PRECEDING) AS island FROM reached)
     SELECT uwi, min(from_day) AS from_day, max(to_day) AS to_day FROM numbered GROUP BY uwi, island`,
  `DELETE FROM coverage WHERE uwi IN (SELECT uwi FROM read_days) AND (uwi, from_day, to_day) NOT IN (FROM covered)`,
  `INSERT INTO coverage FROM covered ANTI JOIN coverage USING (uwi, from_day, to_day) ORDER BY uwi, from_day`,
];

/** Adds the days of these windows, in the transaction of their merge. */
export async function noteRead(
  connection: DuckDBConnection,
  windows: readonly Pick<WindowBatch, 'uwi' | 'readDays'>[],
): Promise<void> {
  const read = windows.flatMap(({ uwi, readDays }) =>
    readDays === undefined ? [] : [{ uwi, from_day: readDays.fromDay, to_day: readDays.toDay }],
  );
  if (read.length === 0) return;
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE read_days AS
       SELECT uwi, ${dayOfNumber('from_day')} AS from_day, ${dayOfNumber('to_day')} AS to_day FROM ${readRelation}`,
    [jsonText(read)],
  );
  for (const step of ledgerSteps) await connection.run(step);
}
