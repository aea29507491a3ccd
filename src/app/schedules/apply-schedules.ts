/** Writes the schedules of the configuration into the ledger, and into the queue, which may lose them. */
import type { Config } from '../../../config/schema.ts';
import { UsageError } from '../../core/base/errors.ts';
import type { NextTick } from '../../queue/port.ts';
import type { ScheduleApplication, StoredSchedule } from '../../warehouse/port/schedules.ts';
import type { App } from '../app.ts';
import { cronTicks, declaredSchedules, scheduleOf } from './schedule.ts';

/** Undefined where the configuration says nothing of schedules. Throws UsageError for another service (G11). */
export async function applySchedules(app: App): Promise<ScheduleApplication | undefined> {
  const declared = declaredSchedules(app.config);
  if (declared === undefined) return undefined;
  await app.checkService();
  return app.ledger.schedules.apply(declared, Date.now());
}

/** Why the configuration was not applied; undefined if the ledger has its schedules. */
export function refusalOf({ kind, revision }: ScheduleApplication, { schedules }: Config): UsageError | undefined {
  if (kind === 'older') {
    return new UsageError(
      `the warehouse has schedules of revision ${revision}, and this configuration is of revision ${schedules?.revision ?? 0}: nothing was changed`,
      { hint: `If this configuration is the newer one, set schedules.revision to ${revision + 1}.` },
    );
  }
  if (kind !== 'differs') return undefined;
  return new UsageError(`the warehouse has other schedules of the same revision ${revision}: nothing was changed`, {
    hint: `Every change needs a higher one: set schedules.revision to ${revision + 1}.`,
  });
}

/** Lets the workers hear of the ticks of what the ledger has. One that this version cannot read is left to others. */
export async function keepInQueue(
  app: App,
  schedules: readonly StoredSchedule[],
  next: NextTick = (schedule, afterMs) => cronTicks(schedule).next(afterMs),
): Promise<void> {
  const queue = await app.queue('lasting');
  const wanted = schedules.map((stored) => {
    const { cron, timeZone } = scheduleOf(stored).definition;
    return { name: stored.name, cron, timeZone };
  });
  await queue.keepTicks(wanted, next);
}
