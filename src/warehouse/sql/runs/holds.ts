/** Holds for operators, and their release: a run that may let as many rows go as were shown (../../port/holds.ts). */
import type { ReadKind } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { HeldPart, HeldRows } from '../../../core/run/held-rows.ts';
import type { Holds } from '../../port/holds.ts';
import { claimForService } from '../ownership/service-claim.ts';
import { dayOfNumber, epochMs, lockRows, type SqlDatabase, type SqlSession } from '../session.ts';
import { takeTurn } from '../writer-turn.ts';
import { findKeyed, keepKey } from './idempotency-keys.ts';
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
      database.transactOnce(async (session) => {
        await takeTurn(session, 'request');
        if (database.service !== undefined) await claimForService(session, database.service);
        const madeId = key && (await findKeyed(session, key));
        if (madeId !== undefined) return { kind: 'repeated', runId: madeId };
        const where = isOfRun(session, kind);
        await lockRows(session, `SELECT 1 FROM ${tableOf(kind)} h WHERE ${where} ORDER BY ${targetOf(kind)}`, [of]);
        const held = await readHeld(session, kind, { where, values: [of] }, 0);
        const [unfinished] = await session.rows<{ runId: string }>(
          `SELECT r.run_id AS "runId" FROM ${tableOf(kind)} h JOIN run r ON r.run_id = h.release_run_id
           WHERE ${where} AND r.state IN ('queued', 'running') LIMIT 1`,
          [of],
        );
        if (unfinished !== undefined) return { kind: 'under-way', ...unfinished };
        if (held.rows !== rows || held.rows === 0) return { kind: 'changed', rows: held.rows };
        const targets = await session.rows<{ target: string }>(
          `SELECT DISTINCT ${targetOf(kind)} AS target FROM ${tableOf(kind)} h WHERE ${where} ORDER BY 1`,
          [of],
        );
        await createRun(
          session,
          request,
          targets.map(({ target }) => target),
        );
        await session.run(
          `UPDATE ${tableOf(kind)} AS h SET release_run_id = CAST($2 AS VARCHAR), ${shownColumns(kind)} WHERE ${where}`,
          [of, request.runId],
        );
        if (key !== undefined) await keepKey(session, key, request);
        return { kind: 'created' };
      }),
  };
}

function tableOf(kind: ReadKind): string {
  return kind === 'uwi' ? 'held_month' : 'held_definition';
}

function targetOf(kind: ReadKind): string {
  return kind === 'uwi' ? 'h.uwi' : 'h.target';
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
