/** A schedule: what the ledger keeps of it, checked, and its ticks. */
import { readCron, type ScheduleDefinition, scheduleSchema } from '../../../config/schedules.ts';
import type { Config } from '../../../config/schema.ts';
import { UsageError } from '../../core/base/errors.ts';
import { isoInstant, nearestName, quotedUnlessPlain } from '../../core/base/text.ts';
import { roleToRun } from '../../core/run/job-description.ts';
import type { Role } from '../../core/base/action.ts';
import type { RunState } from '../../core/run/run.ts';
import { cronWords, type Ticks, ticksOf } from '../../core/time/schedule-ticks.ts';
import { productionCalendar } from '../../core/time/production-day.ts';
import type { ScheduleSet, StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { jobDescriptionOf } from '../runs/run-status.ts';

export interface Schedule {
  readonly stored: StoredSchedule;
  readonly definition: ScheduleDefinition;
}

/** The ticks of a cron in a zone. Throws UsageError if it is none. */
export type TickSource = (schedule: { readonly cron: string; readonly timeZone: string }) => Ticks;

export const cronTicks: TickSource = ({ cron, timeZone }) => {
  const fields = readCron(cron);
  if ('fault' in fields) throw new UsageError(`the cron ${quotedUnlessPlain(cron)} ${fields.fault}`);
  return ticksOf(fields, productionCalendar(timeZone));
};

/** The schedules of the configuration; undefined where it says nothing of any. */
export function declaredSchedules({ schedules }: Config): ScheduleSet | undefined {
  if (schedules === undefined) return undefined;
  const declared = Object.entries(schedules.entries).map(([name, entry]) => ({
    name,
    definition: JSON.stringify(entry),
  }));
  return { revision: schedules.revision, schedules: declared };
}

/** Undefined for a definition of a later version of wellsync. */
export function readSchedule(stored: StoredSchedule): Schedule | undefined {
  const { data: definition } = scheduleSchema.safeParse(JSON.parse(stored.definition));
  return definition && { stored, definition };
}

/** Throws UsageError for a definition of a later version of wellsync. */
export function scheduleOf(stored: StoredSchedule): Schedule {
  const schedule = readSchedule(stored);
  if (schedule !== undefined) return schedule;
  throw new UsageError(`the schedule ${stored.name} is of another version of wellsync, which this one cannot read`);
}

/** Whoever lets a schedule start runs may do what they do: a saved selection deletes (G6). */
export function roleOf({ definition }: Pick<Schedule, 'definition'>, { jobs }: Pick<App, 'jobs'>): Role {
  return roleToRun(jobDescriptionOf(definition.job, jobs), definition.parameters);
}

/** The same rule for all schedules that an application adds or changes. */
export function roleToApply(declared: ScheduleSet, known: readonly StoredSchedule[], app: Pick<App, 'jobs'>): Role {
  const before = new Map(known.map(({ name, definition }) => [name, definition]));
  const changed = declared.schedules.filter(({ name, definition }) => before.get(name) !== definition);
  const definitions = changed.map(({ definition }) => scheduleSchema.parse(JSON.parse(definition)));
  return definitions.some((definition) => roleOf({ definition }, app) === 'delete') ? 'delete' : 'operate';
}

/** Throws UsageError, with the most similar name, if there is no such schedule. */
export function scheduleNamed(name: string, schedules: readonly StoredSchedule[]): Schedule {
  const found = schedules.find((each) => each.name === name);
  if (found !== undefined) return scheduleOf(found);
  const nearest = nearestName(
    name,
    schedules.map((each) => each.name),
  );
  throw new UsageError(`there is no schedule ${quotedUnlessPlain(name)}`, {
    hint:
      nearest === undefined
        ? 'The list of schedules shows those that there are: they are applied from the configuration.'
        : `Do you mean ${nearest}?`,
  });
}

/** Schedules as a face shows them: what comes next, and what came last. */
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
  const { name, paused, lastTick } = stored;
  const { cron, timeZone, job, parameters, catchUp } = definition;
  const upcoming = upcomingOf(cronTicks(definition), Math.max(nowMs, lastTick?.dueMs ?? 0));
  const fields = readCron(cron);
  return {
    name,
    cron,
    cronWords: 'fault' in fields ? cron : cronWords(fields),
    timeZone,
    job,
    parameters,
    catchUp,
    role: roleOf(schedule, app),
    paused: paused === undefined ? null : { at: isoInstant(paused.atMs), by: paused.by },
    next: upcoming[0] ?? null,
    upcoming,
    lastTick:
      lastTick === undefined
        ? null
        : { due: isoInstant(lastTick.dueMs), outcome: lastTick.outcome, because: lastTick.words ?? null },
    runs: await scheduledRuns(name, app),
  };
}

/** A run of a schedule. */
interface ScheduledRun {
  readonly runId: string;
  readonly state: RunState;
  readonly requestedAt: string;
  /** Who began it by hand; null where a tick did. */
  readonly byHand: string | null;
}

const mostRuns = 7;

/** The newest runs of a schedule, begun by ticks or by hand. */
async function scheduledRuns(name: string, { ledger }: App): Promise<readonly ScheduledRun[]> {
  const { runs } = await ledger.runs.list({ limit: mostRuns, schedule: name });
  return runs.map(({ runId, state, requestedAtMs, actor }) => ({
    runId,
    state,
    requestedAt: isoInstant(requestedAtMs),
    byHand: actor === undefined || actor.startsWith(actorOfTicks(name)) ? null : actor,
  }));
}

/** The actor of the runs that its ticks begin, without the host. */
export function actorOfTicks(name: string): string {
  return `schedule/${name}@`;
}

const mostUpcoming = 3;

function upcomingOf(ticks: Ticks, afterMs: number): readonly string[] {
  const upcoming: string[] = [];
  let next = ticks.next(afterMs);
  while (next !== undefined && upcoming.length < mostUpcoming) {
    upcoming.push(isoInstant(next));
    next = ticks.next(next);
  }
  return upcoming;
}

/**
 * Lets the ticks of a schedule be skipped, or with nobody in `by` be taken again. A pause that stands keeps its time and who
 * made it. A run that is under way goes on.
 */
export async function pauseSchedule(
  { ledger }: App,
  { name, paused }: StoredSchedule,
  by: string | undefined,
): Promise<void> {
  await ledger.schedules.pause(name, by === undefined ? undefined : (paused ?? { atMs: Date.now(), by }));
}
