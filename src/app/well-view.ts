/** What the warehouse knows of one well: its days by state, its gaps, and what was restated. */
import { type CoverageCounts, type DayInterval, subtractDays } from '../core/daily/coverage.ts';
import { dayNumber, dayText } from '../core/time/day-number.ts';
import { productionCalendar } from '../core/time/production-day.ts';
import type { App } from './app.ts';
import { restatedOf, type RestatedValue } from './well-series.ts';

export interface WellView {
  readonly uwi: string;
  /** YYYY-MM-DD; undefined for a well without a row. */
  readonly firstDay: string | undefined;
  readonly lastDay: string | undefined;
  /** ISO 8601; null before its first read. */
  readonly readUpTo: string | null;
  readonly unknownSince: string | null;
  readonly days: CoverageCounts;
  /** Days without a row between the first and the last one, the latest first. */
  readonly gaps: readonly DayInterval[];
  /** The latest first. */
  readonly restated: readonly RestatedValue[];
}

const noDays: CoverageCounts = { asked: 0, present: 0, quarantined: 0, missing: 0, neverRead: 0 };

export async function wellViewOf(app: App, uwi: string, nowMs: number): Promise<WellView> {
  const { coverage } = app.warehouse;
  const toDay = dayNumber(productionCalendar(app.config.timeZone).dayOf(nowMs) ?? '1970-01-01');
  const days = await coverage.survey({ uwis: [uwi], toDay }, async (survey) => {
    const { present, quarantined, missing, neverRead, asked } = await survey.totals();
    return { present, quarantined, missing, neverRead, asked };
  });
  const [trace] = await coverage.traces([uwi]);
  const known = (await coverage.knownDays([uwi])).get(uwi) ?? [];
  const [first, last] = [known[0], known.at(-1)];
  const isKnown = first !== undefined && last !== undefined;
  const whole = isKnown ? { fromDay: first.fromDay, toDay: last.toDay } : undefined;
  const { restated } = await restatedOf(app, uwi);
  return {
    uwi,
    firstDay: whole === undefined ? undefined : dayText(whole.fromDay),
    lastDay: whole === undefined ? undefined : dayText(whole.toDay - 1),
    readUpTo: trace?.readUpTo ?? null,
    unknownSince: trace?.unknownSince ?? null,
    days: isKnown ? days : noDays,
    gaps: whole === undefined ? [] : subtractDays(whole, known).toReversed(),
    restated,
  };
}
