/** The hours of a day: 23 and 25 where clocks change. */
import { instantOfDay, dayText } from '../time/production-day.ts';
import { HOUR_MS } from '../time/window.ts';

export type HoursOfDay = (day: number) => number;

const usualHours = 24;

/** In a zone, where days are midnight to midnight. */
export function hoursOfDays(timeZone: string): HoursOfDay {
  if (timeZone === 'UTC') return () => usualHours;
  return (day) => {
    const [from, to] = [instantOfDay(dayText(day), timeZone), instantOfDay(dayText(day + 1), timeZone)];
    // Behind the year 9999 there is no day.
    return from === undefined || to === undefined ? usualHours : (to - from) / HOUR_MS;
  };
}
