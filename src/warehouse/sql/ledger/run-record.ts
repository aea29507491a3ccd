/** Rows of the table `run` as records. */
import { type Fault, UsageError } from '../../../core/base/errors.ts';
import type {
  RunFailure,
  RunHead,
  RunRecord,
  RunReport,
  RunState,
  RunSummary,
  UnitState,
} from '../../../core/run/run.ts';
import { countsOfTargets } from '../../../core/run/unknown-targets.ts';
import type { RunTotals, Targets } from '../../port/runs.ts';
import { epochMs, jsonText, type SqlDatabase, type SqlSession } from '../session.ts';

interface HeadRow {
  readonly run_id: string;
  readonly job: string;
  readonly params: string;
  readonly state: RunState;
  /** The generation, {@link RunHead.generation}. */
  readonly round: number;
  readonly unit_count: number | null;
}

interface SummaryRow extends Omit<HeadRow, 'params'> {
  readonly service: string | null;
  readonly actor: string | null;
  readonly requested_ms: number;
  readonly reopened_ms: number | null;
  readonly reopened_by: string | null;
  readonly started_ms: number | null;
  readonly finished_ms: number | null;
  readonly target_count: number | null;
  readonly settled: string | null;
}

type RecordRow = SummaryRow & HeadRow & { readonly report: string | null };

const headColumns = 'run_id, job, state, round, unit_count';

/** Without the report: `settled` is the part that a list shows. */
export const summaryColumns = `${headColumns}, service, actor, ${epochMs('requested_at')} AS requested_ms,
  ${epochMs('reopened_at')} AS reopened_ms, reopened_by,
  ${epochMs('started_at')} AS started_ms, ${epochMs('finished_at')} AS finished_ms, target_count, settled`;

export async function readHead(session: SqlSession, runId: string): Promise<RunHead | undefined> {
  const [row] = await session.rows<HeadRow>(`SELECT ${headColumns}, params FROM run WHERE run_id = $1`, [runId]);
  return row && headOf(row);
}

/** Throws UsageError if the run does not exist. */
export async function knownHead(session: SqlSession, runId: string): Promise<RunHead> {
  const run = await readHead(session, runId);
  if (run === undefined) throw new UsageError(`there is no run ${runId}`);
  return run;
}

export async function readRun(session: SqlSession, runId: string): Promise<RunRecord | undefined> {
  const [row] = await session.rows<RecordRow>(`SELECT ${summaryColumns}, params, report FROM run WHERE run_id = $1`, [
    runId,
  ]);
  if (row === undefined) return undefined;
  const report = row.report === null ? undefined : (JSON.parse(row.report) as RunReport);
  return { ...summaryOf(row), ...headOf(row), report };
}

function headOf(row: HeadRow): RunHead {
  return {
    runId: row.run_id,
    job: row.job,
    params: JSON.parse(row.params) as unknown,
    state: row.state,
    generation: row.round,
    unitCount: row.unit_count ?? undefined,
  };
}

export function summaryOf(row: SummaryRow): RunSummary {
  return {
    runId: row.run_id,
    job: row.job,
    state: row.state,
    generation: row.round,
    service: row.service ?? undefined,
    actor: row.actor ?? undefined,
    requestedAtMs: row.requested_ms,
    reopenedAtMs: row.reopened_ms ?? undefined,
    reopenedBy: row.reopened_by ?? undefined,
    startedAtMs: row.started_ms ?? undefined,
    finishedAtMs: row.finished_ms ?? undefined,
    targetCount: row.target_count ?? undefined,
    unitCount: row.unit_count ?? undefined,
    settled: row.settled === null ? undefined : (JSON.parse(row.settled) as RunSummary['settled']),
  };
}

// Targets of runs without a plan, as rows.

/** Rows held in memory before they are appended. */
const appendedAtOnce = 10_000;
/** Each query costs some milliseconds, as do those that a plan asks of each slice. */
const readAtOnce = 5_000;

/** Stores each target once, at the position of its first mention. Returns the number of distinct targets. */
export async function storeTargets(session: SqlSession, runId: string, targets: Targets): Promise<number> {
  await session.run(session.dialect.temporaryTable('named_target', 'place BIGINT, target VARCHAR'));
  let place = 0n;
  const columns = { place: () => place++, target: (target: string) => target };
  for await (const slice of slicesOf(targets, appendedAtOnce)) {
    await session.append('named_target', columns, slice);
  }
  return session.run(
    `INSERT INTO run_target
       SELECT CAST($1 AS VARCHAR), row_number() OVER (ORDER BY first) - 1 AS place, target
       FROM (SELECT target, min(place) AS first FROM named_target GROUP BY target) named ORDER BY place`,
    [runId],
  );
}

/** Reads each slice in a transaction of its own: the caller may use the warehouse in between. */
export async function* readTargets(database: SqlDatabase, runId: string): AsyncGenerator<readonly string[]> {
  for (let place = 0; ; place += readAtOnce) {
    const rows = await database.transact((session) =>
      session.rows<{ target: string }>(
        'SELECT target FROM run_target WHERE run_id = $1 AND place >= $2 AND place < $3 ORDER BY place',
        [runId, place, place + readAtOnce],
      ),
    );
    if (rows.length > 0) yield rows.map(({ target }) => target);
    if (rows.length < readAtOnce) return;
  }
}

export async function dropTargets(session: SqlSession, runId: string): Promise<void> {
  await session.run('DELETE FROM run_target WHERE run_id = $1', [runId]);
}

async function* slicesOf(targets: Targets, size: number): AsyncGenerator<readonly string[]> {
  let slice: string[] = [];
  for await (const target of targets) {
    slice.push(target);
    if (slice.length < size) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

// Totals over a run's units, computed by the engine: for any number of units, only the totals leave it.

/** Number of targets that a notice names. */
const namedTargets = 5;
/** Number of failures in a report. */
const reportedFailures = 100;

export async function readTotals(session: SqlSession, runId: string): Promise<RunTotals> {
  return {
    units: await readStates(session, runId),
    counts: await readCounts(session, runId),
    failures: await readFailures(session, runId),
    notices: await readNotices(session, runId),
  };
}

async function readStates(session: SqlSession, runId: string): Promise<RunTotals['units']> {
  const rows = await session.rows<{ state: UnitState; units: number }>(
    'SELECT state, count(*) AS units FROM run_unit WHERE run_id = $1 GROUP BY state',
    [runId],
  );
  const totals = { total: 0, open: 0, done: 0, held: 0, failed: 0, cancelled: 0 };
  const ofState = Object.fromEntries(rows.map(({ state, units }) => [state, units]));
  return { ...totals, ...ofState, total: rows.reduce((sum, { units }) => sum + units, 0) };
}

/** More than the places of the counts or notices of a unit. */
const placesOfUnit = 10_000;

/** SQL of the order of what units hold: by unit, then by its place there. */
function orderOf(place: string): string {
  return `CAST(unit AS BIGINT) * ${placesOfUnit} + ${place}`;
}

/** Sums over the units; over the targets for what counts targets. */
async function readCounts(session: SqlSession, runId: string): Promise<RunTotals['counts']> {
  const rows = await session.rows<{ name: string; total: number }>(
    `WITH counted AS (
       SELECT c.name, CAST(c.value AS FLOAT8) AS value, ${orderOf('c.place')} AS place,
         CASE WHEN c.name IN (SELECT ${session.dialect.each('$2', 'VARCHAR')}) THEN target END AS target
       FROM run_unit, LATERAL ${session.dialect.members('counts')} c WHERE run_id = $1 AND state <> 'open')
     SELECT name, sum(value) AS total FROM (
       SELECT name, CASE WHEN target IS NULL THEN sum(value) ELSE max(value) END AS value, min(place) AS place
       FROM counted GROUP BY name, target) of_target
     GROUP BY name ORDER BY min(place)`,
    [runId, jsonText(countsOfTargets)],
  );
  return Object.fromEntries(rows.map(({ name, total }) => [name, total]));
}

/** Units that were tried come first: a run that was stopped has far more that were not. */
async function readFailures(session: SqlSession, runId: string): Promise<readonly RunFailure[]> {
  const rows = await session.rows<{ target: string; state: 'failed' | 'held'; fault: string | null }>(
    `SELECT target, state, fault FROM run_unit WHERE run_id = $1 AND state IN ('failed', 'held')
     ORDER BY CASE WHEN CAST(fault AS VARCHAR) LIKE '%"not-tried"%' THEN 1 ELSE 0 END, unit LIMIT $2`,
    [runId, reportedFailures],
  );
  return rows.map(({ target, state, fault }) => ({ target, state, ...parseFault(fault) }));
}

function parseFault(fault: string | null): Fault {
  return fault === null ? { code: 'unexplained', message: 'no reason was given' } : (JSON.parse(fault) as Fault);
}

async function readNotices(session: SqlSession, runId: string): Promise<readonly string[]> {
  const rows = await session.rows<{ notice: string; targets: readonly string[]; count: number }>(
    `SELECT notice, (array_agg(DISTINCT target ORDER BY target))[1:$2] AS targets, count(DISTINCT target) AS count FROM (
       SELECT target, ${orderOf('n.place')} AS place, n.value AS notice
 FROM run_unit, LATERAL ${session.dialect.items('notices')} n WHERE run_id = $1) noted
     GROUP BY notice ORDER BY min(place)`,
    [runId, namedTargets],
  );
  return rows.map(({ notice, targets, count }) => notice.replace('{targets}', () => targetsText(targets, count)));
}

function targetsText(targets: readonly string[], count: number): string {
  const rest = count - targets.length;
  return rest > 0 ? `${targets.join(', ')} and ${rest} more` : targets.join(', ');
}
