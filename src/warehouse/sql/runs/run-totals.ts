/** Totals over a run's units, computed by the engine: for any number of units, only the totals leave it. */
import type { Fault } from '../../../core/base/errors.ts';
import type { RunFailure, UnitState } from '../../../core/run/run.ts';
import { countsOfTargets } from '../../../core/run/unknown-targets.ts';
import type { RunTotals } from '../../port/runs.ts';
import { jsonText } from '../json-text.ts';
import type { SqlSession } from '../session.ts';

/** Number of targets that a notice names. */
const namedTargets = 5;
/** Number of failures in a report. */
const reportedFailures = 100;

export async function readTotals(session: SqlSession, runId: string): Promise<RunTotals> {
  return {
    units: await readStates(session, runId),
    counts: await readCounts(session, runId),
    failures: await readFailures(session, runId),
    notices: await readNotices(session, runId),
  };
}

async function readStates(session: SqlSession, runId: string): Promise<RunTotals['units']> {
  const rows = await session.rows<{ state: UnitState; units: number }>(
    'SELECT state, count(*) AS units FROM run_unit WHERE run_id = $1 GROUP BY state',
    [runId],
  );
  const totals = { total: 0, open: 0, done: 0, held: 0, failed: 0, cancelled: 0 };
  const ofState = Object.fromEntries(rows.map(({ state, units }) => [state, units]));
  return { ...totals, ...ofState, total: rows.reduce((sum, { units }) => sum + units, 0) };
}

/** More than the places of the counts or notices of a unit. */
const placesOfUnit = 10_000;

/** SQL of the order of what units hold: by unit, then by its place there. */
function orderOf(place: string): string {
  return `CAST(unit AS BIGINT) * ${placesOfUnit} + ${place}`;
}

/** Sums over the units; over the targets for what counts targets. */
async function readCounts(session: SqlSession, runId: string): Promise<RunTotals['counts']> {
  const rows = await session.rows<{ name: string; total: number }>(
    `WITH counted AS (
       SELECT c.name, CAST(c.value AS FLOAT8) AS value, ${orderOf('c.place')} AS place,
         CASE WHEN c.name IN (SELECT ${session.dialect.each('$2', 'VARCHAR')}) THEN target END AS target
       FROM run_unit, LATERAL ${session.dialect.members('counts')} c WHERE run_id = $1 AND state <> 'open')
     SELECT name, sum(value) AS total FROM (
       SELECT name, CASE WHEN target IS NULL THEN sum(value) ELSE max(value) END AS value, min(place) AS place
       FROM counted GROUP BY name, target) of_target
     GROUP BY name ORDER BY min(place)`,
    [runId, jsonText(countsOfTargets)],
  );
  return Object.fromEntries(rows.map(({ name, total }) => [name, total]));
}

/** Units that were tried come first: a run that was stopped has far more that were not. */
async function readFailures(session: SqlSession, runId: string): Promise<readonly RunFailure[]> {
  const rows = await session.rows<{ target: string; state: 'failed' | 'held'; fault: string | null }>(
    `SELECT target, state, fault FROM run_unit WHERE run_id = $1 AND state IN ('failed', 'held')
     ORDER BY CASE WHEN CAST(fault AS VARCHAR) LIKE '%"not-tried"%' THEN 1 ELSE 0 END, unit LIMIT $2`,
    [runId, reportedFailures],
  );
  return rows.map(({ target, state, fault }) => ({ target, state, ...parseFault(fault) }));
}

function parseFault(fault: string | null): Fault {
  return fault === null ? { code: 'unexplained', message: 'no reason was given' } : (JSON.parse(fault) as Fault);
}

async function readNotices(session: SqlSession, runId: string): Promise<readonly string[]> {
  const rows = await session.rows<{ notice: string; targets: readonly string[]; count: number }>(
    `SELECT notice, (array_agg(DISTINCT target ORDER BY target))[1:$2] AS targets, count(DISTINCT target) AS count FROM (
       SELECT target, ${orderOf('n.place')} AS place, n.value AS notice
 FROM run_unit, LATERAL ${session.dialect.items('notices')} n WHERE run_id = $1) noted
     GROUP BY notice ORDER BY min(place)`,
    [runId, namedTargets],
  );
  return rows.map(({ notice, targets, count }) => notice.replace('{targets}', () => targetsText(targets, count)));
}

function targetsText(targets: readonly string[], count: number): string {
  const rest = count - targets.length;
  return rest > 0 ? `${targets.join(', ')} and ${rest} more` : targets.join(', ');
}
