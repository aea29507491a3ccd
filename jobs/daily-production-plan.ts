/** Decides what an export of daily production reads: for each well the window that is due, or the windows of its gaps. */
import { z } from 'zod';
import { assignChunks } from '../src/core/chunking.ts';
import { gapsToRead, wholeDays, windowOfDays, type DayInterval } from '../src/core/coverage.ts';
import { lookbackDue, tierDays, type LookbackTier } from '../src/core/lookback.ts';
import { isTimeZone, productionCalendar } from '../src/core/production-day.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { DAY_MS, daysIn, incrementalWindow, type Window } from '../src/core/window.ts';
import type { JobParts } from '../src/runs/job.ts';
import type { DailyProductionParams, DailyProductionSettings } from './daily-production.ts';

/** What a unit's spec holds: the window of its well, in milliseconds since 1970. */
export const windowSpecSchema = z.object({
  fromMs: z.number(),
  toMs: z.number(),
  mode: z.enum(['incremental', 'backfill']),
  /** The tier that an incremental window goes back by, where the well was read before and one was due. */
  lookback: z.object({ days: z.union([z.number(), z.literal('all')]), on: z.enum(tierDays).optional() }).optional(),
  /** The well's own, where it has one that is another than the configured one. */
  timeZone: z.string().optional(),
  /** What the well names in its place, where that is none. */
  unknownTimeZone: z.string().optional(),
});
export type WindowSpec = z.output<typeof windowSpecSchema>;

/** The service has no part in a plan, so that it can be shown without one. */
type PlanParts = Pick<JobParts, 'warehouse'>;

interface WellWindow {
  readonly uwi: string;
  readonly spec: WindowSpec;
}

/** A window from the start of history says little about the rows in it: it counts as ten years of days. */
const longestExpectedDays = 3_650;

/** So many wells are asked about at one time, so that a plan's memory is bounded. */
const wellsAtOnce = 1_000;

export function expectedRows(window: Window): number {
  return Math.min(daysIn(window), longestExpectedDays);
}

/** Every well once: from its watermark on, or the backfill that was asked for. */
export async function planWindows(
  params: DailyProductionParams,
  settings: DailyProductionSettings,
  parts: PlanParts,
): Promise<readonly PlannedUnit[]> {
  const uwis = [...new Set(params.uwis)];
  const isBackfill = params.fromMs !== undefined || params.toMs !== undefined;
  const watermarks = isBackfill ? undefined : await parts.warehouse.dailyProduction.watermarks(uwis);
  const zones = await readZones(uwis, settings, parts);
  const windows = uwis.map((uwi): WellWindow => {
    const spec =
      watermarks === undefined
        ? backfillSpec(params, settings)
        : incrementalSpec(watermarks.get(uwi), params.nowMs, settings);
    return { uwi, spec: { ...spec, ...zones(uwi) } };
  });
  return unitsOf(windows, settings);
}

type Zone = Pick<WindowSpec, 'timeZone' | 'unknownTimeZone'>;

/** What each well's body says of its time zone, as far as it differs from the configured one. */
async function readZones(
  uwis: readonly string[],
  { wellFields, timeZone }: DailyProductionSettings,
  { warehouse }: PlanParts,
): Promise<(uwi: string) => Zone> {
  if (wellFields === undefined) return () => ({});
  const named = new Map<string, string>();
  for (const slice of slicesOf(uwis, wellsAtOnce)) {
    for (const [uwi, zone] of await warehouse.wells.timeZones(slice, wellFields)) named.set(uwi, zone);
  }
  return (uwi) => {
    const zone = named.get(uwi);
    if (zone === undefined || zone === timeZone) return {};
    return isTimeZone(zone) ? { timeZone: zone } : { unknownTimeZone: zone };
  };
}

function backfillSpec({ fromMs, toMs, nowMs }: DailyProductionParams, settings: DailyProductionSettings): WindowSpec {
  return { fromMs: fromMs ?? settings.historyFromMs, toMs: toMs ?? nowMs, mode: 'backfill' };
}

function incrementalSpec(
  watermarkMs: number | undefined,
  nowMs: number,
  { historyFromMs, lookback: tiers, timeZone }: DailyProductionSettings,
): WindowSpec {
  const lookback = watermarkMs === undefined ? undefined : tierDue(tiers, watermarkMs, nowMs, timeZone);
  const lookbackMs = lookback?.days === 'all' ? Number.POSITIVE_INFINITY : (lookback?.days ?? 0) * DAY_MS;
  const window = incrementalWindow({ watermarkMs, lookbackMs, historyFromMs, nowMs });
  return { ...window, mode: 'incremental', ...(lookback === undefined ? {} : { lookback }) };
}

/** Where no tier is due. */
const newDaysAlone: LookbackTier = { days: 0 };

function tierDue(
  tiers: readonly LookbackTier[],
  watermarkMs: number,
  nowMs: number,
  timeZone: string,
): LookbackTier | undefined {
  const calendar = productionCalendar(timeZone);
  const [lastDay, today] = [calendar.dayOf(watermarkMs), calendar.dayOf(nowMs)];
  return lastDay === undefined || today === undefined
    ? undefined
    : (lookbackDue(tiers, lastDay, today) ?? newDaysAlone);
}

/**
 * The days of each well that the warehouse has nothing of, missing or never read, as few backfills. They lie between the
 * bounds that were asked for, else between the first day of which anything is known and the last day that is over; a well
 * of which nothing is known is read from the start of history.
 */
export async function planGaps(
  params: DailyProductionParams,
  settings: DailyProductionSettings,
  parts: PlanParts,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for (const uwis of slicesOf([...new Set(params.uwis)], wellsAtOnce)) {
    const known = await parts.warehouse.coverage.knownDays(uwis);
    const zones = await readZones(uwis, settings, parts);
    for (const uwi of uwis) {
      const zone = zones(uwi);
      const { historyFromMs, timeZone } = settings;
      const gaps = gapsOf(known.get(uwi) ?? [], params, { historyFromMs, timeZone: zone.timeZone ?? timeZone });
      windows.push(...gaps.map((window) => ({ uwi, spec: { ...window, mode: 'backfill' as const, ...zone } })));
    }
  }
  return unitsOf(windows, settings);
}

function gapsOf(
  known: readonly DayInterval[],
  { fromMs, toMs, nowMs }: DailyProductionParams,
  { timeZone, historyFromMs }: Pick<DailyProductionSettings, 'timeZone' | 'historyFromMs'>,
): readonly Window[] {
  const [first] = known;
  const firstMs = fromMs ?? (first === undefined ? historyFromMs : windowOfDays(first, timeZone).fromMs);
  const asked = wholeDays({ fromMs: firstMs, toMs: toMs ?? nowMs }, timeZone, nowMs);
  return asked === undefined ? [] : gapsToRead(asked, known).map((days) => windowOfDays(days, timeZone));
}

function unitsOf(
  windows: readonly WellWindow[],
  { chunkWells, chunkRows }: DailyProductionSettings,
): readonly PlannedUnit[] {
  const rows = windows.map(({ spec }) => expectedRows(spec));
  const chunks = assignChunks(rows, { maxUnits: chunkWells, maxRows: chunkRows });
  return windows.map(({ uwi, spec }, unit) => ({
    unit,
    chunk: chunks[unit] ?? 0,
    target: uwi,
    spec,
  }));
}

function* slicesOf<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
