/** What one run brought of one well, by the versions of its rows: also where later runs have changed them. */
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { ReadRunEffect, RunEffect } from '../../port/well-history.ts';
import { type InSession, oneRow, type SqlSession } from '../session.ts';
import { stretchesOf, worstFirst } from './well-history.ts';

/** All versions of the rows of the well `$1`, and those that the run `$2` was the first to bring of their day. */
const versions = `version AS (
    SELECT production_day AS day, changed_run_id AS by_run, changed_at AS known_from, CAST(NULL AS TIMESTAMPTZ) AS known_until
    FROM daily_production WHERE uwi = $1 AND production_day IS NOT NULL
    UNION ALL SELECT production_day, known_run_id, known_from, noticed_at FROM daily_production_history
    WHERE uwi = $1 AND production_day IS NOT NULL),
  brought AS (SELECT day, min(known_from) AS known_from FROM version WHERE by_run = $2 GROUP BY day)`;

const isEarlier = 'v.by_run IS DISTINCT FROM $2 AND v.known_from <= b.known_from';
/** The days that had another row until the run brought its own are not filled, but changed. */
const filled = `SELECT b.day FROM brought b WHERE NOT EXISTS (SELECT 1 FROM version v
  WHERE v.day = b.day AND ${isEarlier} AND (v.known_until IS NULL OR v.known_until >= b.known_from))`;

export const readRunEffect: InSession<ReadRunEffect> = async (session, uwi, runId) => {
  const days = (with_: string, of: string): Promise<readonly DayInterval[]> =>
    session.rows(`${with_} ${stretchesOf(of)}`, [uwi, runId]);
  const { rows } = await oneRow<{ rows: number }>(
    session,
    `WITH ${versions} SELECT count(*) AS rows FROM version v, (SELECT min(known_from) AS known_from FROM brought) b WHERE ${isEarlier}`,
    [uwi, runId],
  );
  return {
    ...(await readUnits(session, uwi, runId)),
    filled: await days(`WITH ${versions}`, filled),
    changed: await days(
      '',
      `SELECT production_day AS day FROM daily_production_history
       WHERE uwi = $1 AND run_id = $2 AND known_run_id IS DISTINCT FROM $2 AND production_day IS NOT NULL`,
    ),
    hadRows: rows > 0,
  };
};

async function readUnits(session: SqlSession, uwi: string, runId: string) {
  const count = (name: string): string => `coalesce(CAST(${session.dialect.textAt('counts', [name])} AS BIGINT), 0)`;
  const units = await session.rows<
    Readonly<Record<'quarantined' | 'heldRows', number>> & { readonly state: NonNullable<RunEffect['state']> }
  >(
    `SELECT state, ${count('quarantined')} AS quarantined, ${count('heldRows')} AS "heldRows"
     FROM run_unit WHERE target = $1 AND run_id = $2`,
    [uwi, runId],
  );
  const states = new Set(units.map(({ state }) => state));
  const sum = (name: 'quarantined' | 'heldRows'): number => units.reduce((total, unit) => total + unit[name], 0);
  return {
    state: worstFirst.find((state) => states.has(state)),
    quarantined: sum('quarantined'),
    heldRows: sum('heldRows'),
  };
}
