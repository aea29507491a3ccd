/**
 * The ledger of runs (docs/design.md section 5). Each call is one transaction. What decides by the state of a run locks its
 * row first; a unit is settled by one statement, which looks at its state again once it has its row.
 */
import { UsageError } from '../../../core/base/errors.ts';
import { isFinished, type PlannedUnit, type RunHead, type RunReport, type RunRequest } from '../../../core/run/run.ts';
import type { RunLedger, Targets } from '../../port/runs.ts';
import { claimForService } from './service-claim.ts';
import { endReads } from '../daily/read-order.ts';
import { jsonText, lockRows, type SqlColumns, type SqlDatabase, type SqlSession, takeTurn } from '../session.ts';
import { findKeyed, keepKey } from './profile-store.ts';
import { findRuns, findUnfinished, listRuns, readSummary, readUnfinished } from './run-list.ts';
import { dropTargets, knownHead, readHead, readRun, readTargets, readTotals, storeTargets } from './run-record.ts';
import { settleOpen } from './run-units.ts';

export function createRunLedger(database: SqlDatabase): RunLedger {
  return {
    create: (request, targets) =>
      database.transactOnce(async (session) => {
        if (database.service !== undefined) await claimForService(session, database.service);
        await createRun(session, request, targets);
      }),
    createOnce: (request, targets, key) =>
      database.transactOnce(async (session) => {
        await takeTurn(session, 'request');
        if (database.service !== undefined) await claimForService(session, database.service);
        const madeId = key && (await findKeyed(session, key));
        if (madeId !== undefined) return readSummary(session, madeId);
        const unfinished = await findUnfinished(session, request);
        if (unfinished === undefined) await createRun(session, request, targets);
        if (key !== undefined) await keepKey(session, key, { ...request, runId: unfinished?.runId ?? request.runId });
        return unfinished;
      }),
    createKeyed: (request, key, targets) =>
      database.transactOnce(async (session) => {
        await takeTurn(session, 'request');
        if (database.service !== undefined) await claimForService(session, database.service);
        const runId = await findKeyed(session, key);
        if (runId !== undefined) return runId;
        await createRun(session, request, targets);
        await keepKey(session, key, request);
        return undefined;
      }),
    findKeyed: (key) => database.transact((session) => findKeyed(session, key)),
    read: (runId) => database.transact((session) => readRun(session, runId)),
    readHead: (runId) => database.transact((session) => readHead(session, runId)),
    list: (filter) => database.transact((session) => listRuns(session, filter)),
    find: (prefix, limit) => database.transact((session) => findRuns(session, prefix, limit)),
    unfinished: () => database.transact(readUnfinished),
    targets: (runId) => readTargets(database, runId),
    savePlan: (runId, units, startedAtMs) =>
      database.transact((session) => savePlan(session, runId, units, startedAtMs)),
    resume: (runId) => database.transact((session) => resume(session, runId)),
    openUnits: (runId, chunk) => database.transact((session) => readOpenUnits(session, runId, chunk)),
    unsettledUnits: (runId) => database.transact((session) => countUnsettled(session, runId)),
    openChunks: (runId) => database.transact((session) => readOpenChunks(session, runId)),
    settle: async (runId, outcomes) =>
      outcomes.length === 0 ? [] : database.transact((session) => settleOpen(session, runId, outcomes)),
    settleRest: (runId, outcome) => database.transact((session) => settleRest(session, runId, outcome)),
    totals: (runId) => database.transact((session) => readTotals(session, runId)),
    finish: (report) => database.transact((session) => finish(session, report)),
    reopen: (runId, by) => database.transact((session) => reopen(session, runId, by)),
  };
}

/** Run and targets in one transaction. Another one that creates a run of the id waits for this one's end. */
export async function createRun(session: SqlSession, request: RunRequest, targets?: Targets): Promise<void> {
  const { runId, job, params, service, actor, requestedAtMs, requestKey = null } = request;
  const created = await session.run(
    `INSERT INTO run (run_id, job, params, state, round, requested_at, service, actor, request_key)
     VALUES ($1, $2, $3, 'queued', 0, $4, $5, $6, $7) ON CONFLICT (run_id) DO NOTHING`,
    [runId, job, jsonText(params ?? null), new Date(requestedAtMs), service, actor, requestKey],
  );
  if (created === 0) throw new UsageError(`there is a run ${runId} already`);
  if (targets === undefined) return;
  const targetCount = await storeTargets(session, runId, targets);
  await session.run('UPDATE run SET target_count = $2 WHERE run_id = $1', [runId, targetCount]);
}

/** So that what its state allows is done once. */
async function lockRun(session: SqlSession, runId: string): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM run WHERE run_id = $1', [runId]);
}

function unitColumns(runId: string): SqlColumns<PlannedUnit> {
  return {
    run_id: () => runId,
    unit: ({ unit }) => unit,
    chunk: ({ chunk }) => chunk,
    target: ({ target }) => target,
    spec: ({ spec }) => jsonText(spec ?? null),
    state: () => 'open',
    counts: () => null,
    fault: () => null,
    notices: () => null,
    keeps_counts: () => null,
  };
}

async function savePlan(
  session: SqlSession,
  runId: string,
  units: readonly PlannedUnit[],
  startedAtMs: number,
): Promise<void> {
  await lockRun(session, runId);
  const run = await knownHead(session, runId);
  if (run.unitCount !== undefined || isFinished(run.state)) return;
  await session.append<PlannedUnit>('run_unit', unitColumns(runId), units);
  await session.run(`UPDATE run SET unit_count = $2, state = 'running', started_at = $3 WHERE run_id = $1`, [
    runId,
    units.length,
    new Date(startedAtMs),
  ]);
  await dropTargets(session, runId);
}

async function resume(session: SqlSession, runId: string): Promise<void> {
  await session.run(
    `UPDATE run SET state = 'running' WHERE run_id = $1 AND state = 'queued' AND unit_count IS NOT NULL`,
    [runId],
  );
}

async function readOpenUnits(session: SqlSession, runId: string, chunk: number): Promise<readonly PlannedUnit[]> {
  const rows = await session.rows<Omit<PlannedUnit, 'spec'> & { readonly spec: string }>(
    `SELECT unit, chunk, target, spec FROM run_unit WHERE run_id = $1 AND chunk = $2 AND state = 'open' ORDER BY unit`,
    [runId, chunk],
  );
  return rows.map((row) => ({ ...row, spec: JSON.parse(row.spec) as unknown }));
}

async function countUnsettled(session: SqlSession, runId: string): Promise<number> {
  const [row] = await session.rows<{ units: number }>(
    `SELECT count(*) AS units FROM run_unit WHERE run_id = $1 AND state NOT IN ('done', 'held')`,
    [runId],
  );
  return row?.units ?? 0;
}

async function readOpenChunks(session: SqlSession, runId: string): ReturnType<RunLedger['openChunks']> {
  return session.rows<{ chunk: number; openUnits: number }>(
    `SELECT chunk, count(*) AS "openUnits" FROM run_unit WHERE run_id = $1 AND state = 'open' GROUP BY chunk ORDER BY chunk`,
    [runId],
  );
}

async function settleRest(
  session: SqlSession,
  runId: string,
  { state, fault, notices }: Parameters<RunLedger['settleRest']>[1],
): Promise<number> {
  return session.run(
    `UPDATE run_unit SET state = $2, counts = coalesce(counts, '{}'), fault = $3, notices = $4 WHERE run_id = $1 AND state = 'open'`,
    [runId, state, fault === undefined ? null : jsonText(fault), notices === undefined ? null : jsonText(notices)],
  );
}

async function finish(session: SqlSession, report: RunReport): Promise<void> {
  await lockRun(session, report.runId);
  const run = await knownHead(session, report.runId);
  if (isFinished(run.state) || (await hasOpenUnits(session, report.runId))) return;
  await endReads(session, report.runId);
  const { runId, state, units, counts, finishedAtMs } = report;
  await session.run(`UPDATE run SET state = $2, report = $3, settled = $4, finished_at = $5 WHERE run_id = $1`, [
    runId,
    state,
    jsonText(report),
    jsonText({ units, counts }),
    new Date(finishedAtMs),
  ]);
}

async function hasOpenUnits(session: SqlSession, runId: string): Promise<boolean> {
  const open = await session.rows(`SELECT 1 FROM run_unit WHERE run_id = $1 AND state = 'open' LIMIT 1`, [runId]);
  return open.length > 0;
}

async function reopen(session: SqlSession, runId: string, by: string | null = null): Promise<number> {
  // Its units must not be pruned meanwhile.
  await takeTurn(session, 'retention');
  await lockRun(session, runId);
  const run = await knownHead(session, runId);
  if (!isFinished(run.state)) throw new UsageError(`run ${runId} is ${run.state}: only a finished one can be retried`);
  const opened = run.unitCount === undefined ? await keptTargets(session, runId) : await openUnits(session, run);
  if (opened === 0) return 0;
  await session.run(
    `UPDATE run SET state = 'queued', round = round + 1, report = NULL, settled = NULL, finished_at = NULL,
       reopened_at = current_timestamp, reopened_by = $2
     WHERE run_id = $1`,
    [runId, by],
  );
  return opened;
}

async function openUnits(session: SqlSession, run: RunHead): Promise<number> {
  await refusePruned(session, run);
  return session.run(
    `UPDATE run_unit SET state = 'open', fault = NULL, notices = NULL,
       counts = CASE WHEN keeps_counts THEN counts END
     WHERE run_id = $1 AND state IN ('failed', 'cancelled', 'unknown')`,
    [run.runId],
  );
}

/**
 * The number of targets of a run without a plan; 1 if its job takes none. Throws UsageError if the targets are gone:
 * pruned, or dropped by a version that did not keep them.
 */
async function keptTargets(session: SqlSession, runId: string): Promise<number> {
  const [row] = await session.rows<{ wanted: number | null; kept: number }>(
    `SELECT target_count AS wanted, (SELECT count(*) FROM run_target WHERE run_id = $1) AS kept
     FROM run WHERE run_id = $1`,
    [runId],
  );
  const { wanted = null, kept = 0 } = row ?? {};
  if (wanted === null) return 1;
  if (kept === wanted) return kept;
  throw new UsageError(`run ${runId} ended before it was planned, and its targets are no longer kept`, {
    hint: 'Start a new run for them.',
  });
}

async function refusePruned(session: SqlSession, { runId, unitCount = 0 }: RunHead): Promise<void> {
  const [row] = await session.rows<{ units: number }>('SELECT count(*) AS units FROM run_unit WHERE run_id = $1', [
    runId,
  ]);
  if (row?.units === unitCount) return;
  throw new UsageError(`run ${runId} finished long ago, and its units are no longer kept (retention.unitDays)`, {
    hint: 'Start a new run for the wells in question.',
  });
}
