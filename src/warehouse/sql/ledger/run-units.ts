/** The units of a run: which are open, settling them once, and what became of each. */
import type { Fault } from '../../../core/base/errors.ts';
import { hasPart } from '../../../core/base/text.ts';
import {
  type Counts,
  outcomeOfUnknown,
  type ReadKind,
  type UnitOutcome,
  type UnitState,
} from '../../../core/run/run.ts';
import type { SettleUnknown } from '../../port/wells.ts';
import type { LedgerUnit, RunLedger, UnitPage } from '../../port/runs.ts';
import { type ObservedBy, observeFailed, observeRead, observeUnknown } from '../alerts/export-observations.ts';
import { countOf, type InSession, jsonText, type JsonText, type SqlSession, type SqlValue } from '../session.ts';

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

/** Those of some units that are open, as {@link openAmong} finds them. */
export async function onlyOpen<Unit extends { readonly unit: number }>(
  session: SqlSession,
  runId: string,
  units: readonly Unit[],
): Promise<readonly Unit[]> {
  const numbers = units.map(({ unit }) => unit);
  const open = await openAmong(session, runId, numbers);
  return units.filter(({ unit }) => open.has(unit));
}

const outcomeFields = {
  unit: 'INTEGER',
  state: 'VARCHAR',
  counts: 'JSON',
  fault: 'JSON',
  notices: 'JSON',
  finding: 'JSON',
  readMs: 'INTEGER',
} as const;

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
    `UPDATE run_unit SET state = o.state, counts = ${session.dialect.merged('run_unit.counts', 'o.counts')}, fault = o.fault, notices = o.notices, finding = o.finding,
       read_ms = o."readMs"
     FROM ${session.dialect.relation('$2', outcomeFields)} o WHERE run_id = $1 AND run_unit.unit = o.unit AND run_unit.state = 'open'
     RETURNING run_unit.unit`,
    [runId, jsonText(outcomes)],
  );
  const units = settled.map(({ unit }) => unit).toSorted((left, right) => left - right);
  const failed = new Set(outcomes.flatMap(({ unit, state }) => (state === 'failed' ? [unit] : [])));
  if (failed.size > 0)
    await observeFailed(
      session,
      runId,
      units.filter((unit) => failed.has(unit)),
    );
  return units;
}

/**
 * Makes a unit keep its counts when it is reopened: it continues at a checkpoint, and the part before stays accounted
 * for (G2).
 */
export async function keepCounts(session: SqlSession, runId: string, unit: number): Promise<void> {
  await session.run(`UPDATE run_unit SET keeps_counts = true WHERE run_id = $1 AND unit = $2`, [runId, unit]);
}

/** Notes counts of a unit that is still open; `counts` are totals from its beginning. */
export async function recordCounts(session: SqlSession, runId: string, unit: number, counts: Counts): Promise<void> {
  const which = `run_id = $1 AND unit = $2 AND state = 'open'`;
  await session.run(`UPDATE run_unit SET counts = $3 WHERE ${which}`, [runId, unit, jsonText(counts)]);
}

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
  const unsettled = await onlyOpen(session, runId, units);
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
  const noticed = { runId, atMs };
  const names = unsettled.map(({ target }) => target);
  await observeUnknown(session, kind, names, noticed);
  const answered = names.map((target) => ({ target }));
  await observeRead(session, kind, answered, noticed);
  const byTarget = new Map(found.map((each) => [each.target, each]));
  const outcomes = unsettled.map(({ unit, target, requests }) => {
    const { isNew = true, hasRows = false } = byTarget.get(target) ?? {};
    return outcomeOfUnknown({ unit, isNew, hasRows, requests });
  });
  await settleOpen(session, runId, outcomes);
  return outcomes;
}

/** These targets have answered. */
export async function forgetUnknown(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly string[],
  by: ObservedBy,
): Promise<void> {
  const forgotten = await session.run(
    `DELETE FROM unknown_target WHERE kind = '${kind}' AND target IN (SELECT target FROM ${namedTargets(session)} n)`,
    [jsonText(targets)],
  );
  if (forgotten > 0) await observeUnknown(session, kind, targets, by);
}

// The units of a run with what became of them, for displays.

interface UnitRow extends Pick<LedgerUnit, 'unit' | 'chunk' | 'target' | 'state'> {
  readonly spec: string | null;
  readonly counts: string | null;
  readonly fault: string | null;
  readonly readMs: number | null;
}

/** What a person has to see comes first. */
const looked: readonly UnitState[] = ['failed', 'held', 'unknown', 'cancelled', 'open', 'done'];
const byState = `CASE state ${looked.map((state, rank) => `WHEN '${state}' THEN ${rank}`).join(' ')} END`;

export const listUnits: InSession<RunLedger['units']> = async (session, runId, filter): Promise<UnitPage> => {
  const { limit, offset = 0, states, part, units } = filter;
  const values: readonly SqlValue[] = [
    runId,
    states === undefined ? null : jsonText(states),
    part === undefined ? null : await targetsLike(session, ['run_unit WHERE run_id = $1'], part, [runId]),
    units === undefined ? null : jsonText(units),
  ];
  const { dialect } = session;
  const quarantined = `coalesce(CAST(${dialect.textAt('counts', ['quarantined'])} AS BIGINT), 0)`;
  const admitted = `run_unit WHERE run_id = $1
    AND ($2::JSON IS NULL OR state IN (SELECT ${dialect.each('$2', 'VARCHAR')}))
    AND ($3::JSON IS NULL OR target IN (SELECT ${dialect.each('$3', 'VARCHAR')}))
    AND ($4::JSON IS NULL OR unit IN (SELECT ${dialect.each('$4', 'INTEGER')}))`;
  const rows = await session.rows<UnitRow>(
    `SELECT unit, chunk, target, spec, state, counts, fault, read_ms AS "readMs" FROM ${admitted}
     ORDER BY ${byState}, ${quarantined} DESC, unit LIMIT $5 OFFSET $6`,
    [...values, limit, offset],
  );
  return {
    units: rows.map(unitOf),
    matches: await countOf(session, admitted, values),
    states: await numbersOf(session, runId),
  };
};

function unitOf({ spec, counts, fault, readMs, ...unit }: UnitRow): LedgerUnit {
  return {
    ...unit,
    spec: spec === null ? undefined : (JSON.parse(spec) as unknown),
    counts: counts === null ? {} : (JSON.parse(counts) as Counts),
    fault: fault === null ? undefined : (JSON.parse(fault) as Fault),
    readMs: readMs ?? undefined,
  };
}

async function numbersOf(session: SqlSession, runId: string): Promise<UnitPage['states']> {
  const rows = await session.rows<{ state: UnitState; units: number }>(
    'SELECT state, count(*) AS units FROM run_unit WHERE run_id = $1 GROUP BY state',
    [runId],
  );
  return Object.fromEntries(rows.map(({ state, units }) => [state, units]));
}

// Targets by a part of their names, by the rule of the search.

/** The distinct targets of some rows that have the part, as a JSON list. `rows`: what stands behind FROM. */
export async function targetsLike(
  session: SqlSession,
  rows: readonly string[],
  part: string,
  values: readonly SqlValue[] = [],
): Promise<JsonText> {
  const distinct = rows.map((from) => `SELECT DISTINCT target FROM ${from}`).join(' UNION ');
  const found = await session.rows<{ target: string }>(distinct, values);
  return jsonText(found.map(({ target }) => target).filter(hasPart(part)));
}
