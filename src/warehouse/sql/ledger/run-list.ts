/** Queries over many runs. They read no parameters or reports of runs that they do not return. */
import { z } from 'zod';
import { cursorOf, readCursor } from '../../../core/base/lists.ts';
import type { RunState, RunSummary } from '../../../core/run/run.ts';
import type { ExceptionRule, RunFilter, RunLedger } from '../../port/runs.ts';
import { epochMs, type InSession, jsonText, type SqlSession, type SqlValue } from '../session.ts';
import { readSummaries } from './run-record.ts';
import { targetsLike } from './run-units.ts';

const newestFirst = 'ORDER BY requested_at DESC, run_id DESC';

/** What a filter admits, as a condition over the narrow columns of `run`, and its values. */
class Condition {
  readonly values: SqlValue[] = [];
  readonly #parts: string[] = [];
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  get sql(): string {
    return this.#parts.length === 0 ? '' : `WHERE ${this.#parts.join(' AND ')}`;
  }

  bind(value: SqlValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  add(part: string): void {
    this.#parts.push(part);
  }

  /** All but the page. */
  async admit({
    states,
    job,
    sinceMs,
    untilMs,
    target,
    schedule,
    by,
    exceptions,
  }: Omit<RunFilter, 'limit'>): Promise<void> {
    if (states !== undefined) {
      const { dialect } = this.#session;
      this.add(`state IN (SELECT ${dialect.each(this.bind(jsonText(states)), 'VARCHAR')})`);
    }
    if (job !== undefined) this.add(`job = ${this.bind(job)}`);
    if (sinceMs !== undefined) this.add(`requested_at >= ${this.bind(new Date(sinceMs))}`);
    if (untilMs !== undefined) this.add(`requested_at < ${this.bind(new Date(untilMs))}`);
    if (target !== undefined) {
      const { dialect } = this.#session;
      const named = this.bind(await targetsLike(this.#session, ['run_unit', 'run_target'], target));
      const runsOf = (table: string): string =>
        `SELECT run_id FROM ${table} WHERE target IN (SELECT ${dialect.each(named, 'VARCHAR')})`;
      this.add(`run_id IN (${runsOf('run_unit')} UNION ALL ${runsOf('run_target')})`);
    }
    if (schedule !== undefined) this.add(`schedule = ${this.bind(schedule)}`);
    if (by !== undefined) {
      const part = `lower(${this.bind(by)}::VARCHAR)`;
      this.add(`(strpos(lower(actor), ${part}) > 0 OR strpos(lower(reopened_by), ${part}) > 0)`);
    }
    if (exceptions !== undefined) this.add(this.hasExceptions(exceptions));
  }

  /** As hasExceptions of core/run/job-description.ts, of a run that is done. */
  hasExceptions(rules: readonly ExceptionRule[]): string {
    const { dialect } = this.#session;
    const isCounted = (...names: readonly string[]): string =>
      `coalesce(CAST(${dialect.textAt('settled', names)} AS BIGINT), 0) > 0`;
    const alerts = dialect.textAt('settled', ['alerts']);
    const ofJobs = rules.flatMap(({ job, counts, byAlerts }) => {
      const always = counts.map((name) => isCounted('counts', name));
      // With alerts the next line has said so; without any, it is known from another night.
      const before = byAlerts.map((name) => `(${alerts} IS NULL AND ${isCounted('counts', name)})`);
      const any = [...always, ...before];
      return any.length === 0 ? [] : [`(job = ${this.bind(job)} AND (${any.join(' OR ')}))`];
    });
    const isAlert = `(${alerts} IS NOT NULL AND ${alerts} <> '[]')`;
    const isHeld = `(${alerts} IS NULL AND ${isCounted('units', 'held')})`;
    return `(state = 'done' AND (${[isAlert, isHeld, ...ofJobs].join(' OR ')}))`;
  }
}

export const listRuns: InSession<RunLedger['list']> = async (session, filter) => {
  const { limit, cursor, newerThan } = filter;
  const condition = new Condition(session);
  await condition.admit(filter);
  const isBack = newerThan !== undefined;
  const given = newerThan ?? cursor;
  if (given !== undefined) {
    const { requestedAtMs, runId } = (await positionOfRun(session, given)) ?? positionOf(given);
    const position = `(${condition.bind(new Date(requestedAtMs))}::TIMESTAMPTZ, ${condition.bind(runId)}::VARCHAR)`;
    condition.add(`(requested_at, run_id) ${isBack ? '>' : '<'} ${position}`);
  }
  const { rowId } = session.dialect;
  const nearest = isBack ? 'ORDER BY requested_at, run_id' : newestFirst;
  // The page by its narrow columns first, then its summaries.
  const page = `SELECT ${rowId} FROM run ${condition.sql} ${nearest} LIMIT ${condition.bind(limit + 1)}`;
  const found = await readSummaries(session, `WHERE ${rowId} IN (${page}) ${newestFirst}`, condition.values);
  const hasMore = found.length > limit;
  const runs = isBack ? found.slice(-limit) : found.slice(0, limit);
  const cursorAt = (run: RunSummary | undefined): string | undefined => run && cursorOf(run.requestedAtMs, run.runId);
  return {
    runs,
    // The run of the cursor itself is on the other side.
    cursor: hasMore || isBack ? cursorAt(runs.at(-1)) : undefined,
    newer: (isBack && hasMore) || (!isBack && given !== undefined) ? cursorAt(runs[0]) : undefined,
  };
};

export const countRuns: InSession<RunLedger['count']> = async (session, filter, rules) => {
  const { states: _, exceptions: __, ...rest } = filter;
  const condition = new Condition(session);
  await condition.admit(rest);
  const rows = await session.rows<{ state: RunState; runs: number; exceptions: number }>(
    `SELECT state, count(*) AS runs, count(*) FILTER (WHERE ${condition.hasExceptions(rules)}) AS exceptions
     FROM run ${condition.sql} GROUP BY state`,
    condition.values,
  );
  const none = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0, interrupted: 0 };
  return {
    ...none,
    ...Object.fromEntries(rows.map(({ state, runs }) => [state, runs])),
    exceptions: rows.reduce((sum, { exceptions }) => sum + exceptions, 0),
  };
};

type RunPosition = Pick<RunSummary, 'requestedAtMs' | 'runId'>;

/** Undefined for what is no id of a run. */
async function positionOfRun(session: SqlSession, runId: string): Promise<RunPosition | undefined> {
  const [run] = await session.rows<RunPosition>(
    `SELECT ${epochMs('requested_at')} AS "requestedAtMs", run_id AS "runId" FROM run WHERE run_id = $1`,
    [runId],
  );
  return run;
}

const runPosition = z.tuple([z.int(), z.string()]);

function positionOf(cursor: string): RunPosition {
  const [requestedAtMs, runId] = readCursor(cursor, runPosition, {
    list: 'a list of runs',
    hint: 'Take the cursor that the list before gave, whole, or the id of its last run.',
  });
  return { requestedAtMs, runId };
}

/** The newest run with this job and request key that has not ended. */
export async function findUnfinished(
  session: SqlSession,
  { job, requestKey }: { readonly job: string; readonly requestKey: string },
): Promise<RunSummary | undefined> {
  const which = `WHERE state IN ('queued', 'running') AND job = $1 AND request_key = $2 ${newestFirst} LIMIT 1`;
  return (await readSummaries(session, which, [job, requestKey]))[0];
}

/** No LIKE: the input may contain its wildcards. */
export const findRuns: InSession<RunLedger['find']> = async (session, prefix, limit) => {
  const rows = await session.rows<{ runId: string; state: RunSummary['state']; matches: number }>(
    `SELECT run_id AS "runId", state, count(*) OVER () AS matches FROM run WHERE starts_with(run_id, $1)
     ${newestFirst} LIMIT $2`,
    [prefix, limit],
  );
  return { count: rows[0]?.matches ?? 0, newest: rows.map(({ runId, state }) => ({ runId, state })) };
};

export const readNames: InSession<RunLedger['names']> = (session, limit) =>
  session.rows(
    `SELECT run_id AS "runId", job, CASE WHEN job LIKE 'push %' THEN ${session.dialect.textAt('params', ['name'])} END AS file
     FROM run ${newestFirst} LIMIT $1`,
    [limit],
  );

export const readUnfinished: InSession<RunLedger['unfinished']> = (session) =>
  session.rows(
    `SELECT run_id AS "runId", round AS generation FROM run WHERE state IN ('queued', 'running') ORDER BY requested_at, run_id`,
  );
