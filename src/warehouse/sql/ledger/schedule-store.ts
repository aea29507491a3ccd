import type { ScheduleStore, StoredSchedule, TakenTick, TickOutcome } from '../../port/runs.ts';
import { takeRequestTurn } from './service-claim.ts';
import { epochMs, type InSession, type SqlDatabase, type SqlSession, takeTurn, transacted } from '../session.ts';

export function createScheduleStore(database: SqlDatabase): ScheduleStore {
  return transacted<ScheduleStore>(database, {
    read: async (session) => ({
      revision: await readRevision(session),
      schedules: await readSchedules(session),
    }),
    apply: async (session, set, atMs) => {
      await takeRequestTurn(session, database);
      return applySet(session, set, atMs);
    },
    pause: async (session, name, paused) => {
      const values = [name, paused === undefined ? null : new Date(paused.atMs), paused?.by ?? null];
      return (await session.run('UPDATE schedule SET paused_at = $2, paused_by = $3 WHERE name = $1', values)) > 0;
    },
    take: async (session, { name, definition }, tick) => {
      await takeTurn(session, 'request');
      const taken = await session.run(
        `UPDATE schedule SET ${tickColumns} WHERE name = $1 AND definition = $6 AND (due_at IS NULL OR due_at < $2)`,
        [name, ...valuesOf(tick), definition],
      );
      return taken > 0;
    },
    settle: async (session, name, tick) => {
      const settled = `UPDATE schedule SET ${tickColumns} WHERE name = $1 AND due_at = $2`;
      await session.run(settled, [name, ...valuesOf(tick)]);
    },
  });
}

/** Of the values `$2` to `$5` of {@link valuesOf}. */
const tickColumns = 'due_at = $2, outcome = $3, words = $4, run_id = $5';

function valuesOf({ dueMs, outcome, words, runId }: TakenTick) {
  return [new Date(dueMs), outcome, words ?? null, runId ?? null] as const;
}

const applySet: InSession<ScheduleStore['apply']> = async (session, { revision, schedules }, atMs) => {
  const known = await readRevision(session);
  if (known !== undefined && known > revision) return { kind: 'older', revision: known };
  const stored = new Map((await readSchedules(session)).map((each) => [each.name, each.definition]));
  const changed = schedules.filter(({ name, definition }) => stored.get(name) !== definition);
  const wanted = new Set(schedules.map(({ name }) => name));
  const gone = [...stored.keys()].filter((name) => !wanted.has(name));
  const isSame = changed.length === 0 && gone.length === 0;
  if (known === revision) return { kind: isSame ? 'same' : 'differs', revision };
  await session.run('DELETE FROM schedule_revision');
  await session.run('INSERT INTO schedule_revision VALUES ($1, $2)', [revision, new Date(atMs)]);
  for (const name of gone) await session.run('DELETE FROM schedule WHERE name = $1', [name]);
  for (const { name, definition } of changed) {
    await session.run(
      `INSERT INTO schedule (name, definition, since) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, since = excluded.since`,
      [name, definition, new Date(atMs)],
    );
  }
  return { kind: 'applied', revision };
};

async function readRevision(session: SqlSession): Promise<number | undefined> {
  const [row] = await session.rows<{ revision: number }>('SELECT revision FROM schedule_revision');
  return row?.revision;
}

interface ScheduleRow {
  readonly name: string;
  readonly definition: string;
  readonly sinceMs: number;
  readonly dueMs: number | null;
  readonly outcome: TickOutcome | null;
  readonly words: string | null;
  readonly runId: string | null;
  readonly lastRunId: string | null;
  readonly pausedMs: number | null;
  readonly pausedBy: string | null;
}

async function readSchedules(session: SqlSession): Promise<readonly StoredSchedule[]> {
  const rows = await session.rows<ScheduleRow>(
    `SELECT name, definition, ${epochMs('since')} AS "sinceMs", ${epochMs('due_at')} AS "dueMs", outcome, words,
       run_id AS "runId", ${epochMs('paused_at')} AS "pausedMs", paused_by AS "pausedBy",
       (SELECT run.run_id FROM run WHERE run.schedule = schedule.name
        ORDER BY requested_at DESC, run.run_id DESC LIMIT 1) AS "lastRunId"
     FROM schedule ORDER BY name`,
  );
  return rows.map((row) => ({
    name: row.name,
    definition: row.definition,
    sinceMs: row.sinceMs,
    paused: row.pausedMs === null ? undefined : { atMs: row.pausedMs, by: row.pausedBy ?? '' },
    lastTick: tickOf(row),
    lastRunId: row.lastRunId ?? undefined,
  }));
}

function tickOf({ dueMs, outcome, words, runId }: ScheduleRow): TakenTick | undefined {
  if (dueMs === null || outcome === null) return undefined;
  return { dueMs, outcome, ...(words !== null && { words }), ...(runId !== null && { runId }) };
}
