/** Targets of exports that the service does not know, in DuckDB. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { UnitOutcome } from '../../../core/run/run.ts';
import { outcomeOfUnknown } from '../../../core/run/unknown-targets.ts';
import type { SettleUnknown } from '../../port/unknown-targets.ts';
import { instant, jsonText, readRows } from '../file/sql.ts';
import { openAmong, settleOpen } from './run-units.ts';

/** What a target is; the same name may belong to a uwi, a source well id and an equipment id. */
export type TargetKind = 'uwi' | 'well' | 'equipment';

const named = `(SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS target)`;

/** The unknown targets of a kind, as a relation with `target`, `since` and `run_id`. */
export function unknownOf(kind: TargetKind): string {
  return `(SELECT target, since, run_id FROM unknown_target WHERE kind = '${kind}')`;
}

/** A kind of targets: `withRows` is the query of those among `named`, a relation, that have rows, as `target`. */
export interface TargetRows {
  readonly kind: TargetKind;
  readonly withRows: (named: string) => string;
}

/** Settles the open units among the given ones, and notes their targets. */
export async function settleUnknown(
  connection: DuckDBConnection,
  { kind, withRows }: TargetRows,
  { runId, units, atMs }: Parameters<SettleUnknown>[0],
): Promise<readonly UnitOutcome[]> {
  const open = await openAmong(
    connection,
    runId,
    units.map(({ unit }) => unit),
  );
  const unsettled = units.filter(({ unit }) => open.has(unit));
  if (unsettled.length === 0) return [];
  const targets = jsonText(unsettled.map(({ target }) => target));
  await connection.run(
    `INSERT INTO unknown_target SELECT '${kind}', target, ${instant('$2')}, $3
     FROM ${named} ANTI JOIN ${unknownOf(kind)} USING (target)`,
    [targets, BigInt(atMs), runId],
  );
  const found = await readRows<{ target: string; isNew: boolean; hasRows: boolean }>(
    connection,
    `SELECT target, run_id = $2 AS "isNew", target IN (${withRows(named)}) AS "hasRows"
     FROM ${named} JOIN ${unknownOf(kind)} USING (target)`,
    [targets, runId],
  );
  const byTarget = new Map(found.map((each) => [each.target, each]));
  const outcomes = unsettled.map(({ unit, target, requests }) => {
    const { isNew = true, hasRows = false } = byTarget.get(target) ?? {};
    return outcomeOfUnknown({ unit, isNew, hasRows, requests });
  });
  await settleOpen(connection, runId, outcomes);
  return outcomes;
}

/** These targets have answered. */
export async function forgetUnknown(
  connection: DuckDBConnection,
  kind: TargetKind,
  targets: readonly string[],
): Promise<void> {
  await connection.run(`DELETE FROM unknown_target WHERE kind = '${kind}' AND target IN (FROM ${named})`, [
    jsonText(targets),
  ]);
}
