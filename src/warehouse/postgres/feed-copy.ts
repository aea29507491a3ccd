/**
 * Files of a feed out of PostgreSQL. The server sends its rows as CSV, in order, into a file beside the one that is to be
 * written; DuckDB's engine makes a file of the feed of it.
 */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { onDisk } from '../../core/base/file-fault.ts';
import type { FeedRows, FeedTables } from '../port/feed.ts';
import { conflictOfRecord, counts } from '../sql/daily/row-fields.ts';
import { feedSelect, type MonthDays } from '../sql/ledger/feed-ledger.ts';
import type { PostgresDatabase } from './server/postgres-database.ts';
import type { PostgresSession } from './server/postgres-session.ts';

export function createFeedTables(database: PostgresDatabase): FeedTables {
  return {
    async writeFile(rows, target) {
      const csv = `${target.path}.csv`;
      try {
        const longestLine = await database.transact((session) => writeCsv(session, rows, csv));
        const { convertCsv } = await import('../duckdb/feed-copy.ts');
        await convertCsv(rows.table, { path: csv, longestLine }, target);
      } finally {
        await rm(csv, { force: true });
      }
    },
  };
}

/** Returns a bound of the length of a line, in bytes; 0 where lines are short. */
async function writeCsv(session: PostgresSession, rows: FeedRows, path: string): Promise<number> {
  const sql = `COPY (${feedSelect(rows, dailyRows)}) TO STDOUT (FORMAT csv)`;
  await onDisk(path, () => session.copyOut(sql, createWriteStream(path)));
  if (rows.table !== 'well') return 0;
  const [row] = await session.rows<{ longest: number }>(
    'SELECT CAST(coalesce(max(octet_length(body)), 0) AS BIGINT) AS longest FROM well',
  );
  // Each quote within a cell is doubled.
  return 2 * (row?.longest ?? 0) + otherCells;
}

const otherCells = 100_000;

/**
 * The day of a row in its zone is at most one from its day in UTC. Each well is looked up by its key: an index by day would
 * be written with every row, and read once a night.
 */
const dailyRows = ({ from, to }: MonthDays): string => `well_key k CROSS JOIN LATERAL (
  SELECT k.uwi, d.*, ${counts} FROM internal.daily_production d
    ${conflictOfRecord}
  WHERE d.well_id = k.well_id AND d.date >= TIMESTAMPTZ '${from}' - INTERVAL '2 days'
    AND d.date < TIMESTAMPTZ '${to}' + INTERVAL '2 days'
    AND d.production_day >= DATE '${from}' AND d.production_day < DATE '${to}' OFFSET 0) t`;
