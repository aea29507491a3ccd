/** The units of a run with what became of them, for displays. */
import type { Fault } from '../../../core/base/errors.ts';
import type { Counts, UnitState } from '../../../core/run/run.ts';
import type { LedgerUnit, RunLedger, UnitPage } from '../../port/runs.ts';
import { countOf, type InSession, jsonText, type SqlSession, type SqlValue } from '../session.ts';
import { targetsLike } from './targets-like.ts';

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
