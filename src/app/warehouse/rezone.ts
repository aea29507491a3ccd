/** Dates all rows by the time zones of the configuration and of the wells' records (core/daily/zones.ts). */
import { readNamedZones } from '../../../jobs/daily-production/plan.ts';
import { UnreachableError } from '../../core/base/errors.ts';
import { isSameZone } from '../../core/daily/zones.ts';
import type { OtherZone, RedatedRows } from '../../warehouse/port/zones.ts';
import type { App } from '../app.ts';
import { livenessOf } from '../health/warehouse.ts';
import { dailyProductionSettings, wellChecksOf } from '../job-settings.ts';

export interface Rezone extends RedatedRows {
  /** By which the rows of most wells are dated; null before the first export. */
  readonly from: string | null;
  readonly to: string;
  /** Whether one was begun, and has not ended. */
  readonly isUnderWay: boolean;
  /** Wells whose rows get another zone. */
  readonly wells: number;
  /** Some of them. */
  readonly named: ReadonlyArray<Pick<OtherZone, 'uwi' | 'from' | 'to'>>;
}

/** Wells of a transaction: each has years of rows. */
const wellsPerStep = 32;
const mostNamed = 20;

/** Whether a rezone has nothing to do. Without a well, the zone that is kept may still be another one. */
export function isNothingToDate({ from, to, wells, isUnderWay }: Rezone): boolean {
  return wells === 0 && !isUnderWay && (from === null || isSameZone(from, to));
}

/** What a rezone would change. Throws UsageError for another service (G11). Writes nothing. */
export async function planRezone(app: App): Promise<Rezone> {
  const { config, warehouse } = app;
  if (config.service.url !== undefined) await app.checkService();
  const kept = await warehouse.zones.read();
  let plan: Rezone = { ...counting(app, kept.timeZone ?? null), isUnderWay: kept.rezone !== undefined };
  for await (const wells of otherZones(app)) plan = withWells(plan, wells, await warehouse.zones.measure(wells));
  return plan;
}

/**
 * Goes on where one was stopped or killed. Throws UnreachableError while a process works the warehouse, and UsageError while
 * rows are held. `onStep` is called with the wells done so far.
 */
export async function rezone(
  app: App,
  { signal, onStep }: { readonly signal: AbortSignal; readonly onStep: (wells: number) => void },
): Promise<Rezone> {
  const { config, warehouse } = app;
  const { zones } = warehouse;
  await requireIdle(app);
  const { timeZone: from = null } = await zones.read();
  await zones.begin(config.timeZone);
  let done: Rezone = { ...counting(app, from), isUnderWay: true };
  const checks = wellChecksOf(config);
  for await (const wells of otherZones(app)) {
    if (signal.aborted) return done;
    done = withWells(done, wells, await zones.step(config.timeZone, wells, checks));
    onStep(done.wells);
  }
  await zones.finish(config.timeZone);
  return { ...done, isUnderWay: false };
}

function counting({ config }: App, from: string | null): Omit<Rezone, 'isUnderWay'> {
  return { from, to: config.timeZone, wells: 0, named: [], rows: 0, otherDay: 0, otherMonth: 0 };
}

function withWells(sum: Rezone, wells: readonly OtherZone[], { rows, otherDay, otherMonth }: RedatedRows): Rezone {
  const more = wells.slice(0, mostNamed - sum.named.length).map(({ uwi, from, to }) => ({ uwi, from, to }));
  return {
    ...sum,
    wells: sum.wells + wells.length,
    named: [...sum.named, ...more],
    rows: sum.rows + rows,
    otherDay: sum.otherDay + otherDay,
    otherMonth: sum.otherMonth + otherMonth,
  };
}

async function* otherZones({ config, warehouse }: App): AsyncGenerator<readonly OtherZone[]> {
  const ofWells = await readNamedZones(dailyProductionSettings(config), { warehouse });
  const wanted = { timeZone: config.timeZone, ofWells };
  for (let afterId = 0; ;) {
    const wells = await warehouse.zones.others(wanted, { afterId, limit: wellsPerStep });
    const last = wells.at(-1);
    if (last === undefined) return;
    yield wells;
    afterId = last.wellId;
  }
}

/** Rows that a worker reads meanwhile would be dated by the zone before. */
async function requireIdle(app: App): Promise<void> {
  const { queueId } = await app.ledger.ownership.read();
  const { isLive } = await livenessOf(app);
  if (!isLive || (queueId !== undefined && (await app.queueWay.isGone(queueId)))) return;
  throw new UnreachableError('warehouse', `${app.warehouse.location} is being worked: its rows were not dated again`, {
    hint: 'Stop its workers and servers first. One that was killed counts as working for 45 seconds at most.',
  });
}
