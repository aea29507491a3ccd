/** Holds for operators, and their release: a run that may let as many rows go as were shown (../../port/daily-production.ts). */
import type { HeldPart, HeldRows } from '../../../core/daily/shrink-guard.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { Holds } from '../../port/daily-production.ts';
import { takeRequestTurn } from './service-claim.ts';
import { dayOfNumber, epochMs, jsonText, type SqlDatabase, type SqlSession, transacted } from '../session.ts';
import { findKeyed, keepKey } from './run-record.ts';
import { createRun } from './run-ledger.ts';

export function createHolds(database: SqlDatabase): Holds {
  return {
    ...transacted<Omit<Holds, 'release'>>(database, {
      ofRun: (session, runId, kind, limit) => readHeld(session, kind, limit, isOfRun(session, kind), [runId]),
      standing: (session, kind, limit) => readHeld(session, kind, limit, sqlOf(kind).where),
    }),
    release: (request, { of, kind, rows }, key) =>
      database.transact(async (session) => {
        await takeRequestTurn(session, database);
        const madeId = key && (await findKeyed(session, key));
        if (madeId !== undefined) return { kind: 'repeated', runId: madeId };
        const holds = await lockHolds(session, kind, of);
        const unfinished = await unfinishedRelease(session, holds);
        if (unfinished !== undefined) return { kind: 'under-way', runId: unfinished };
        const heldRows = holds.reduce((sum, hold) => sum + hold.rows, 0);
        if (heldRows !== rows || heldRows === 0) return { kind: 'changed', rows: heldRows };
        await createRun(session, request, [...new Set(holds.map(({ target }) => target))]);
        const { table, key: keyOfHold, where, shown } = sqlOf(kind);
        await session.run(
          `UPDATE ${table} AS h SET release_run_id = CAST($2 AS VARCHAR), release_rows = rows_missing${shown}
           WHERE ${where} AND ${keyOfHold} IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
          [jsonText(holds.map((hold) => hold.key)), request.runId],
        );
        if (key !== undefined) await keepKey(session, key, request);
        return { kind: 'created' };
      }),
  };
}

/** SQL of a kind of holds, of the table as `h`: `key` names one among its kind, `shown` sets the days that a release shows. */
const heldMonths = {
  table: 'held_month',
  target: 'h.uwi',
  key: `(h.uwi || ' ' || CAST(h.month AS VARCHAR))`,
  where: 'true',
  shown: ', release_first_day = first_day, release_last_day = last_day',
  days: { month: 'substr(CAST(month AS VARCHAR), 1, 7)', firstDay: 'first_day', lastDay: 'last_day' },
};

function sqlOf(kind: ReadKind): typeof heldMonths {
  if (kind === 'uwi') return heldMonths;
  const days = { month: 'NULL', firstDay: 'NULL', lastDay: 'NULL' };
  return {
    table: 'held_definition',
    target: 'h.target',
    key: 'h.target',
    where: `h.kind = '${kind}'`,
    shown: '',
    days,
  };
}

interface LockedHold {
  readonly key: string;
  readonly target: string;
  readonly rows: number;
  readonly releaseRunId: string | null;
}

/** The holds of a run. Others may begin before the transaction ends, and are of no release that it makes. */
function lockHolds(session: SqlSession, kind: ReadKind, runId: string): Promise<readonly LockedHold[]> {
  const { table, target, key } = sqlOf(kind);
  return session.rows<LockedHold>(
    `SELECT ${target} AS target, ${key} AS key, rows_missing AS rows, release_run_id AS "releaseRunId"
     FROM ${table} h WHERE ${isOfRun(session, kind)} ORDER BY 1, 2 ${session.dialect.rowLock('update')}`,
    [runId],
  );
}

async function unfinishedRelease(session: SqlSession, holds: readonly LockedHold[]): Promise<string | undefined> {
  const releases = holds.flatMap(({ releaseRunId }) => releaseRunId ?? []);
  if (releases.length === 0) return undefined;
  const [unfinished] = await session.rows<{ runId: string }>(
    `SELECT run_id AS "runId" FROM run
     WHERE run_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) AND state IN ('queued', 'running') LIMIT 1`,
    [jsonText(releases)],
  );
  return unfinished?.runId;
}

/**
 * The condition that a hold is one of the run `$1`: begun by it, or met by a unit of it that held rows. Where the units of
 * the run are pruned, those that it began are left.
 */
function isOfRun(session: SqlSession, kind: ReadKind): string {
  const isInWindow =
    kind === 'uwi'
      ? `AND h.last_day >= ${dayOf(session, 'fromMs')} - 1 AND h.first_day <= ${dayOf(session, 'toMs')} + 1`
      : '';
  const { where, target } = sqlOf(kind);
  return `${where} AND (h.run_id = $1 OR EXISTS (SELECT 1 FROM run_unit u
    WHERE u.run_id = $1 AND u.state = 'held' AND u.target = ${target} ${isInWindow}))`;
}

/** The day of a bound of a unit's window, in UTC: a day or less from that of any zone. */
function dayOf({ dialect }: SqlSession, bound: 'fromMs' | 'toMs'): string {
  return `(${dayOfNumber(`floor(CAST(${dialect.textAt('u.spec', [bound])} AS FLOAT8) / ${DAY_MS})`)})`;
}

async function readHeld(
  session: SqlSession,
  kind: ReadKind,
  limit: number,
  where: string,
  values: readonly string[] = [],
): Promise<HeldRows> {
  const { table, target, days } = sqlOf(kind);
  const from = `FROM ${table} h WHERE ${where}`;
  const [sums] = await session.rows<{ targets: number; rows: number | null; holds: number }>(
    `SELECT count(DISTINCT ${target}) AS targets, CAST(sum(rows_missing) AS BIGINT) AS rows, count(*) AS holds ${from}`,
    values,
  );
  const { targets = 0, rows = 0, holds = 0 } = sums ?? {};
  const parts = await session.rows<HeldPart>(
    `SELECT ${target} AS target, ${days.month} AS month, rows_missing AS rows, ${days.firstDay} AS "firstDay",
       ${days.lastDay} AS "lastDay", ${epochMs('since')} AS "sinceMs", run_id AS "runId"
     ${from} ORDER BY 1, 2 LIMIT ${limit}`,
    values,
  );
  return { targets, rows: rows ?? 0, holds, parts };
}
