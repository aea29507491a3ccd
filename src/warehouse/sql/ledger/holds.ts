/** Holds for operators, and their release: a run that may let as many rows go as were shown (../../port/daily-production.ts). */
import type { HeldPart, HeldRows } from '../../../core/run/held-rows.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { Holds } from '../../port/daily-production.ts';
import { claimForService } from './service-claim.ts';
import { dayOfNumber, epochMs, jsonText, type SqlDatabase, type SqlSession, takeTurn } from '../session.ts';
import { findKeyed, keepKey } from './profile-store.ts';
import { createRun } from './run-ledger.ts';

export function createHolds(database: SqlDatabase): Holds {
  return {
    ofRun: (runId, kind, limit) =>
      database.transact((session) =>
        readHeld(session, kind, { where: isOfRun(session, kind), values: [runId] }, limit),
      ),
    standing: (kind, limit) =>
      database.transact((session) => readHeld(session, kind, { where: isOfKind(kind), values: [] }, limit)),
    release: (request, { of, kind, rows }, key) =>
      database.transact(async (session) => {
        await takeTurn(session, 'request');
        if (database.service !== undefined) await claimForService(session, database.service);
        const madeId = key && (await findKeyed(session, key));
        if (madeId !== undefined) return { kind: 'repeated', runId: madeId };
        const holds = await lockHolds(session, kind, of);
        const unfinished = await unfinishedRelease(session, holds);
        if (unfinished !== undefined) return { kind: 'under-way', runId: unfinished };
        const heldRows = holds.reduce((sum, hold) => sum + hold.rows, 0);
        if (heldRows !== rows || heldRows === 0) return { kind: 'changed', rows: heldRows };
        await createRun(session, request, [...new Set(holds.map(({ target }) => target))]);
        await session.run(
          `UPDATE ${tableOf(kind)} AS h SET release_run_id = CAST($2 AS VARCHAR), ${shownColumns(kind)}
           WHERE ${isOfKind(kind)} AND ${keyOf(kind)} IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
          [jsonText(holds.map((hold) => hold.key)), request.runId],
        );
        if (key !== undefined) await keepKey(session, key, request);
        return { kind: 'created' };
      }),
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
  return session.rows<LockedHold>(
    `SELECT ${targetOf(kind)} AS target, ${keyOf(kind)} AS key, rows_missing AS rows, release_run_id AS "releaseRunId"
     FROM ${tableOf(kind)} h WHERE ${isOfRun(session, kind)} ORDER BY 1, 2 ${session.dialect.rowLock('update')}`,
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

function tableOf(kind: ReadKind): string {
  return kind === 'uwi' ? 'held_month' : 'held_definition';
}

function targetOf(kind: ReadKind): string {
  return kind === 'uwi' ? 'h.uwi' : 'h.target';
}

/** Names a hold among those of its kind. */
function keyOf(kind: ReadKind): string {
  return kind === 'uwi' ? `(h.uwi || ' ' || CAST(h.month AS VARCHAR))` : 'h.target';
}

function shownColumns(kind: ReadKind): string {
  const days = kind === 'uwi' ? ', release_first_day = first_day, release_last_day = last_day' : '';
  return `release_rows = rows_missing${days}`;
}

function isOfKind(kind: ReadKind): string {
  return kind === 'uwi' ? 'true' : `h.kind = '${kind}'`;
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
  return `${isOfKind(kind)} AND (h.run_id = $1 OR EXISTS (SELECT 1 FROM run_unit u
    WHERE u.run_id = $1 AND u.state = 'held' AND u.target = ${targetOf(kind)} ${isInWindow}))`;
}

/** The day of a bound of a unit's window, in UTC: a day or less from that of any zone. */
function dayOf({ dialect }: SqlSession, bound: 'fromMs' | 'toMs'): string {
  return `(${dayOfNumber(`floor(CAST(${dialect.textAt('u.spec', [bound])} AS FLOAT8) / ${DAY_MS})`)})`;
}

async function readHeld(
  session: SqlSession,
  kind: ReadKind,
  { where, values }: { readonly where: string; readonly values: readonly string[] },
  limit: number,
): Promise<HeldRows> {
  const from = `FROM ${tableOf(kind)} h WHERE ${where}`;
  const [sums] = await session.rows<{ targets: number; rows: number | null; holds: number }>(
    `SELECT count(DISTINCT ${targetOf(kind)}) AS targets, CAST(sum(rows_missing) AS BIGINT) AS rows, count(*) AS holds ${from}`,
    values,
  );
  const { targets = 0, rows = 0, holds = 0 } = sums ?? {};
  const month = kind === 'uwi' ? 'substr(CAST(month AS VARCHAR), 1, 7)' : 'NULL';
  const [firstDay, lastDay] = kind === 'uwi' ? ['first_day', 'last_day'] : ['NULL', 'NULL'];
  const parts = await session.rows<HeldPart>(
    `SELECT ${targetOf(kind)} AS target, ${month} AS month, rows_missing AS rows, ${firstDay} AS "firstDay",
       ${lastDay} AS "lastDay", ${epochMs('since')} AS "sinceMs", run_id AS "runId"
     ${from} ORDER BY 1, 2 LIMIT ${limit}`,
    values,
  );
  return { targets, rows: rows ?? 0, holds, parts };
}
