/** The units of an export of daily production: for each well the window that is due, or the windows of its gaps. */
import { z } from 'zod';
import { type DayInterval, gapsToRead, wholeDays, windowOfDays } from '../../src/core/daily/coverage.ts';
import {
  dueWindow,
  endOfUndue,
  type KnownWell,
  lookbackDue,
  type LookbackTier,
  reaches,
  readEnds,
  rowsByDays,
  tierDays,
} from '../../src/core/daily/due-window.ts';
import { checkZone, type ZoneOfWell, zoneOfWell } from '../../src/core/daily/zones.ts';
import { isVerificationDue, verifiedWithinDays } from '../../src/core/daily/reading.ts';
import { assignChunks } from '../../src/core/run/job-description.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { dayAt, isTimeZone, productionCalendar } from '../../src/core/time/production-day.ts';
import { DAY_MS, type Window } from '../../src/core/time/window.ts';
import type { JobContext } from '../../src/runs/job.ts';
import type { WellStore } from '../../src/warehouse/port/wells.ts';
import type { Warehouse } from '../../src/warehouse/port/warehouse.ts';
import type { DailyProductionParams, DailyProductionSettings, PluggedWells } from './settings.ts';

/** The spec of a unit: the window of its well, in milliseconds since 1970. */
export const windowSpecSchema = z.object({
  fromMs: z.number(),
  toMs: z.number(),
  mode: z.enum(['incremental', 'backfill']),
  /** What an incremental window reaches back to; absent from the plans of earlier versions. */
  reach: z.enum(reaches).optional(),
  /** Estimate of its rows; absent from the plans of earlier versions. */
  rows: z.number().optional(),
  /** The lookback tier of an incremental window, if the well was read before and a tier was due. */
  lookback: z.object({ days: z.union([z.number(), z.literal('all')]), on: z.enum(tierDays).optional() }).optional(),
  /** What may end the read; absent where only a verified end may. */
  end: z.enum(readEnds).optional(),
  /** Day number of the last row before an incremental window, if the well has one. */
  lastDay: z.number().optional(),
  /** The well delivers no more: it is never stale. */
  isPlugged: z.literal(true).optional(),
  /** Time zone of the well, if it has one that differs from the configured one. */
  timeZone: z.string().optional(),
  /** The text in the well's time zone field, if it is not a time zone. */
  unknownTimeZone: z.string().optional(),
  /** The time zone in that field, if the rows of the well are dated by another one. */
  otherTimeZone: z.string().optional(),
});
export type WindowSpec = z.output<typeof windowSpecSchema>;

/** A plan needs no service, so that it can be shown without one. */
interface PlanContext extends Pick<JobContext, 'warehouse'> {
  /** Rows of one page of the service. */
  readonly pageRows: number;
}

export interface WellWindow {
  readonly uwi: string;
  readonly spec: WindowSpec;
}

/** Distinct wells, in slices: the warehouse is queried for one slice at a time, which limits the memory of a plan. */
type WellSlices = AsyncIterable<readonly string[]> | Iterable<readonly string[]>;

/** Estimate of the rows of a window. */
export function expectedRows(spec: WindowSpec): number {
  return spec.rows ?? rowsByDays(spec);
}

/** One window for every well: from its watermark on, or the requested backfill. */
export async function planWindows(
  params: DailyProductionParams,
  wells: WellSlices,
  settings: DailyProductionSettings,
  context: PlanContext,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of wells) windows.push(...(await windowsOf(uwis, params, settings, context)));
  return unitsOf(windows, settings);
}

async function windowsOf(
  uwis: readonly string[],
  params: DailyProductionParams,
  settings: DailyProductionSettings,
  context: PlanContext,
): Promise<readonly WellWindow[]> {
  const isBackfill = params.fromMs !== undefined || params.toMs !== undefined;
  const zones = await readZones(uwis, settings, context);
  const specOf = isBackfill
    ? () => backfillSpec(params, settings)
    : await incrementalSpecs(uwis, zones, { params, settings, context });
  return uwis.map((uwi) => ({ uwi, spec: { ...specOf(uwi), ...zones(uwi) } }));
}

/**
 * The time zone of each well, if it differs from the configured one. Throws UsageError where the rows of the warehouse are
 * dated by another one than the configured, or are being dated by another one.
 */
export async function readZones(
  uwis: readonly string[],
  settings: DailyProductionSettings,
  { warehouse }: Pick<PlanContext, 'warehouse'>,
): Promise<(uwi: string) => ZoneOfWell> {
  const { zoneField, timeZone } = settings;
  checkZone(await warehouse.zones.read(), timeZone);
  const named = zoneField === undefined ? new Map<string, string>() : await warehouse.wells.texts(zoneField, uwis);
  const kept = await warehouse.zones.ofWells(uwis);
  return (uwi) => zoneOfWell(kept.get(uwi), named.get(uwi), timeZone);
}

/** The zones that the records of all wells name, by uwi; those that are no time zone are left out. */
export async function readNamedZones(
  { zoneField }: Pick<DailyProductionSettings, 'zoneField'>,
  { warehouse }: { readonly warehouse: Pick<Warehouse, 'wells'> },
): Promise<ReadonlyMap<string, string>> {
  if (zoneField === undefined) return new Map();
  const named = await warehouse.wells.texts(zoneField);
  return new Map([...named].filter(([, zone]) => isTimeZone(zone)));
}

function backfillSpec({ fromMs, toMs, nowMs }: DailyProductionParams, settings: DailyProductionSettings): WindowSpec {
  return { fromMs: fromMs ?? settings.historyFromMs, toMs: toMs ?? nowMs, mode: 'backfill' };
}

/** Days of the largest lookback that is in common use: their rows are worth looking at for an estimate. */
const leastDaysSeen = 31;

async function incrementalSpecs(
  uwis: readonly string[],
  zones: (uwi: string) => ZoneOfWell,
  request: {
    readonly params: DailyProductionParams;
    readonly settings: DailyProductionSettings;
    readonly context: PlanContext;
  },
): Promise<(uwi: string) => WindowSpec> {
  const { settings, params, context } = request;
  const { dailyProduction } = context.warehouse;
  const today = Math.floor(params.nowMs / DAY_MS);
  const fromDay = today - Math.max(settings.holeDays, leastDaysSeen) - verifiedWithinDays - 1;
  // In some zones the day of UTC is followed by another already. Later rows are in no window.
  const days = { fromDay, toDay: today + 2 };
  const watermarks = await dailyProduction.watermarks(uwis);
  const cleanDays = await dailyProduction.cleanDays(uwis, days);
  const plugged = await pluggedAmong(settings.plugged, context.warehouse.wells, uwis);
  const held = await dailyProduction.heldMonths(uwis);
  return (uwi) => {
    const { watermarkMs, lastDay, verifiedAtMs } = watermarks.get(uwi) ?? {};
    const heldFromDays = (held.get(uwi) ?? []).map(({ firstDay }) => firstDay);
    const well = { watermarkMs, lastDay, verifiedAtMs, cleanDays: cleanDays.get(uwi) ?? [], heldFromDays };
    const timeZone = zones(uwi).timeZone ?? settings.timeZone;
    const spec = incrementalSpec(uwi, well, { ...request, timeZone });
    return { ...spec, lastDay, ...(plugged.has(uwi) ? { isPlugged: true } : {}) };
  };
}

function incrementalSpec(
  uwi: string,
  well: KnownWell,
  request: {
    readonly params: DailyProductionParams;
    readonly settings: DailyProductionSettings;
    readonly context: PlanContext;
    /** Zone of the well. */
    readonly timeZone: string;
  },
): WindowSpec {
  const { params, settings, context, timeZone } = request;
  const { nowMs } = params;
  const { historyFromMs, holeDays } = settings;
  const { watermarkMs, lastDay } = well;
  const isFirst = watermarkMs === undefined || lastDay === undefined;
  const tiers = tiersOf(uwi, params, settings);
  const lookback = isFirst ? undefined : tierDue(tiers, watermarkMs, nowMs, settings.timeZone);
  const lookbackMs = lookback?.days === 'all' ? Number.POSITIVE_INFINITY : (lookback?.days ?? 0) * DAY_MS;
  const isVerified = lookback?.on !== undefined || isDueForProof(uwi, well, params, settings);
  const rules = { lookbackMs, historyFromMs, nowMs, timeZone, holeDays, pageRows: context.pageRows, isVerified };
  const window = dueWindow(well, rules);
  const end = isVerified ? 'proof' : endOfUndue(window, rules);
  return { ...window, mode: 'incremental', end, ...(lookback === undefined ? {} : { lookback }) };
}

/** Whether the read of a well has to be verified whatever its window: its first one, its weekly one, and a deepened one. */
function isDueForProof(
  uwi: string,
  { watermarkMs, verifiedAtMs }: KnownWell,
  { nowMs, lookbackDays, allowShrink }: DailyProductionParams,
  { timeZone }: DailyProductionSettings,
): boolean {
  if (watermarkMs === undefined || verifiedAtMs === undefined || lookbackDays !== undefined || allowShrink) return true;
  const [verifiedDay, today] = [dayAt(verifiedAtMs, timeZone), dayAt(nowMs, timeZone)];
  return verifiedDay === undefined || today === undefined || isVerificationDue(uwi, verifiedDay, today);
}

/**
 * The lookback of the well, else the common one; that of the request only deepens it. A shallower run would move the
 * watermark past the day of a tier, which would then not run.
 */
function tiersOf(
  uwi: string,
  { lookbackDays }: DailyProductionParams,
  { lookback, lookbackByWell }: DailyProductionSettings,
): readonly LookbackTier[] {
  const tiers = lookbackByWell.get(uwi) ?? lookback;
  return lookbackDays === undefined ? tiers : [...tiers, { days: lookbackDays }];
}

/** The lookback when no tier is due. */
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
 * Windows of the days of each well without data in the warehouse, missing or never read, as the fewest backfills. Their
 * bounds are the requested ones, else the first known day and the last day that is over; a well without a known day is
 * read from the start of history. A plugged well is complete with its last known day.
 */
export async function planGaps(
  params: DailyProductionParams,
  wells: WellSlices,
  settings: DailyProductionSettings,
  context: Pick<PlanContext, 'warehouse'>,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of wells) {
    const known = await context.warehouse.coverage.knownDays(uwis);
    const zones = await readZones(uwis, settings, context);
    const plugged = await pluggedAmong(settings.plugged, context.warehouse.wells, uwis);
    for (const uwi of uwis) {
      const zone = zones(uwi);
      const { historyFromMs, timeZone } = settings;
      const rules = { historyFromMs, timeZone: zone.timeZone ?? timeZone, isPlugged: plugged.has(uwi) };
      const gaps = gapsOf(known.get(uwi) ?? [], params, rules);
      windows.push(...gaps.map((window) => ({ uwi, spec: { ...window, mode: 'backfill' as const, ...zone } })));
    }
  }
  return unitsOf(windows, settings);
}

function gapsOf(
  known: readonly DayInterval[],
  { fromMs, toMs, nowMs }: DailyProductionParams,
  {
    timeZone,
    historyFromMs,
    isPlugged,
  }: Pick<DailyProductionSettings, 'timeZone' | 'historyFromMs'> & { readonly isPlugged: boolean },
): readonly Window[] {
  const [first] = known;
  const firstMs = fromMs ?? (first === undefined ? historyFromMs : windowOfDays(first, timeZone).fromMs);
  const asked = wholeDays({ fromMs: firstMs, toMs: toMs ?? nowMs }, timeZone, nowMs);
  if (asked === undefined) return [];
  const endDay = isPlugged ? (known.at(-1)?.toDay ?? asked.toDay) : asked.toDay;
  const wanted = { ...asked, toDay: Math.min(asked.toDay, endDay) };
  return gapsToRead(wanted, known).map((days) => windowOfDays(days, timeZone));
}

export function unitsOf(
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

/** Wells in memory, as slices. */
export function* slicesOf(wells: readonly string[], size = 5_000): Iterable<readonly string[]> {
  for (let start = 0; start < wells.length; start += size) yield wells.slice(start, start + size);
}

// Wells that deliver no more: never stale, and complete with their last day.

/** The plugged wells among these, or all of them if none is named. */
export async function pluggedAmong(
  { uwis: named, byField }: PluggedWells,
  wells: Pick<WellStore, 'texts'>,
  uwis?: readonly string[],
): Promise<ReadonlySet<string>> {
  if (byField === undefined) return named;
  const texts = await wells.texts(byField.field, uwis);
  const found = [...texts].filter(([, value]) => byField.values.has(value.toLowerCase()));
  return new Set([...named, ...found.map(([uwi]) => uwi)]);
}
