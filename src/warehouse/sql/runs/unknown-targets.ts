/** Targets of exports that the service does not know. */
import type { ReadKind, UnitOutcome } from '../../../core/run/run.ts';
import { outcomeOfUnknown } from '../../../core/run/unknown-targets.ts';
import type { SettleUnknown } from '../../port/unknown-targets.ts';
import { jsonText } from '../json-text.ts';
import type { SqlSession } from '../session.ts';
import { openAmong, settleOpen } from './run-units.ts';

/** A relation with the `target`s that are bound at `$1`, without an alias. */
function namedTargets({ dialect }: SqlSession): string {
  return `(SELECT DISTINCT ${dialect.each('$1', 'VARCHAR')} AS target)`;
}

/** The unknown targets of a kind, as a relation with `target`, `since` and `run_id`. */
export function unknownOf(kind: ReadKind): string {
  return `(SELECT target, since, run_id FROM unknown_target WHERE kind = '${kind}')`;
}

/** A kind of targets: `withRows` is the query of those among `named`, a relation, that have rows, as `target`. */
export interface TargetRows {
  readonly kind: ReadKind;
  readonly withRows: (named: string) => string;
}

/** Settles the open units among the given ones, and notes their targets. */
export async function settleUnknown(
  session: SqlSession,
  { kind, withRows }: TargetRows,
  { runId, units, atMs }: Parameters<SettleUnknown>[0],
): Promise<readonly UnitOutcome[]> {
  const open = await openAmong(
    session,
    runId,
    units.map(({ unit }) => unit),
  );
  const unsettled = units.filter(({ unit }) => open.has(unit));
  if (unsettled.length === 0) return [];
  const named = namedTargets(session);
  const targets = jsonText(unsettled.map(({ target }) => target));
  await session.run(
    `INSERT INTO unknown_target (kind, target, since, run_id)
       SELECT '${kind}', target, CAST($2 AS TIMESTAMPTZ), CAST($3 AS VARCHAR) FROM ${named} n ORDER BY target
     ON CONFLICT (kind, target) DO NOTHING`,
    [targets, new Date(atMs), runId],
  );
  const found = await session.rows<{ target: string; isNew: boolean; hasRows: boolean }>(
    `SELECT target, run_id = $2 AS "isNew", target IN (${withRows(named)}) AS "hasRows"
     FROM ${named} n JOIN ${unknownOf(kind)} u USING (target)`,
    [targets, runId],
  );
  const byTarget = new Map(found.map((each) => [each.target, each]));
  const outcomes = unsettled.map(({ unit, target, requests }) => {
    const { isNew = true, hasRows = false } = byTarget.get(target) ?? {};
    return outcomeOfUnknown({ unit, isNew, hasRows, requests });
  });
  await settleOpen(session, runId, outcomes);
  return outcomes;
}

/** These targets have answered. */
export async function forgetUnknown(session: SqlSession, kind: ReadKind, targets: readonly string[]): Promise<void> {
  await session.run(
    `DELETE FROM unknown_target WHERE kind = '${kind}' AND target IN (SELECT target FROM ${namedTargets(session)} n)`,
    [jsonText(targets)],
  );
}
