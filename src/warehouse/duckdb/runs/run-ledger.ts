/** The ledger of runs in DuckDB (docs/design.md section 5). Each call is one transaction. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { UsageError } from '../../../core/base/errors.ts';
import { isFinished, type PlannedUnit, type RunHead, type RunReport, type RunRequest } from '../../../core/run/run.ts';
import type { RunLedger, Targets } from '../../port/runs.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { sessionOf } from '../file/session.ts';
import { claimForService } from '../../sql/ownership/service-claim.ts';
import { findRuns, findUnfinished, listRuns, readUnfinished } from './run-list.ts';
import { knownHead, readHead, readRun } from './run-record.ts';
import { readTotals } from './run-totals.ts';
import { dropTargets, readTargets, storeTargets } from './run-targets.ts';
import { settleOpen } from './run-units.ts';
import { instant, jsonText, readRows } from '../file/sql.ts';
import { appendRows } from '../file/append-rows.ts';

export function createRunLedger(file: DatabaseFile): RunLedger {
  return {
    create: (request, targets) =>
      file.transact(async (connection) => {
        if (file.service !== undefined) await claimForService(sessionOf(connection), file.service);
        await createRun(connection, request, targets);
      }),
    createOnce: (request, targets) =>
      file.transact(async (connection) => {
        if (file.service !== undefined) await claimForService(sessionOf(connection), file.service);
        const unfinished = await findUnfinished(connection, request);
        if (unfinished === undefined) await createRun(connection, request, targets);
        return unfinished;
      }),
    read: (runId) => file.transact((connection) => readRun(connection, runId)),
    readHead: (runId) => file.transact((connection) => readHead(connection, runId)),
    list: (filter) => file.transact((connection) => listRuns(connection, filter)),
    find: (prefix, limit) => file.transact((connection) => findRuns(connection, prefix, limit)),
    unfinished: () => file.transact(readUnfinished),
    targets: (runId) => readTargets(file, runId),
    savePlan: (runId, units, startedAtMs) =>
      file.transact((connection) => savePlan(connection, runId, units, startedAtMs)),
    resume: (runId) => file.transact((connection) => resume(connection, runId)),
    openUnits: (runId, chunk) => file.transact((connection) => readOpenUnits(connection, runId, chunk)),
    openChunks: (runId) => file.transact((connection) => readOpenChunks(connection, runId)),
    settle: async (runId, outcomes) =>
      outcomes.length === 0 ? [] : file.transact((connection) => settleOpen(connection, runId, outcomes)),
    settleRest: (runId, outcome) => file.transact((connection) => settleRest(connection, runId, outcome)),
    totals: (runId) => file.transact((connection) => readTotals(connection, runId)),
    finish: (report) => file.transact((connection) => finish(connection, report)),
    reopen: (runId) => file.transact((connection) => reopen(connection, runId)),
  };
}

/** Run and targets in one transaction. */
async function createRun(connection: DuckDBConnection, request: RunRequest, targets?: Targets): Promise<void> {
  const { runId, job, params, service, actor, requestedAtMs, requestKey = null } = request;
  if ((await readHead(connection, runId)) !== undefined) throw new UsageError(`there is a run ${runId} already`);
  const targetCount = targets === undefined ? null : await storeTargets(connection, runId, targets);
  await connection.run(
    `INSERT INTO run (run_id, job, params, state, round, requested_at, service, actor, target_count, request_key)
     VALUES ($1, $2, $3, 'queued', 0, ${instant('$4')}, $5, $6, $7, $8)`,
    [runId, job, jsonText(params ?? null), BigInt(requestedAtMs), service, actor, targetCount, requestKey],
  );
}

async function savePlan(
  connection: DuckDBConnection,
  runId: string,
  units: readonly PlannedUnit[],
  startedAtMs: number,
): Promise<void> {
  const run = await knownHead(connection, runId);
  if (run.unitCount !== undefined || isFinished(run.state)) return;
  await appendRows<PlannedUnit>(connection, 'run_unit', units, [
    () => runId,
    ({ unit }) => unit,
    ({ chunk }) => chunk,
    ({ target }) => target,
    ({ spec }) => jsonText(spec ?? null),
    () => 'open',
    () => null,
    () => null,
    () => null,
    () => null,
  ]);
  await connection.run(
    `UPDATE run SET unit_count = $2, state = 'running', started_at = ${instant('$3')} WHERE run_id = $1`,
    [runId, units.length, BigInt(startedAtMs)],
  );
  await dropTargets(connection, runId);
}

async function resume(connection: DuckDBConnection, runId: string): Promise<void> {
  await connection.run(
    `UPDATE run SET state = 'running' WHERE run_id = $1 AND state = 'queued' AND unit_count IS NOT NULL`,
    [runId],
  );
}

async function readOpenUnits(
  connection: DuckDBConnection,
  runId: string,
  chunk: number,
): Promise<readonly PlannedUnit[]> {
  const rows = await readRows<Omit<PlannedUnit, 'spec'> & { readonly spec: string }>(
    connection,
    `SELECT unit, chunk, target, spec FROM run_unit WHERE run_id = $1 AND chunk = $2 AND state = 'open' ORDER BY unit`,
    [runId, chunk],
  );
  return rows.map((row) => ({ ...row, spec: JSON.parse(row.spec) as unknown }));
}

async function readOpenChunks(connection: DuckDBConnection, runId: string): ReturnType<RunLedger['openChunks']> {
  return readRows<{ chunk: number; openUnits: number }>(
    connection,
    `SELECT chunk, count(*) AS "openUnits" FROM run_unit WHERE run_id = $1 AND state = 'open' GROUP BY chunk ORDER BY chunk`,
    [runId],
  );
}

async function settleRest(
  connection: DuckDBConnection,
  runId: string,
  { state, fault, notices }: Parameters<RunLedger['settleRest']>[1],
): Promise<number> {
  const result = await connection.run(
    `UPDATE run_unit SET state = $2, counts = coalesce(counts, '{}'), fault = $3, notices = $4 WHERE run_id = $1 AND state = 'open'`,
    [runId, state, fault === undefined ? null : jsonText(fault), notices === undefined ? null : jsonText(notices)],
  );
  return result.rowsChanged;
}

async function finish(connection: DuckDBConnection, report: RunReport): Promise<void> {
  const run = await knownHead(connection, report.runId);
  if (isFinished(run.state) || (await hasOpenUnits(connection, report.runId))) return;
  const { runId, state, units, counts, finishedAtMs } = report;
  await connection.run(
    `UPDATE run SET state = $2, report = $3, settled = $4, finished_at = ${instant('$5')} WHERE run_id = $1`,
    [runId, state, jsonText(report), jsonText({ units, counts }), BigInt(finishedAtMs)],
  );
}

async function hasOpenUnits(connection: DuckDBConnection, runId: string): Promise<boolean> {
  const open = await readRows(connection, `SELECT 1 FROM run_unit WHERE run_id = $1 AND state = 'open' LIMIT 1`, [
    runId,
  ]);
  return open.length > 0;
}

async function reopen(connection: DuckDBConnection, runId: string): Promise<number> {
  const run = await knownHead(connection, runId);
  if (!isFinished(run.state)) throw new UsageError(`run ${runId} is ${run.state}: only a finished one can be retried`);
  const opened = run.unitCount === undefined ? await keptTargets(connection, runId) : await openUnits(connection, run);
  if (opened === 0) return 0;
  await connection.run(
    `UPDATE run SET state = 'queued', round = round + 1, report = NULL, settled = NULL, finished_at = NULL,
       reopened_at = current_timestamp
     WHERE run_id = $1`,
    [runId],
  );
  return opened;
}

async function openUnits(connection: DuckDBConnection, run: RunHead): Promise<number> {
  await refusePruned(connection, run);
  const opened = await connection.run(
    `UPDATE run_unit SET state = 'open', fault = NULL, notices = NULL,
       counts = CASE WHEN keeps_counts THEN counts END
     WHERE run_id = $1 AND state IN ('failed', 'cancelled', 'unknown')`,
    [run.runId],
  );
  return opened.rowsChanged;
}

/**
 * The number of targets of a run without a plan; 1 if its job takes none. Throws UsageError if the targets are gone:
 * pruned, or dropped by a version that did not keep them.
 */
async function keptTargets(connection: DuckDBConnection, runId: string): Promise<number> {
  const [row] = await readRows<{ wanted: number | null; kept: number }>(
    connection,
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

async function refusePruned(connection: DuckDBConnection, { runId, unitCount = 0 }: RunHead): Promise<void> {
  const [row] = await readRows<{ units: number }>(
    connection,
    'SELECT count(*) AS units FROM run_unit WHERE run_id = $1',
    [runId],
  );
  if (row?.units === unitCount) return;
  throw new UsageError(`run ${runId} finished long ago, and its units are no longer kept (retention.unitDays)`, {
    hint: 'Start a new run for the wells in question.',
  });
}
