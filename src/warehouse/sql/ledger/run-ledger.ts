/**
 * The ledger of runs (docs/design.md section 5). Each call is one transaction. What decides by the state of a run locks its
 * row first; a unit is settled by one statement, which looks at its state again once it has its row.
 */
import { UsageError } from '../../../core/base/errors.ts';
import {
  isFinished,
  type PlannedUnit,
  type RunAttempt,
  type RunHead,
  type RunReport,
  type RunRequest,
} from '../../../core/run/run.ts';
import type { RunLedger, Targets } from '../../port/runs.ts';
import { claimForService, takeRequestTurn } from './service-claim.ts';
import { readQuarantineTotals } from '../daily/quarantine.ts';
import { endReads } from '../daily/read-order.ts';
import {
  columnsOf,
  countOf,
  type InSession,
  jsonText,
  lockRows,
  type SqlColumns,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';
import { countRuns, findRuns, findUnfinished, listRuns, readNames, readUnfinished } from './run-list.ts';
import { listUnits, settleOpen } from './run-units.ts';
import {
  findKeyed,
  keepKey,
  knownHead,
  readFigures,
  readHead,
  readRun,
  readSummaries,
  readTargets,
  readTotals,
  storeTargets,
} from './run-record.ts';
import { observeFailed } from '../alerts/export-observations.ts';
import { observeEndOf, quarantineNotice, type RunObservations } from '../../../core/alerts/run-observations.ts';
import { readOpenedBy } from '../alerts/alert-store.ts';
import {
  observeChecks,
  observeEnd,
  observeListAhead,
  observeSilencePart,
  silenceParts,
} from '../alerts/run-observations.ts';

export function createRunLedger(database: SqlDatabase): RunLedger {
  return {
    ...transacted<Omit<RunLedger, 'create' | 'createOnce' | 'createKeyed' | 'targets' | 'settle' | 'finish'>>(
      database,
      {
        findKeyed,
        read: readRun,
        readHead,
        list: listRuns,
        count: countRuns,
        units: listUnits,
        find: findRuns,
        names: readNames,
        unfinished: readUnfinished,
        savePlan,
        resume,
        openUnits: readOpenUnits,
        unsettledUnits: countUnsettled,
        openChunks: readOpenChunks,
        settleRest,
        totals: readTotals,
        figures: readFigures,
        reopen,
      },
    ),
    finish: (report, observations) => finishRun(database, report, observations),
    create: (request, targets) =>
      database.transactOnce(async (session) => {
        await claimForService(session, database);
        await createRun(session, request, targets);
      }),
    createOnce: (request, targets, key) =>
      database.transactOnce(async (session) => {
        await takeRequestTurn(session, database);
        const madeId = key && (await findKeyed(session, key));
        if (madeId !== undefined) return (await readSummaries(session, 'WHERE run_id = $1', [madeId]))[0];
        const unfinished = await findUnfinished(session, request);
        if (unfinished === undefined) await createRun(session, request, targets);
        if (key !== undefined) await keepKey(session, key, { ...request, runId: unfinished?.runId ?? request.runId });
        return unfinished;
      }),
    createKeyed: (request, key, targets) =>
      database.transactOnce(async (session) => {
        await takeRequestTurn(session, database);
        const runId = await findKeyed(session, key);
        if (runId !== undefined) return runId;
        await createRun(session, request, targets);
        await keepKey(session, key, request);
        return undefined;
      }),
    targets: (runId) => readTargets(database, runId),
    settle: async (runId, outcomes) =>
      outcomes.length === 0 ? [] : database.transact((session) => settleOpen(session, runId, outcomes)),
  };
}

/** Run and targets in one transaction. Another one that creates a run of the id waits for this one's end. */
export async function createRun(session: SqlSession, request: RunRequest, targets?: Targets): Promise<void> {
  const { runId, job, params, service, actor, requestedAtMs, requestKey = null, schedule = null } = request;
  const created = await session.run(
    `INSERT INTO run (run_id, job, params, state, round, requested_at, service, actor, request_key, schedule)
     VALUES ($1, $2, $3, 'queued', 0, $4, $5, $6, $7, $8) ON CONFLICT (run_id) DO NOTHING`,
    [runId, job, jsonText(params ?? null), new Date(requestedAtMs), service, actor, requestKey, schedule],
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
    ...columnsOf('unit', 'chunk', 'target'),
    spec: ({ spec }) => jsonText(spec ?? null),
    state: () => 'open',
    counts: () => null,
    fault: () => null,
    notices: () => null,
    keeps_counts: () => null,
    finding: () => null,
    read_ms: () => null,
  };
}

const savePlan: InSession<RunLedger['savePlan']> = async (session, runId, units, startedAtMs) => {
  await lockRun(session, runId);
  const run = await knownHead(session, runId);
  if (run.unitCount !== undefined || isFinished(run.state)) return;
  await session.append<PlannedUnit>('run_unit', unitColumns(runId), units);
  const planned = `UPDATE run SET unit_count = $2, state = 'running', started_at = $3, attempt_started_at = $3
     WHERE run_id = $1`;
  await session.run(planned, [runId, units.length, new Date(startedAtMs)]);
  await session.run('DELETE FROM run_target WHERE run_id = $1', [runId]);
};

const resume: InSession<RunLedger['resume']> = async (session, runId, startedAtMs) => {
  const which = `run_id = $1 AND state = 'queued' AND unit_count IS NOT NULL`;
  const resumed = `UPDATE run SET state = 'running', attempt_started_at = $2 WHERE ${which}`;
  await session.run(resumed, [runId, new Date(startedAtMs)]);
};

const readOpenUnits: InSession<RunLedger['openUnits']> = async (session, runId, chunk) => {
  const rows = await session.rows<Omit<PlannedUnit, 'spec'> & { readonly spec: string }>(
    `SELECT unit, chunk, target, spec FROM run_unit WHERE run_id = $1 AND chunk = $2 AND state = 'open' ORDER BY unit`,
    [runId, chunk],
  );
  return rows.map((row) => ({ ...row, spec: JSON.parse(row.spec) as unknown }));
};

const countUnsettled: InSession<RunLedger['unsettledUnits']> = (session, runId) =>
  countOf(session, `run_unit WHERE run_id = $1 AND state NOT IN ('done', 'held')`, [runId]);

const readOpenChunks: InSession<RunLedger['openChunks']> = (session, runId) =>
  session.rows(
    `SELECT chunk, count(*) AS "openUnits" FROM run_unit WHERE run_id = $1 AND state = 'open' GROUP BY chunk ORDER BY chunk`,
    [runId],
  );

const settleRest: InSession<RunLedger['settleRest']> = async (session, runId, { state, fault, notices }) => {
  const settled = await session.rows<{ unit: number }>(
    `UPDATE run_unit SET state = $2, counts = coalesce(counts, '{}'), fault = $3, notices = $4
     WHERE run_id = $1 AND state = 'open' RETURNING unit`,
    [runId, state, fault === undefined ? null : jsonText(fault), notices === undefined ? null : jsonText(notices)],
  );
  if (state === 'failed' && settled.length > 0)
    await observeFailed(
      session,
      runId,
      settled.map(({ unit }) => unit),
    );
  return settled.length;
};

/** One transaction, and before it one or more by which alerts of many wells fit the memory of an engine. */
async function finishRun(database: SqlDatabase, report: RunReport, observations: RunObservations = {}): Promise<void> {
  const { silence, list, isOfWells } = observations;
  const parts = silence === undefined ? 1 : await database.transact((session) => silenceParts(session));
  if (silence !== undefined && parts > 1) {
    if (list !== undefined) await database.transact((session) => observeListAhead(session, report.runId, list));
    for (const index of Array.from({ length: parts }).keys()) {
      await database.transact((session) => observeSilencePart(session, report.runId, silence, { of: parts, index }));
    }
  }
  if (isOfWells === true) while (await database.transact((session) => observeChecks(session, report.runId)));
  await database.transact((session) => finish(session, report, observations, parts));
}

async function finish(
  session: SqlSession,
  report: RunReport,
  observations: RunObservations,
  parts: number,
): Promise<void> {
  const { runId, state, units, counts, finishedAtMs, workedMs } = report;
  await lockRun(session, runId);
  const run = await knownHead(session, runId);
  if (isFinished(run.state) || (await hasOpenUnits(session, runId))) return;
  await endReads(session, runId);
  const failedUnits = await countOf(session, `run_unit WHERE run_id = $1 AND state = 'failed'`, [runId]);
  const [summary] = await readSummaries(session, 'WHERE run_id = $1', [runId]);
  const { params } = run;
  const end = { schedule: summary?.schedule, params, isPlanned: run.unitCount !== undefined, failedUnits };
  const ended = observations.isAnswer === true ? undefined : observeEndOf(report, end);
  const found = [...(observations.found ?? []), ...(ended === undefined ? [] : [ended])];
  const seen = await observeEnd(session, runId, { ...observations, found }, parts);
  const alerts = await readOpenedBy(session, runId);
  const quarantine =
    observations.isOfWells === true
      ? await readQuarantineTotals(session, runId, { isDone: state === 'done' })
      : undefined;
  const notices = [...report.notices, ...seen, ...(quarantine === undefined ? [] : [quarantineNotice(quarantine)])];
  const finished = 'UPDATE run SET state = $2, report = $3, settled = $4, finished_at = $5 WHERE run_id = $1';
  const settled = jsonText({ units, counts, alerts, ...(workedMs !== undefined && { workedMs }) });
  await session.run(finished, [
    runId,
    state,
    jsonText({ ...report, alerts, notices, ...(quarantine && { quarantine }) }),
    settled,
    new Date(finishedAtMs),
  ]);
}

async function hasOpenUnits(session: SqlSession, runId: string): Promise<boolean> {
  const open = await session.rows(`SELECT 1 FROM run_unit WHERE run_id = $1 AND state = 'open' LIMIT 1`, [runId]);
  return open.length > 0;
}

const reopen: InSession<RunLedger['reopen']> = async (session, runId, by) => {
  // Its units must not be pruned meanwhile.
  await takeTurn(session, 'retention');
  await lockRun(session, runId);
  const run = await knownHead(session, runId);
  if (!isFinished(run.state)) throw new UsageError(`run ${runId} is ${run.state}: only a finished one can be retried`);
  const attempts = await attemptsWithLast(session, runId);
  const opened = run.unitCount === undefined ? await keptTargets(session, runId) : await openUnits(session, run);
  if (opened === 0) return 0;
  await session.run(
    `UPDATE run SET state = 'queued', round = round + 1, report = NULL, settled = NULL, finished_at = NULL,
       attempt_started_at = NULL, reopened_at = current_timestamp, reopened_by = $2, attempts = $3
     WHERE run_id = $1`,
    [runId, by ?? null, jsonText(attempts)],
  );
  return opened;
};

/** The attempts of an ended run, the last one included. */
async function attemptsWithLast(session: SqlSession, runId: string): Promise<readonly RunAttempt[]> {
  const {
    report,
    attempts = [],
    attemptStartedAtMs,
    reopenedAtMs,
    reopenedBy,
    actor,
  } = (await readRun(session, runId)) ?? {};
  if (report === undefined) return attempts;
  const { state, units, counts, stopped, finishedAtMs } = report;
  const by = reopenedAtMs === undefined ? actor : reopenedBy;
  // One that ended before its work began has taken no time.
  const begun = { startedAtMs: attemptStartedAtMs ?? finishedAtMs, finishedAtMs };
  return [
    ...attempts,
    { state, units, counts, ...begun, ...(stopped && { stopped }), ...(by !== undefined && { by }) },
  ];
}

async function openUnits(session: SqlSession, run: RunHead): Promise<number> {
  await refusePruned(session, run);
  return session.run(
    `UPDATE run_unit SET state = 'open', fault = NULL, notices = NULL, finding = NULL,
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
  if ((await countOf(session, 'run_unit WHERE run_id = $1', [runId])) === unitCount) return;
  throw new UsageError(`run ${runId} finished long ago, and its units are no longer kept (retention.unitDays)`, {
    hint: 'Start a new run for the wells in question.',
  });
}
