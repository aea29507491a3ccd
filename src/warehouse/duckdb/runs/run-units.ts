/** The units of a run: which are open, and settling them once. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Counts, UnitOutcome } from '../../../core/run/run.ts';
import { jsonText, readRows, relationOf } from '../file/sql.ts';

/** The open units among the given ones; unknown units are not open. */
export async function openAmong(
  connection: DuckDBConnection,
  runId: string,
  units: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await readRows<{ unit: number }>(
    connection,
    `SELECT unit FROM run_unit
     WHERE run_id = $1 AND state = 'open' AND unit IN (SELECT unnest(from_json($2::JSON, '["INTEGER"]')))`,
    [runId, jsonText(units)],
  );
  return new Set(rows.map(({ unit }) => unit));
}

const outcomeRelation = relationOf('$2', {
  unit: 'INTEGER',
  state: 'VARCHAR',
  counts: 'JSON',
  fault: 'JSON',
  notices: 'JSON',
});

/**
 * Settles the open units among the given ones. Counts noted before stay unless the outcome has the same name. Returns
 * their ordinals, in order.
 */
export async function settleOpen(
  connection: DuckDBConnection,
  runId: string,
  outcomes: readonly UnitOutcome[],
): Promise<readonly number[]> {
  const settled = await readRows<{ unit: number }>(
    connection,
    `UPDATE run_unit SET state = o.state, counts = json_merge_patch(coalesce(run_unit.counts, '{}'), o.counts), fault = o.fault, notices = o.notices
     FROM ${outcomeRelation} o WHERE run_id = $1 AND run_unit.unit = o.unit AND run_unit.state = 'open'
     RETURNING run_unit.unit`,
    [runId, jsonText(outcomes)],
  );
  return settled.map(({ unit }) => unit).toSorted((left, right) => left - right);
}

/**
 * Makes a unit keep its counts when it is reopened: it continues at a checkpoint, and the part before stays accounted
 * for (G2).
 */
export async function keepCounts(connection: DuckDBConnection, runId: string, unit: number): Promise<void> {
  await connection.run(`UPDATE run_unit SET keeps_counts = true WHERE run_id = $1 AND unit = $2`, [runId, unit]);
}

/** Notes counts of a unit that is still open; `counts` are totals from its beginning. */
export async function noteCounts(
  connection: DuckDBConnection,
  runId: string,
  unit: number,
  counts: Counts,
): Promise<void> {
  await connection.run(`UPDATE run_unit SET counts = $3 WHERE run_id = $1 AND unit = $2 AND state = 'open'`, [
    runId,
    unit,
    jsonText(counts),
  ]);
}
