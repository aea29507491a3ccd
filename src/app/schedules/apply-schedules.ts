/** Writes the schedules of the configuration into the ledger, and into the queue, which may lose them. */
import type { Config } from '../../../config/schema.ts';
import { UnreachableError, UsageError } from '../../core/base/errors.ts';
import type { NextTick } from '../../queue/port.ts';
import type { ScheduleApplication, StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { serviceIdentityOf } from '../service/service-settings.ts';
import { cronTicks, declaredSchedules, readSchedule } from './schedule.ts';

/** Undefined where the configuration says nothing of schedules. Throws UsageError for another service (G11). */
export async function applySchedules(app: App, config: Config = app.config): Promise<ScheduleApplication | undefined> {
  const declared = declaredSchedules(config);
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

export interface AppliedSchedules {
  /** Whether the ledger had them already. */
  readonly isRepeat: boolean;
  readonly revision: number;
  readonly names: readonly string[];
  /** Whether the workers hear of them at once; if Redis is away, with their next look. */
  readonly isQueued: boolean;
}

/**
 * As a worker does it at its start, for a face; `config` may have been read again since the process began. Throws
 * UsageError if it says nothing of schedules, or is of another service or warehouse (G11);
 * `refused`: why the ledger keeps what it has.
 */
export async function applyConfigured(
  app: App,
  config: Config,
): Promise<AppliedSchedules | { readonly refused: UsageError }> {
  requireSameLocations(app.config, config);
  const application = await applySchedules(app, config);
  if (application === undefined) {
    throw new UsageError('the configuration says nothing of schedules: nothing was changed', {
      hint: 'Name them in schedules.entries, with a schedules.revision; config/wellsync.yaml has an example.',
    });
  }
  const refused = refusalOf(application, config);
  if (refused !== undefined) return { refused };
  const { schedules } = await app.ledger.schedules.read();
  const isQueued = await app.queue('prompt').then(
    () => keepInQueue(app, schedules).then(() => true),
    (error: unknown) => {
      if (error instanceof UnreachableError) return false;
      throw error;
    },
  );
  const { kind, revision } = application;
  return { isRepeat: kind === 'same', revision, names: schedules.map(({ name }) => name), isQueued };
}

/** A process keeps the service and the warehouse that it began with (G11). */
function requireSameLocations(began: Config, now: Config): void {
  const locationsOf = (config: Config) => [serviceIdentityOf(config).key, config.warehouse.url];
  if (locationsOf(began).join(' ') === locationsOf(now).join(' ')) return;
  throw new UsageError('the configuration names another service or warehouse by now: nothing was changed', {
    hint: 'Start this process again.',
  });
}

/** Lets the workers hear of the ticks of what the ledger has. One that this version cannot read is left to others. */
export async function keepInQueue(
  app: App,
  schedules: readonly StoredSchedule[],
  next: NextTick = (schedule, afterMs) => cronTicks(schedule).next(afterMs),
): Promise<void> {
  const queue = await app.queue('lasting');
  const readable = schedules.flatMap((stored) => readSchedule(stored) ?? []);
  const wanted = readable.map(({ stored: { name }, definition: { cron, timeZone } }) => ({ name, cron, timeZone }));
  const known = new Set(wanted.map(({ name }) => name));
  const others = schedules.map(({ name }) => name).filter((name) => !known.has(name));
  await queue.keepTicks(wanted, next, others);
}
