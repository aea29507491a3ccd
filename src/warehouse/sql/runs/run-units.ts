/** The units of a run: which are open, and settling them once. */
import type { Counts, UnitOutcome } from '../../../core/run/run.ts';
import { jsonText } from '../json-text.ts';
import type { SqlSession } from '../session.ts';

/**
 * The open units among the given ones; unknown units are not open. Locks them: whoever works on the same units at the same
 * time waits, and then finds them settled.
 */
export async function openAmong(
  session: SqlSession,
  runId: string,
  units: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await session.rows<{ unit: number }>(
    `SELECT unit FROM run_unit
     WHERE run_id = $1 AND state = 'open' AND unit IN (SELECT ${session.dialect.each('$2', 'INTEGER')})
     ORDER BY unit ${session.dialect.rowLock('update')}`,
    [runId, jsonText(units)],
  );
  return new Set(rows.map(({ unit }) => unit));
}

const outcomeFields = { unit: 'INTEGER', state: 'VARCHAR', counts: 'JSON', fault: 'JSON', notices: 'JSON' } as const;

/**
 * Settles the open units among the given ones. Counts noted before stay unless the outcome has the same name. Returns
 * their ordinals, in order.
 */
export async function settleOpen(
  session: SqlSession,
  runId: string,
  outcomes: readonly UnitOutcome[],
): Promise<readonly number[]> {
  const settled = await session.rows<{ unit: number }>(
    `UPDATE run_unit SET state = o.state, counts = ${session.dialect.merged('run_unit.counts', 'o.counts')}, fault = o.fault, notices = o.notices
     FROM ${session.dialect.relation('$2', outcomeFields)} o WHERE run_id = $1 AND run_unit.unit = o.unit AND run_unit.state = 'open'
     RETURNING run_unit.unit`,
    [runId, jsonText(outcomes)],
  );
  return settled.map(({ unit }) => unit).toSorted((left, right) => left - right);
}

/**
 * Makes a unit keep its counts when it is reopened: it continues at a checkpoint, and the part before stays accounted
 * for (G2).
 */
export async function keepCounts(session: SqlSession, runId: string, unit: number): Promise<void> {
  await session.run(`UPDATE run_unit SET keeps_counts = true WHERE run_id = $1 AND unit = $2`, [runId, unit]);
}

/** Notes counts of a unit that is still open; `counts` are totals from its beginning. */
export async function noteCounts(session: SqlSession, runId: string, unit: number, counts: Counts): Promise<void> {
  await session.run(`UPDATE run_unit SET counts = $3 WHERE run_id = $1 AND unit = $2 AND state = 'open'`, [
    runId,
    unit,
    jsonText(counts),
  ]);
}
