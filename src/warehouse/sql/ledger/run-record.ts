/** Rows of the table `run` as records. */
import { type Fault, UsageError } from '../../../core/base/errors.ts';
import {
  countsOfTargets,
  type IdempotencyKey,
  KeyReusedError,
  type RunAttempt,
  type RunFailure,
  type RunHead,
  type RunReport,
  type RunRequest,
  type RunSummary,
  type UnitState,
} from '../../../core/run/run.ts';
import {
  type DifferingDays,
  mostUnitsRead,
  nothingFound,
  type RunFindings,
  type UnitFinding,
} from '../../../core/verify/difference.ts';
import type { RunLedger, Targets } from '../../port/runs.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  oneRow,
  recordOf,
  type RowOf,
  type SqlDatabase,
  type SqlSession,
  type SqlValue,
} from '../session.ts';

type HeadRow = RowOf<Omit<RunHead, 'params'>> & { readonly params: string };
type SummaryRow = RowOf<Omit<RunSummary, 'settled' | 'params' | 'namedTargets'>> & {
  readonly settled: string | null;
  readonly params: string;
};

const headColumns = `run_id AS "runId", job, params, state, round AS generation, unit_count AS "unitCount"`;

/** Without the report: `settled` is the part that a list shows. */
const summaryColumns = `run_id AS "runId", job, params, state, round AS generation, service, actor,
  ${epochMs('requested_at')} AS "requestedAtMs", ${epochMs('reopened_at')} AS "reopenedAtMs", reopened_by AS "reopenedBy",
  ${epochMs('started_at')} AS "startedAtMs", ${epochMs('attempt_started_at')} AS "attemptStartedAtMs",
  ${epochMs('finished_at')} AS "finishedAtMs", target_count AS "targetCount", unit_count AS "unitCount", settled,
  schedule`;

export const readHead: InSession<RunLedger['readHead']> = async (session, runId) => {
  const [row] = await session.rows<HeadRow>(`SELECT ${headColumns} FROM run WHERE run_id = $1`, [runId]);
  if (row === undefined) return undefined;
  const { params, ...head } = row;
  return { ...recordOf<Omit<RunHead, 'params'>>(head), params: JSON.parse(params) as unknown };
};

/** Throws UsageError if the run does not exist. */
export async function knownHead(session: SqlSession, runId: string): Promise<RunHead> {
  const run = await readHead(session, runId);
  if (run === undefined) throw new UsageError(`there is no run ${runId}`);
  return run;
}

export const readRun: InSession<RunLedger['read']> = async (session, runId) => {
  const [row] = await session.rows<SummaryRow & { readonly report: string | null; readonly attempts: string | null }>(
    `SELECT ${summaryColumns}, report, attempts FROM run WHERE run_id = $1`,
    [runId],
  );
  if (row === undefined) return undefined;
  const { report, attempts, ...found } = row;
  const [summary] = await summariesOf(session, [found]);
  if (summary === undefined) return undefined;
  return {
    ...summary,
    report: parsed(report) as RunReport | undefined,
    attempts: (parsed(attempts) as readonly RunAttempt[] | undefined) ?? [],
  };
};

/** `rest`: what stands behind FROM run. */
export async function readSummaries(
  session: SqlSession,
  rest: string,
  values: readonly SqlValue[],
): Promise<readonly RunSummary[]> {
  return summariesOf(session, await session.rows<SummaryRow>(`SELECT ${summaryColumns} FROM run ${rest}`, values));
}

async function summariesOf(session: SqlSession, rows: readonly SummaryRow[]): Promise<readonly RunSummary[]> {
  const named = await readNamedTargets(session, rows);
  return rows.map(({ settled, params, ...row }) => ({
    ...recordOf<Omit<RunSummary, 'settled' | 'params' | 'namedTargets'>>(row),
    params: JSON.parse(params) as unknown,
    namedTargets: named.get(row.runId) ?? [],
    settled: parsed(settled) as RunSummary['settled'],
  }));
}

/** Targets that the name of a run may hold. */
const mostNamed = 3;

/** The targets of runs that have few of them, by run id. */
async function readNamedTargets(
  session: SqlSession,
  runs: ReadonlyArray<Pick<SummaryRow, 'runId' | 'targetCount' | 'unitCount'>>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const few = runs.filter(({ targetCount, unitCount }) => (targetCount ?? unitCount ?? mostNamed + 1) <= mostNamed);
  if (few.length === 0) return new Map();
  const among = `run_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const rows = await session.rows<{ runId: string; target: string }>(
    `SELECT run_id AS "runId", target FROM (
       SELECT run_id, target, min(unit) AS place FROM run_unit WHERE ${among} GROUP BY run_id, target
       UNION ALL SELECT run_id, target, place FROM run_target WHERE ${among}) named
     ORDER BY run_id, place`,
    [jsonText(few.map(({ runId }) => runId))],
  );
  const named = new Map<string, string[]>();
  for (const { runId, target } of rows) named.set(runId, [...(named.get(runId) ?? []), target]);
  return named;
}

function parsed(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json);
}

// Targets of runs without a plan, as rows.

const appendedAtOnce = 10_000;
/** Each query costs some milliseconds, as do those that a plan asks of each slice. */
const readAtOnce = 5_000;

/** Stores each target once, at the position of its first mention. Returns the number of distinct targets. */
export async function storeTargets(session: SqlSession, runId: string, targets: Targets): Promise<number> {
  await session.run(session.dialect.temporaryTable('named_target', 'place BIGINT, target VARCHAR'));
  let position = 0n;
  const columns = { place: () => position++, target: (target: string) => target };
  for await (const slice of slicesOf(targets, appendedAtOnce)) await session.append('named_target', columns, slice);
  return session.run(
    `INSERT INTO run_target
       SELECT CAST($1 AS VARCHAR), row_number() OVER (ORDER BY first) - 1 AS place, target
       FROM (SELECT target, min(place) AS first FROM named_target GROUP BY target) named ORDER BY place`,
    [runId],
  );
}

/** Reads each slice in a transaction of its own: the caller may use the warehouse in between. */
export async function* readTargets(database: SqlDatabase, runId: string): AsyncGenerator<readonly string[]> {
  for (let position = 0; ; position += readAtOnce) {
    const rows = await database.transact((session) =>
      session.rows<{ target: string }>(
        'SELECT target FROM run_target WHERE run_id = $1 AND place >= $2 AND place < $3 ORDER BY place',
        [runId, position, position + readAtOnce],
      ),
    );
    if (rows.length > 0) yield rows.map(({ target }) => target);
    if (rows.length < readAtOnce) return;
  }
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

const namedTargets = 5;
const reportedFailures = 100;

const noUnits = { total: 0, open: 0, done: 0, held: 0, failed: 0, cancelled: 0 };

export const readTotals: InSession<RunLedger['totals']> = async (session, runId) => ({
  ...((await readFigures(session, [runId])).get(runId) ?? { units: noUnits, counts: {} }),
  failures: await readFailures(session, runId),
  notices: await readNotices(session, runId),
  found: await readFindings(session, runId),
});

export const readFigures: InSession<RunLedger['figures']> = async (session, runIds) => {
  // Of one run PostgreSQL knows that its index serves.
  const isOne = runIds.length === 1;
  const ofRuns = isOne ? 'run_id = $1' : `run_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const named: SqlValue = isOne ? (runIds[0] ?? '') : jsonText(runIds);
  const states = await session.rows<{ runId: string; state: UnitState; units: number }>(
    `SELECT run_id AS "runId", state, count(*) AS units FROM run_unit WHERE ${ofRuns} GROUP BY run_id, state`,
    [named],
  );
  const figures = new Map<string, { readonly units: typeof noUnits; readonly counts: Record<string, number> }>(
    states.map(({ runId }) => [runId, { units: { ...noUnits }, counts: {} }]),
  );
  for (const { runId, state, units } of states) {
    const ofRun = figures.get(runId)?.units;
    if (ofRun !== undefined) Object.assign(ofRun, { [state]: units, total: ofRun.total + units });
  }
  for (const { runId, name, total } of await readCounts(session, ofRuns, named)) {
    const ofRun = figures.get(runId);
    if (ofRun !== undefined) ofRun.counts[name] = total;
  }
  return figures;
};

/** SQL of the order of the counts or notices that units have: by unit, then by their position there, below 10,000. */
const orderOf = (position: string): string => `CAST(unit AS BIGINT) * 10000 + ${position}`;

/** Sums over the units by run, over the targets for what counts targets. `ofRuns`: SQL of the runs, which $1 names. */
function readCounts(
  session: SqlSession,
  ofRuns: string,
  named: SqlValue,
): Promise<ReadonlyArray<{ readonly runId: string; readonly name: string; readonly total: number }>> {
  return session.rows(
    `WITH counted AS (
       SELECT run_id, c.name, CAST(c.value AS FLOAT8) AS value, ${orderOf('c.place')} AS place,
         CASE WHEN c.name IN (SELECT ${session.dialect.each('$2', 'VARCHAR')}) THEN target END AS target
       FROM run_unit, LATERAL ${session.dialect.members('counts')} c WHERE ${ofRuns} AND state <> 'open')
     SELECT run_id AS "runId", name, sum(value) AS total FROM (
       SELECT run_id, name, CASE WHEN target IS NULL THEN sum(value) ELSE max(value) END AS value, min(place) AS place
       FROM counted GROUP BY run_id, name, target) of_target
     GROUP BY run_id, name ORDER BY run_id, min(place)`,
    [named, jsonText(countsOfTargets)],
  );
}

/** Units that were tried come first: a run that was stopped has far more that were not. */
async function readFailures(session: SqlSession, runId: string): Promise<readonly RunFailure[]> {
  const rows = await session.rows<{ target: string; state: 'failed' | 'held'; fault: string | null }>(
    `SELECT target, state, fault FROM run_unit WHERE run_id = $1 AND state IN ('failed', 'held')
     ORDER BY CASE WHEN CAST(fault AS VARCHAR) LIKE '%"not-tried"%' THEN 1 ELSE 0 END, unit LIMIT $2`,
    [runId, reportedFailures],
  );
  const unexplained = { code: 'unexplained', message: 'no reason was given' };
  return rows.map(({ fault, ...unit }) => ({ ...unit, ...((parsed(fault) as Fault | undefined) ?? unexplained) }));
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

/** A statement that finds nothing for most jobs; the findings themselves are read of the first units alone (G8). */
async function readFindings(session: SqlSession, runId: string): Promise<RunFindings> {
  const { dialect } = session;
  const day = (name: keyof DifferingDays): string => `CAST(${dialect.textAt('finding', ['days', name])} AS INTEGER)`;
  const found = `FROM run_unit WHERE run_id = $1 AND finding IS NOT NULL`;
  const { units, datedUnits, fromDay, toDay } = await oneRow<
    Pick<RunFindings, 'units' | 'datedUnits'> & Readonly<Record<keyof DifferingDays, number | null>>
  >(
    session,
    `SELECT count(*) AS units, count(${day('fromDay')}) AS "datedUnits", min(${day('fromDay')}) AS "fromDay",
       max(${day('toDay')}) AS "toDay" ${found}`,
    [runId],
  );
  if (units === 0) return nothingFound;
  const first = await session.rows<{ target: string; finding: string }>(
    `SELECT target, finding ${found} ORDER BY CASE WHEN ${day('fromDay')} IS NULL THEN 1 ELSE 0 END, unit LIMIT $2`,
    [runId, mostUnitsRead],
  );
  return {
    units,
    datedUnits,
    days: fromDay === null || toDay === null ? undefined : { fromDay, toDay },
    first: first.map(({ target, finding }) => ({ ...(parsed(finding) as UnitFinding), target })),
  };
}

// The keys of requests that made runs (docs/design.md section 11): a request that comes again has the same run.

/** The run of the key. Throws KeyReusedError if the key came with another body. */
export const findKeyed: InSession<RunLedger['findKeyed']> = async (session, given) => {
  const { client, route, key, bodySha256 } = given;
  const [known] = await session.rows<{ runId: string; body: string }>(
    `SELECT run_id AS "runId", body_sha256 AS body FROM idempotency_key WHERE client = $1 AND route = $2 AND key = $3`,
    [client, route, key],
  );
  if (known !== undefined && known.body !== bodySha256) throw new KeyReusedError(given, known.runId);
  return known?.runId;
};

export async function keepKey(
  session: SqlSession,
  { client, route, key, bodySha256 }: IdempotencyKey,
  { runId, requestedAtMs }: RunRequest,
): Promise<void> {
  const values = [client, route, key, bodySha256, runId, new Date(requestedAtMs)];
  await session.run('INSERT INTO idempotency_key VALUES ($1, $2, $3, $4, $5, $6)', values);
}
