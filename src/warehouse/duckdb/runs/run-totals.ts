/** Totals over a run's units, computed by DuckDB: for any number of units, only the totals leave it. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Fault } from '../../../core/base/errors.ts';
import type { RunFailure, UnitState } from '../../../core/run/run.ts';
import { countsOfTargets } from '../../../core/run/unknown-targets.ts';
import type { RunTotals } from '../../port/runs.ts';
import { jsonText, readRows } from '../file/sql.ts';

/** Number of targets that a notice names. */
const namedTargets = 5;
/** Number of failures in a report. */
const reportedFailures = 100;

export async function readTotals(connection: DuckDBConnection, runId: string): Promise<RunTotals> {
  return {
    units: await readStates(connection, runId),
    counts: await readCounts(connection, runId),
    failures: await readFailures(connection, runId),
    notices: await readNotices(connection, runId),
  };
}

async function readStates(connection: DuckDBConnection, runId: string): Promise<RunTotals['units']> {
  const rows = await readRows<{ state: UnitState; units: number }>(
    connection,
    'SELECT state, count(*) AS units FROM run_unit WHERE run_id = $1 GROUP BY state',
    [runId],
  );
  const totals = { total: 0, open: 0, done: 0, held: 0, failed: 0, cancelled: 0 };
  const ofState = Object.fromEntries(rows.map(({ state, units }) => [state, units]));
  return { ...totals, ...ofState, total: rows.reduce((sum, { units }) => sum + units, 0) };
}

/** Sums over the units; over the targets for what counts targets. */
async function readCounts(connection: DuckDBConnection, runId: string): Promise<RunTotals['counts']> {
  const rows = await readRows<{ name: string; total: number }>(
    connection,
    `WITH counted AS (
       SELECT c.key AS name, c.value::DOUBLE AS value, (unit, c.id) AS place,
         CASE WHEN c.key IN (SELECT unnest(from_json($2::JSON, '["VARCHAR"]'))) THEN target END AS target
       FROM run_unit, json_each(counts) c WHERE run_id = $1 AND state <> 'open')
     SELECT name, sum(value) AS total FROM (
       SELECT name, CASE WHEN target IS NULL THEN sum(value) ELSE max(value) END AS value, min(place) AS place
       FROM counted GROUP BY name, target)
     GROUP BY name ORDER BY min(place)`,
    [runId, jsonText(countsOfTargets)],
  );
  return Object.fromEntries(rows.map(({ name, total }) => [name, total]));
}

async function readFailures(connection: DuckDBConnection, runId: string): Promise<readonly RunFailure[]> {
  const rows = await readRows<{ target: string; state: 'failed' | 'held'; fault: string | null }>(
    connection,
    `SELECT target, state, fault FROM run_unit WHERE run_id = $1 AND state IN ('failed', 'held') ORDER BY unit LIMIT $2`,
    [runId, reportedFailures],
  );
  return rows.map(({ target, state, fault }) => ({ target, state, ...parseFault(fault) }));
}

function parseFault(fault: string | null): Fault {
  return fault === null ? { code: 'unexplained', message: 'no reason was given' } : (JSON.parse(fault) as Fault);
}

async function readNotices(connection: DuckDBConnection, runId: string): Promise<readonly string[]> {
  const rows = await readRows<{ notice: string; targets: readonly string[]; count: number }>(
    connection,
    `SELECT notice, list_sort(list(DISTINCT target))[:$2] AS targets, count(DISTINCT target) AS count FROM (
       SELECT unit, target, n.id AS place, n.value->>'$' AS notice FROM run_unit, json_each(notices) n WHERE run_id = $1)
     GROUP BY notice ORDER BY min((unit, place))`,
    [runId, namedTargets],
  );
  return rows.map(({ notice, targets, count }) => notice.replace('{targets}', () => targetsText(targets, count)));
}

function targetsText(targets: readonly string[], count: number): string {
  const rest = count - targets.length;
  return rest > 0 ? `${targets.join(', ')} and ${rest} more` : targets.join(', ');
}
