/** The units of a run that releases what another run holds: the months of those holds, as backfills. */
import { type DayInterval, mergeDays, windowOfDays } from '../../src/core/daily/coverage.ts';
import { daysOfMonth } from '../../src/core/daily/held-month.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import type { JobContext } from '../../src/runs/job.ts';
import { readZones, unitsOf, type WellWindow } from './plan.ts';
import type { DailyProductionParams, DailyProductionSettings } from './settings.ts';

/**
 * One window for each stretch of months that `runId` may release. A hold that ended since the request has none: its rows are
 * back, or gone.
 */
export async function planRelease(
  runId: string,
  { nowMs }: Pick<DailyProductionParams, 'nowMs'>,
  settings: DailyProductionSettings,
  { warehouse, ledger }: JobContext,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of ledger.runs.targets(runId)) {
    const held = await warehouse.dailyProduction.heldMonths(uwis);
    const zones = await readZones(uwis, settings, { warehouse });
    for (const uwi of uwis) {
      const released = (held.get(uwi) ?? []).filter(({ release }) => release?.runId === runId);
      const zone = zones(uwi);
      const { timeZone = settings.timeZone } = zone;
      for (const days of mergeDays(released.map(({ month }) => daysOfMonth(month)))) {
        windows.push({ uwi, spec: { ...windowUntil(days, timeZone, nowMs), mode: 'backfill', ...zone } });
      }
    }
  }
  return unitsOf(windows, settings);
}

/** Never ends after now, nor before its start. */
function windowUntil(days: DayInterval, timeZone: string, nowMs: number) {
  const { fromMs, toMs } = windowOfDays(days, timeZone);
  return { fromMs, toMs: Math.max(fromMs + 1, Math.min(toMs, nowMs)) };
}
