/** Versions of rows that ended, each with its successor. */
import type { Change, RestatedVersion, RowVersion } from '../../../core/daily/restatement.ts';
import { type Measure, measureFields } from '../../../core/daily/row.ts';
import type { RestatementQuestion } from '../../port/daily-production.ts';
import { jsonText, type SqlSession, type SqlValue } from '../session.ts';

const valueColumns = ['date', 'production_day', ...measureFields.map(({ column }) => column), 'extras'];
const versionColumns = ['xid', ...valueColumns];

/** `prefix` distinguishes the two versions; the columns are in the order of {@link versionOf}. */
function columnsOf(alias: string, prefix: string): string {
  return versionColumns.map((name) => `${alias}.${name} AS ${prefix}${name}`).join(', ');
}

/**
 * Successors first, on the small side of the join: only they are held in memory, whatever the size of the table. A version is
 * followed by the first one of the next xid that the run began then or later: in a history of hosts with other clocks it may
 * have begun later than the other one ended.
 */
const statement = (condition: string, limit: string): string => `
  WITH ended AS (
         SELECT * FROM daily_production_history WHERE noticed_at >= $1 AND noticed_at < $2 ${condition} ${limit}),
       successor AS (
         SELECT uwi, known_from, known_run_id, ${versionColumns.join(', ')},
           lag(known_from) OVER (PARTITION BY uwi, xid, known_run_id ORDER BY known_from) AS known_before FROM (
           SELECT uwi, changed_at AS known_from, changed_run_id AS known_run_id, ${versionColumns.join(', ')}
           FROM daily_production
           UNION ALL SELECT uwi, known_from, known_run_id, ${versionColumns.join(', ')}
           FROM daily_production_history) every
         WHERE (uwi, xid) IN (SELECT uwi, next_xid FROM ended))
  SELECT h.uwi, h.change, h.run_id, h.noticed_at, ${columnsOf('h', 'old_')}, ${columnsOf('n', 'new_')}
  FROM ended h LEFT JOIN successor n
    ON n.uwi = h.uwi AND n.xid = h.next_xid AND n.known_run_id = h.run_id
    AND n.known_from >= h.noticed_at AND (n.known_before IS NULL OR n.known_before < h.noticed_at)
  ORDER BY h.noticed_at, h.uwi, h.production_day, h.xid`;

type Row = Readonly<Record<string, Measure>>;

/** Ordered by the time at which they were noticed, then by uwi and day. */
export async function* readRestatements(
  session: SqlSession,
  { sinceMs, untilMs, uwis, after, limit }: RestatementQuestion,
): AsyncGenerator<RestatedVersion> {
  const values: SqlValue[] = [new Date(sinceMs), new Date(untilMs)];
  const parameter = (value: SqlValue): string => `$${values.push(value)}`;
  const isOfWell =
    uwis === undefined ? '' : `AND uwi IN (SELECT ${session.dialect.each(parameter(jsonText(uwis)), 'VARCHAR')})`;
  const isBehind =
    after === undefined
      ? ''
      : `AND (noticed_at, uwi, production_day, xid) > (${parameter(after.noticedAt)}::TIMESTAMPTZ, ${parameter(after.uwi)},
           ${parameter(after.day)}::DATE, ${parameter(after.xid)}::UUID)`;
  const first = limit === undefined ? '' : `ORDER BY noticed_at, uwi, production_day, xid LIMIT ${parameter(limit)}`;
  for await (const row of session.stream<Row>(statement(`${isOfWell} ${isBehind}`, first), values)) {
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
    measures: measureFields.map(({ column }) => row[`${prefix}${column}`] ?? null),
    extras: (row[`${prefix}extras`] ?? null) as string | null,
  };
}
