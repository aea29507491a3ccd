/** Calendar days as numbers: days since 1970-01-01. */
import { DAY_MS } from './window.ts';

/** Days from 1970-01-01 to `day` (YYYY-MM-DD). */
export function dayNumber(day: string): number {
  return Math.round(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
}

/** The day `number` days after 1970-01-01, YYYY-MM-DD. */
export function dayText(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}
