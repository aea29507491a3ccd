/** Freshness: whether new days of a well still come (docs/design.md section 4.1). Days are day numbers. */
import { dayNumber } from '../time/production-day.ts';
import type { QuarantinedRecord } from './row.ts';

/** `quarantined`: stale, although records of newer days come. `empty`: the well never had a row. */
export type Freshness = 'fresh' | 'stale' | 'quarantined' | 'empty';

/** The last day with a row after a read of rows of these days. */
export function lastDayAfter(lastDay: number | undefined, days: Int32Array): number | undefined {
  let newest = lastDay;
  for (const day of days) if (newest === undefined || day > newest) newest = day;
  return newest;
}

/** A quarantined record without a day may be of any day: it counts as a newer one. */
export function freshnessOf(options: {
  readonly lastDay: number | undefined;
  readonly today: number;
  readonly warnAfterDays: number;
  readonly quarantined: readonly Pick<QuarantinedRecord, 'day'>[];
}): Freshness {
  const { lastDay, today, warnAfterDays, quarantined } = options;
  const comes = quarantined.some(({ day }) => day === null || lastDay === undefined || dayNumber(day) > lastDay);
  if (lastDay === undefined) return comes ? 'quarantined' : 'empty';
  // Whole days between the two, neither counted.
  const silentDays = Math.max(0, today - lastDay - 1);
  if (silentDays < warnAfterDays) return 'fresh';
  return comes ? 'quarantined' : 'stale';
}

/** Sentences for the report of a run. */
export function freshnessNotice(freshness: Freshness, warnAfterDays: number): readonly string[] {
  const silence = `no new day for ${warnAfterDays} ${warnAfterDays === 1 ? 'day' : 'days'} or more`;
  const notices: Readonly<Record<Freshness, readonly string[]>> = {
    fresh: [],
    stale: [`${silence}: {targets}`],
    quarantined: [`${silence}, though records come: they are quarantined: {targets}`],
    empty: ['no row has come yet: {targets}'],
  };
  return notices[freshness];
}
