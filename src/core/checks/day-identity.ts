/** Days of two records or more, days that have not come, and a change of the hour to which a service dates its records. */
import { DAY_MS, HOUR_MS } from '../time/window.ts';
import type { Check } from './check.ts';
import { reachDays } from './settings.ts';
import type { WellDays } from './well-days.ts';

export const dayIdentity: Check = ({ days, today }, { from, to }, _settings, add) => {
  // Most records have the hour of the one before.
  let offsetBeforeMs = NaN;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    const records = days.records?.[index] ?? 1;
    if (records > 1) add(day, 'record', records, 1);
    if (day > today) add(day, 'date', day - today, 0);
    const offsetMs = (days.instantsMs[index] ?? 0) - day * DAY_MS;
    if (offsetMs !== offsetBeforeMs) {
      const before = hourBeforeChange(days, index);
      if (before !== undefined) add(day, 'date', hourOf(days, index), before);
    }
    offsetBeforeMs = offsetMs;
  }
};

/** The hour of the record before; undefined without one, where clocks changed, and where the hour is back after one odd day. */
function hourBeforeChange(days: WellDays, index: number): number | undefined {
  const hour = hourOf(days, index);
  const before = hourBefore(days, index, 1);
  if (before === undefined || isClockChange(hour - before)) return undefined;
  const earlier = hourBefore(days, index, 2);
  return earlier === undefined || !isClockChange(hour - earlier) ? before : undefined;
}

/** Hours from midnight UTC of the day to the instant of its record. */
function hourOf({ days, instantsMs }: WellDays, index: number): number {
  return ((instantsMs[index] ?? 0) - (days[index] ?? 0) * DAY_MS) / HOUR_MS;
}

function hourBefore(days: WellDays, index: number, rows: number): number | undefined {
  const at = index - rows;
  return at >= 0 && (days.days[at] ?? 0) >= (days.days[index] ?? 0) - reachDays ? hourOf(days, at) : undefined;
}

/** Clocks change by an hour in most zones, and by half an hour in one; a fixed local time moves so against UTC. */
function isClockChange(hours: number): boolean {
  return Math.abs(hours) <= 1;
}
