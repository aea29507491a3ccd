/** Schedules as a face shows them: what comes next, and what came last. */
import type { Config } from '../../../config/schema.ts';
import type { Role } from '../../core/access/role.ts';
import type { App } from '../app.ts';
import { cronTicks, declaredSchedules, roleOf, roleToApply, type Schedule, scheduleOf } from './schedule.ts';

export interface ScheduleList {
  /** Of the ledger; null before the first application. */
  readonly revision: number | null;
  /** Of the configuration; null where it says nothing of schedules. */
  readonly configuredRevision: number | null;
  readonly schedules: readonly ScheduleDocument[];
  /** Who may apply those of the configuration. */
  readonly roleToApply: Role;
}

export type ScheduleDocument = Awaited<ReturnType<typeof scheduleDocument>>;

/** Reads the ledger alone. Throws UsageError for a schedule of another version. `config`: what could be applied now. */
export async function listSchedules(app: App, nowMs: number, config: Config = app.config): Promise<ScheduleList> {
  const { revision, schedules } = await app.ledger.schedules.read();
  const documents = [];
  for (const stored of schedules) documents.push(await scheduleDocument(scheduleOf(stored), app, nowMs));
  const declared = declaredSchedules(config);
  return {
    revision: revision ?? null,
    configuredRevision: declared?.revision ?? null,
    schedules: documents,
    roleToApply: declared === undefined ? 'operate' : roleToApply(declared, schedules, app),
  };
}

/** JSON of a schedule: instants as ISO text. A paused one has a next tick, which it will skip. */
export async function scheduleDocument(schedule: Schedule, app: App, nowMs: number) {
  const { stored, definition } = schedule;
  const { ledger } = app;
  const { name, paused, lastTick, lastRunId } = stored;
  const { cron, timeZone, job, parameters, catchUp } = definition;
  const next = cronTicks(definition).next(Math.max(nowMs, lastTick?.dueMs ?? 0));
  const lastRun = lastRunId === undefined ? undefined : await ledger.runs.read(lastRunId);
  return {
    name,
    cron,
    timeZone,
    job,
    parameters,
    catchUp,
    role: roleOf(schedule, app),
    paused: paused === undefined ? null : { at: iso(paused.atMs), by: paused.by },
    next: iso(next),
    lastTick:
      lastTick === undefined
        ? null
        : { due: iso(lastTick.dueMs), outcome: lastTick.outcome, because: lastTick.words ?? null },
    // A run that was pruned is known by its id alone.
    lastRun:
      lastRunId === undefined
        ? null
        : { runId: lastRunId, state: lastRun?.state ?? null, startedAt: iso(lastRun?.startedAtMs) },
  };
}

function iso(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString();
}
