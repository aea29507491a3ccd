/** Decides what an export of daily production reads: for each well the window that is due, or the windows of its gaps. */
import { assignChunks } from '../src/core/chunking.ts';
import { gapsToRead, wholeDays, windowOfDays, type DayInterval } from '../src/core/coverage.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { DAY_MS, daysIn, incrementalWindow, type ReadMode, type Window } from '../src/core/window.ts';
import type { JobParts } from '../src/runs/job.ts';
import type { DailyProductionParams, DailyProductionSettings } from './daily-production.ts';

/** A well with a window: what becomes a unit. */
interface WellWindow {
  readonly uwi: string;
  readonly window: Window;
  readonly mode: ReadMode;
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
  parts: JobParts,
): Promise<readonly PlannedUnit[]> {
  const { fromMs, toMs, nowMs } = params;
  const { historyFromMs } = settings;
  const uwis = [...new Set(params.uwis)];
  if (fromMs !== undefined || toMs !== undefined) {
    const window = { fromMs: fromMs ?? historyFromMs, toMs: toMs ?? nowMs };
    return unitsOf(
      uwis.map((uwi) => ({ uwi, window, mode: 'backfill' })),
      settings,
    );
  }
  const watermarks = await parts.warehouse.dailyProduction.watermarks(uwis);
  const lookbackMs = settings.lookbackDays * DAY_MS;
  const windowOf = (uwi: string): Window =>
    incrementalWindow({ watermarkMs: watermarks.get(uwi), lookbackMs, historyFromMs, nowMs });
  return unitsOf(
    uwis.map((uwi) => ({ uwi, window: windowOf(uwi), mode: 'incremental' })),
    settings,
  );
}

/**
 * The days of each well that the warehouse has nothing of, missing or never read, as few backfills. They lie between the
 * bounds that were asked for, else between the first day of which anything is known and the last day that is over; a well
 * of which nothing is known is read from the start of history.
 */
export async function planGaps(
  params: DailyProductionParams,
  settings: DailyProductionSettings,
  { warehouse }: JobParts,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for (const uwis of slicesOf([...new Set(params.uwis)], wellsAtOnce)) {
    const known = await warehouse.coverage.knownDays(uwis);
    for (const uwi of uwis) windows.push(...gapWindows(uwi, known.get(uwi) ?? [], params, settings));
  }
  return unitsOf(windows, settings);
}

function gapWindows(
  uwi: string,
  known: readonly DayInterval[],
  { fromMs, toMs, nowMs }: DailyProductionParams,
  { timeZone, historyFromMs }: DailyProductionSettings,
): readonly WellWindow[] {
  const [first] = known;
  const firstMs = fromMs ?? (first === undefined ? historyFromMs : windowOfDays(first, timeZone).fromMs);
  const asked = wholeDays({ fromMs: firstMs, toMs: toMs ?? nowMs }, timeZone, nowMs);
  if (asked === undefined) return [];
  return gapsToRead(asked, known).map((days) => ({ uwi, window: windowOfDays(days, timeZone), mode: 'backfill' }));
}

function unitsOf(
  windows: readonly WellWindow[],
  { chunkWells, chunkRows }: DailyProductionSettings,
): readonly PlannedUnit[] {
  const rows = windows.map(({ window }) => expectedRows(window));
  const chunks = assignChunks(rows, { maxUnits: chunkWells, maxRows: chunkRows });
  return windows.map(({ uwi, window, mode }, unit) => ({
    unit,
    chunk: chunks[unit] ?? 0,
    target: uwi,
    spec: { ...window, mode },
  }));
}

function* slicesOf<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
