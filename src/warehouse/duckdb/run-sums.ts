/** Owns the sums over a run's units, reckoned by DuckDB: however many units, only the sums leave it. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { RunFailure, UnitState } from '../../core/run.ts';
import type { RunSums } from '../warehouse.ts';
import { readRows } from './sql.ts';

/** How many targets a notice names. */
const targetsTold = 5;
/** How many failures a report tells of. */
const failuresTold = 100;

export async function readSums(connection: DuckDBConnection, runId: string): Promise<RunSums> {
  return {
    units: await readStates(connection, runId),
    counts: await readCounts(connection, runId),
    failures: await readFailures(connection, runId),
    notices: await readNotices(connection, runId),
  };
}

async function readStates(connection: DuckDBConnection, runId: string): Promise<RunSums['units']> {
  const rows = await readRows<{ state: UnitState; units: number }>(
    connection,
    'SELECT state, count(*) AS units FROM run_unit WHERE run_id = $1 GROUP BY state',
    [runId],
  );
  const sums = { total: 0, open: 0, done: 0, held: 0, failed: 0, cancelled: 0 };
  for (const { state, units } of rows) {
    sums[state] += units;
    sums.total += units;
  }
  return sums;
}

async function readCounts(connection: DuckDBConnection, runId: string): Promise<RunSums['counts']> {
  const rows = await readRows<{ name: string; total: number }>(
    connection,
    `SELECT c.key AS name, sum(c.value::DOUBLE) AS total FROM run_unit, json_each(counts) c
     WHERE run_id = $1 AND state <> 'open' GROUP BY name ORDER BY min((unit, c.id))`,
    [runId],
  );
  return Object.fromEntries(rows.map(({ name, total }) => [name, total]));
}

async function readFailures(connection: DuckDBConnection, runId: string): Promise<readonly RunFailure[]> {
  const rows = await readRows<{ target: string; state: 'failed' | 'held'; fault: string | null }>(
    connection,
    `SELECT target, state, fault FROM run_unit WHERE run_id = $1 AND state IN ('failed', 'held') ORDER BY unit LIMIT $2`,
    [runId, failuresTold],
  );
  return rows.map(({ target, state, fault }) => ({ target, state, ...parseFault(fault) }));
}

function parseFault(fault: string | null): Pick<RunFailure, 'code' | 'message' | 'hint'> {
  return fault === null
    ? { code: 'unexplained', message: 'no reason was given' }
    : (JSON.parse(fault) as Pick<RunFailure, 'code' | 'message' | 'hint'>);
}

async function readNotices(connection: DuckDBConnection, runId: string): Promise<readonly string[]> {
  const rows = await readRows<{ notice: string; targets: readonly string[]; count: number }>(
    connection,
    `SELECT notice, list_sort(list(DISTINCT target))[:$2] AS targets, count(DISTINCT target) AS count FROM (
       SELECT unit, target, n.id AS place, n.value->>'$' AS notice FROM run_unit, json_each(notices) n WHERE run_id = $1)
     GROUP BY notice ORDER BY min((unit, place))`,
    [runId, targetsTold],
  );
  return rows.map(({ notice, targets, count }) => notice.replace('{targets}', () => targetsText(targets, count)));
}

function targetsText(targets: readonly string[], count: number): string {
  const rest = count - targets.length;
  return rest > 0 ? `${targets.join(', ')} and ${rest} more` : targets.join(', ');
}
