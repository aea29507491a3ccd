/** Versions of rows that ended, each with its successor. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Measure } from '../../../core/daily/row.ts';
import type { Change, RestatedVersion, RowVersion } from '../../../core/daily/restatement.ts';
import type { RestatementQuestion } from '../../port/daily-production.ts';
import { measureColumns, named, valueColumns } from '../schema/columns.ts';
import { instant, jsonText, streamRows } from '../file/sql.ts';

const versionColumns = ['xid', ...valueColumns.map(({ name }) => name)];

/** `prefix` distinguishes the two versions; the columns are in the order of {@link versionOf}. */
function columnsOf(alias: string, prefix: string): string {
  return versionColumns.map((name) => `${alias}.${name} AS ${prefix}${name}`).join(', ');
}

const isAskedAbout = `noticed_at >= ${instant('$1')} AND noticed_at < ${instant('$2')}
  AND ($3 IS NULL OR uwi IN (SELECT unnest(from_json($3::JSON, '["VARCHAR"]'))))`;

/** Successors first, on the small side of the join: only they are held in memory, whatever the size of the table. */
const statement = `
  WITH ended AS (FROM daily_production_history WHERE ${isAskedAbout}),
       successor AS (
         SELECT uwi, known_from, known_run_id, xid, ${named(valueColumns)} FROM (
           SELECT uwi, changed_at AS known_from, changed_run_id AS known_run_id, xid, ${named(valueColumns)} FROM daily_production
           UNION ALL SELECT uwi, known_from, known_run_id, xid, ${named(valueColumns)} FROM daily_production_history)
         WHERE (uwi, xid) IN (SELECT (uwi, next_xid) FROM ended))
  SELECT h.uwi, h.change, h.run_id, h.noticed_at, ${columnsOf('h', 'old_')}, ${columnsOf('n', 'new_')}
  FROM ended h LEFT JOIN successor n
    ON n.uwi = h.uwi AND n.xid = h.next_xid AND n.known_from = h.noticed_at AND n.known_run_id = h.run_id
  ORDER BY h.noticed_at, h.uwi, h.production_day, h.xid`;

type Row = Readonly<Record<string, Measure>>;

/** Ordered by the time at which they were noticed, then by uwi and day. */
export async function* readRestatements(
  connection: DuckDBConnection,
  { sinceMs, untilMs, uwis }: RestatementQuestion,
): AsyncGenerator<RestatedVersion> {
  const values = [BigInt(sinceMs), BigInt(untilMs), uwis === undefined ? null : jsonText(uwis)];
  for await (const row of streamRows<Row>(connection, statement, values)) {
    yield {
      uwi: String(row['uwi']),
      change: row['change'] as Change,
      runId: String(row['run_id']),
      noticedAt: String(row['noticed_at']),
      old: versionOf(row, 'old_'),
      next: row['new_xid'] === null ? undefined : versionOf(row, 'new_'),
    };
  }
}

function versionOf(row: Row, prefix: string): RowVersion {
  return {
    xid: String(row[`${prefix}xid`]),
    date: String(row[`${prefix}date`]),
    day: String(row[`${prefix}production_day`]),
    measures: measureColumns.map(({ name }) => row[`${prefix}${name}`] ?? null),
    extras: (row[`${prefix}extras`] ?? null) as string | null,
  };
}
