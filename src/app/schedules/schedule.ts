/** A schedule: what the ledger keeps of it, checked, and its ticks. */
import type { Config } from '../../../config/schema.ts';
import { readCron } from '../../../config/cron.ts';
import { scheduleSchema, type ScheduleDefinition } from '../../../config/schedules.ts';
import { roleToRun } from '../../core/access/needed-role.ts';
import type { Role } from '../../core/access/role.ts';
import { UsageError } from '../../core/base/errors.ts';
import { nearestName } from '../../core/base/nearest-name.ts';
import { quotedUnlessPlain } from '../../core/base/text.ts';
import { type Ticks, ticksOf } from '../../core/schedule/ticks.ts';
import { productionCalendar } from '../../core/time/production-day.ts';
import type { ScheduleSet, StoredSchedule } from '../../warehouse/port/schedules.ts';
import type { App } from '../app.ts';
import { jobDescriptionOf } from '../views/run-outcome.ts';

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
