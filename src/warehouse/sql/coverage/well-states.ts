/** Wells that need a look: stale ones, ones that the service does not know, and what is known of a well without a day. */
import type { StaleWell, StaleWellsQuestion, UnknownWell, WellTrace } from '../../port/daily-production.ts';
import { unknownOf } from '../runs/run-units.ts';
import { dayOfNumber, jsonText, type SqlSession } from '../session.ts';

const unknownWells = `${unknownOf('uwi')} missed`;

/** SQL of an instant without the parts of its second. */
const toSecond = (instant: string): string => `date_trunc('second', ${instant})`;

export function readStaleWells(
  session: SqlSession,
  { today, warnAfterDays, plugged }: StaleWellsQuestion,
): Promise<readonly StaleWell[]> {
  return session.rows(
    `WITH silent AS (
       SELECT uwi, last_day, ${dayOfNumber('$1::INTEGER')} - last_day - 1 AS silent_days FROM watermark
       WHERE last_day <= ${dayOfNumber('$1::INTEGER - $2::INTEGER')} - 1 AND uwi NOT IN (SELECT ${session.dialect.each('$3', 'VARCHAR')}))
     SELECT silent.uwi, last_day AS "lastDay", silent_days AS "silentDays", count(q.raw) AS quarantined,
       ${toSecond('max(since)')} AS "unknownSince"
     FROM silent LEFT JOIN ${unknownWells} ON target = silent.uwi
     LEFT JOIN quarantine q ON q.uwi = silent.uwi AND coalesce(q.production_day > last_day, true)
     GROUP BY silent.uwi, last_day, silent_days ORDER BY last_day DESC, silent.uwi`,
    [today, warnAfterDays, jsonText(plugged)],
  );
}

export function readUnknownWells(session: SqlSession): Promise<readonly UnknownWell[]> {
  return session.rows(`SELECT target AS uwi, ${toSecond('missed.since')} AS since, run_id AS "runId", last_day AS "lastDay"
     FROM ${unknownWells} LEFT JOIN watermark ON uwi = target ORDER BY missed.since DESC, target`);
}

export function readTraces(session: SqlSession, uwis: readonly string[]): Promise<readonly WellTrace[]> {
  return session.rows(
    `SELECT uwi, ${toSecond('watermark')} AS "readUpTo", ${toSecond('since')} AS "unknownSince"
     FROM (SELECT DISTINCT ${session.dialect.each('$1', 'VARCHAR')} AS uwi) named
     LEFT JOIN watermark USING (uwi) LEFT JOIN ${unknownWells} ON target = uwi ORDER BY uwi`,
    [jsonText(uwis)],
  );
}

/** Discrete percentiles, which both engines have: the watermark of a well, and none in between. */
export async function readReachedWatermarks(
  session: SqlSession,
  shares: readonly number[],
): Promise<readonly number[] | undefined> {
  const reached = shares.map(
    (share, index) =>
      `(extract(epoch FROM percentile_disc(${Number(share)}) WITHIN GROUP (ORDER BY watermark DESC)) * 1000)::DOUBLE PRECISION AS "of${index}"`,
  );
  const [row] = await session.rows<Readonly<Record<string, number | null>>>(
    `SELECT ${reached.join(', ')} FROM watermark`,
  );
  const watermarks = shares.map((_, index) => row?.[`of${index}`] ?? undefined);
  return watermarks.every((watermark) => watermark !== undefined) ? watermarks : undefined;
}
