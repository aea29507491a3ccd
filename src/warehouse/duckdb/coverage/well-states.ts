/** Wells that need a look: stale ones, ones that the service does not know, and what is known of a well without a day. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { StaleWell, StaleWellsQuestion, UnknownWell, WellTrace } from '../../port/coverage.ts';
import { dayOfNumber } from '../../sql/session.ts';
import { jsonText, readRows } from '../file/sql.ts';
import { unknownOf } from '../../sql/runs/unknown-targets.ts';

const unknownWells = `${unknownOf('uwi')} unknown`;

/** SQL of an instant as ISO 8601 text in UTC. */
const iso = (instant: string): string => `strftime(${instant} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')`;
const listed = (parameter: string): string => `(SELECT unnest(from_json(${parameter}::JSON, '["VARCHAR"]')))`;

export function readStaleWells(
  connection: DuckDBConnection,
  { today, warnAfterDays, plugged }: StaleWellsQuestion,
): Promise<readonly StaleWell[]> {
  return readRows(
    connection,
    `WITH silent AS (
       SELECT uwi, last_day, ${dayOfNumber('$1')} - last_day - 1 AS silent_days FROM watermark
       WHERE last_day <= ${dayOfNumber('$1 - $2')} - 1 AND uwi NOT IN ${listed('$3')})
     SELECT silent.uwi, last_day AS "lastDay", silent_days AS "silentDays", count(q.raw) AS quarantined,
       ${iso('any_value(since)')} AS "unknownSince"
     FROM silent LEFT JOIN ${unknownWells} ON target = silent.uwi
     LEFT JOIN quarantine q ON q.uwi = silent.uwi AND coalesce(q.production_day > last_day, true)
     GROUP BY silent.uwi, last_day, silent_days ORDER BY last_day DESC, silent.uwi`,
    [today, warnAfterDays, jsonText(plugged)],
  );
}

export function readUnknownWells(connection: DuckDBConnection): Promise<readonly UnknownWell[]> {
  return readRows(
    connection,
    `SELECT target AS uwi, ${iso('unknown.since')} AS since, run_id AS "runId", last_day AS "lastDay"
     FROM ${unknownWells} LEFT JOIN watermark ON uwi = target ORDER BY unknown.since DESC, target`,
  );
}

export function readTraces(connection: DuckDBConnection, uwis: readonly string[]): Promise<readonly WellTrace[]> {
  return readRows(
    connection,
    `SELECT uwi, ${iso('watermark')} AS "readUpTo", ${iso('since')} AS "unknownSince"
     FROM (SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi)
     LEFT JOIN watermark USING (uwi) LEFT JOIN ${unknownWells} ON target = uwi ORDER BY uwi`,
    [jsonText(uwis)],
  );
}
