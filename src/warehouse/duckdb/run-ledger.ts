/** Owns the ledger of runs in DuckDB: what Redis may lose, this keeps (DESIGN.md section 5). Each call is one transaction. */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { UsageError } from '../../core/errors.ts';
import {
  isFinished,
  type PlannedUnit,
  type RunRecord,
  type RunReport,
  type RunRequest,
  type RunState,
} from '../../core/run.ts';
import type { RunLedger } from '../warehouse.ts';
import type { DatabaseFile } from './database-file.ts';
import { readSums } from './run-sums.ts';
import { settleOpen } from './run-units.ts';
import { instant, jsonText, readRows } from './sql.ts';
import { appendRows } from './staging.ts';

/** How long a finished run keeps its `done` units: beyond it, the report says what they said. */
const keepDoneUnitsDays = 30;

export function createRunLedger(file: DatabaseFile): RunLedger {
  return {
    create: (request) => file.transact((connection) => createRun(connection, request)),
    read: (runId) => file.transact((connection) => readRun(connection, runId)),
    list: (filter) => file.transact((connection) => listRuns(connection, filter)),
    savePlan: (runId, units, startedAtMs) =>
      file.transact((connection) => savePlan(connection, runId, units, startedAtMs)),
    resume: (runId) => file.transact((connection) => resume(connection, runId)),
    openUnits: (runId, chunk) => file.transact((connection) => readOpenUnits(connection, runId, chunk)),
    openChunks: (runId) => file.transact((connection) => readOpenChunks(connection, runId)),
    settle: async (runId, outcomes) =>
      outcomes.length === 0 ? [] : file.transact((connection) => settleOpen(connection, runId, outcomes)),
    settleRest: (runId, outcome) => file.transact((connection) => settleRest(connection, runId, outcome)),
    sums: (runId) => file.transact((connection) => readSums(connection, runId)),
    finish: (report) => file.transact((connection) => finish(connection, report)),
    reopen: (runId) => file.transact((connection) => reopen(connection, runId)),
  };
}

async function createRun(
  connection: DuckDBConnection,
  { runId, job, params, requestedAtMs }: RunRequest,
): Promise<void> {
  if ((await readRun(connection, runId)) !== undefined) throw new UsageError(`there is a run ${runId} already`);
  await connection.run(
    `INSERT INTO run (run_id, job, params, state, round, requested_at) VALUES ($1, $2, $3, 'queued', 0, ${instant('$4')})`,
    [runId, job, jsonText(params ?? null), BigInt(requestedAtMs)],
  );
}

interface RunRow {
  readonly run_id: string;
  readonly job: string;
  readonly params: string;
  readonly state: RunState;
  readonly round: number;
  readonly unit_count: number | null;
  readonly requested_ms: number;
  readonly started_ms: number | null;
  readonly finished_ms: number | null;
  readonly report: string | null;
}

const selectRun = `SELECT run_id, job, params, state, round, unit_count, epoch_ms(requested_at) AS requested_ms,
  epoch_ms(started_at) AS started_ms, epoch_ms(finished_at) AS finished_ms, report FROM run`;

async function readRun(connection: DuckDBConnection, runId: string): Promise<RunRecord | undefined> {
  const [row] = await readRows<RunRow>(connection, `${selectRun} WHERE run_id = $1`, [runId]);
  return row && recordOf(row);
}

async function listRuns(
  connection: DuckDBConnection,
  { limit, states }: Parameters<RunLedger['list']>[0],
): Promise<readonly RunRecord[]> {
  const values: DuckDBValue[] = [limit, jsonText(states ?? ['queued', 'running', 'done', 'failed', 'cancelled'])];
  const rows = await readRows<RunRow>(
    connection,
    `${selectRun} WHERE state IN (SELECT unnest(from_json($2::JSON, '["VARCHAR"]')))
     ORDER BY requested_at DESC, run_id DESC LIMIT $1`,
    values,
  );
  return rows.map(recordOf);
}

function recordOf(row: RunRow): RunRecord {
  return {
    runId: row.run_id,
    job: row.job,
    params: JSON.parse(row.params) as unknown,
    requestedAtMs: row.requested_ms,
    state: row.state,
    round: row.round,
    unitCount: row.unit_count ?? undefined,
    startedAtMs: row.started_ms ?? undefined,
    finishedAtMs: row.finished_ms ?? undefined,
    report: row.report === null ? undefined : (JSON.parse(row.report) as RunReport),
  };
}

async function knownRun(connection: DuckDBConnection, runId: string): Promise<RunRecord> {
  const run = await readRun(connection, runId);
  if (run === undefined) throw new UsageError(`there is no run ${runId}`);
  return run;
}

async function savePlan(
  connection: DuckDBConnection,
  runId: string,
  units: readonly PlannedUnit[],
  startedAtMs: number,
): Promise<void> {
  const run = await knownRun(connection, runId);
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
  ]);
  await connection.run(
    `UPDATE run SET unit_count = $2, state = 'running', started_at = ${instant('$3')} WHERE run_id = $1`,
    [runId, units.length, BigInt(startedAtMs)],
  );
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
  const run = await knownRun(connection, report.runId);
  if (isFinished(run.state)) return;
  await connection.run(`UPDATE run SET state = $2, report = $3, finished_at = ${instant('$4')} WHERE run_id = $1`, [
    report.runId,
    report.state,
    jsonText(report),
    BigInt(report.finishedAtMs),
  ]);
  await connection.run(
    `DELETE FROM run_unit WHERE state = 'done' AND run_id IN (
       SELECT run_id FROM run WHERE finished_at < ${instant('$1')} - INTERVAL ${keepDoneUnitsDays} DAY)`,
    [BigInt(report.finishedAtMs)],
  );
}

async function reopen(connection: DuckDBConnection, runId: string): Promise<number> {
  const run = await knownRun(connection, runId);
  if (!isFinished(run.state)) throw new UsageError(`run ${runId} is ${run.state}: only a finished one can be retried`);
  await refusePruned(connection, run);
  // A push goes on at its checkpoint: what lies before it stays accounted for, whatever becomes of the rest (G2).
  const opened = await connection.run(
    `UPDATE run_unit SET state = 'open', fault = NULL, notices = NULL,
       counts = CASE WHEN unit IN (SELECT unit FROM push WHERE push.run_id = $1) THEN counts END
     WHERE run_id = $1 AND state IN ('failed', 'cancelled')`,
    [runId],
  );
  if (opened.rowsChanged === 0) return 0;
  await connection.run(
    `UPDATE run SET state = 'queued', round = round + 1, report = NULL, finished_at = NULL WHERE run_id = $1`,
    [runId],
  );
  return opened.rowsChanged;
}

async function refusePruned(connection: DuckDBConnection, { runId, unitCount = 0 }: RunRecord): Promise<void> {
  const [row] = await readRows<{ units: number }>(
    connection,
    'SELECT count(*) AS units FROM run_unit WHERE run_id = $1',
    [runId],
  );
  if (row?.units === unitCount) return;
  throw new UsageError(
    `run ${runId} finished more than ${keepDoneUnitsDays} days ago: what is known of its units is gone`,
    {
      hint: 'Start a new run for the wells in question.',
    },
  );
}
