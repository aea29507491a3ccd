/** The units of a verification: each well with the window that is compared. */
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { beginOfDayAt } from '../../src/core/time/production-day.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import type { JobContext } from '../../src/runs/job.ts';
import { expectedRows, readZones, unitsOf, windowSpecSchema, type WellWindow } from '../daily-production/plan.ts';
import type { DailyProductionSettings } from '../daily-production/settings.ts';
import { type VerificationParams, verifiedDays } from './settings.ts';

export async function planVerification(
  params: VerificationParams,
  wells: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
  settings: DailyProductionSettings,
  context: Pick<JobContext, 'warehouse'>,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of wells) {
    const zones = await readZones(uwis, settings, context);
    for (const uwi of uwis) {
      const zone = zones(uwi);
      const bounds = boundsOf(params, settings, zone.timeZone ?? settings.timeZone);
      windows.push({ uwi, spec: { ...bounds, mode: 'backfill', end: 'proof', ...zone } });
    }
  }
  return unitsOf(windows, settings);
}

/** As requested, else from the begin of the day that lies the usual number of days back in the zone of the well. */
function boundsOf(
  { nowMs, fromMs, toMs = nowMs, isWhole }: VerificationParams,
  { historyFromMs }: DailyProductionSettings,
  timeZone: string,
) {
  if (fromMs !== undefined) return { fromMs, toMs };
  if (isWhole || toMs !== nowMs) return { fromMs: historyFromMs, toMs };
  const lastDaysMs = beginOfDayAt(nowMs - verifiedDays * DAY_MS, timeZone);
  return { fromMs: Math.min(Math.max(historyFromMs, lastDaysMs), nowMs - 1), toMs };
}

/** Requests that a unit is expected to take where the service fits its profile: its pages, and one that shows their end. */
export function expectedRequests(spec: unknown, pageRows: number): number {
  return Math.max(1, Math.ceil(expectedRows(windowSpecSchema.parse(spec)) / pageRows)) + 1;
}
