/** The coverage of many wells by month, in blocks of wells, as a map that scrolls needs it. */
import { dayNumber } from '../core/time/day-number.ts';
import { productionCalendar } from '../core/time/production-day.ts';
import { UsageError } from '../core/base/errors.ts';
import type { App } from './app.ts';

export interface CoverageMap {
  /** Number of wells, by uwi. */
  readonly wells: number;
  /** First days of the first and the last month, YYYY-MM-DD; undefined for an empty warehouse. */
  readonly firstMonth: string | undefined;
  readonly lastMonth: string | undefined;
  readonly days: Readonly<Record<'present' | 'quarantined' | 'missing' | 'neverRead', number>>;
  readonly wellsWithHoles: number;
}

/** Days of a month by what is known of them: present, quarantined, missing, never read. */
type MonthDays = readonly [present: number, quarantined: number, missing: number, neverRead: number];

export interface CoverageBlock {
  readonly from: number;
  readonly wells: ReadonlyArray<{
    readonly uwi: string;
    /** By month, as `2024-03`; months without an asked day are absent. */
    readonly months: Readonly<Record<string, MonthDays>>;
  }>;
}

/** Wells of a block. */
const blockWells = 50;

export async function coverageMapOf(app: App, nowMs: number): Promise<CoverageMap> {
  return app.warehouse.coverage.survey({ toDay: today(app, nowMs) }, async (survey) => {
    const { wells, wellsWithHoles, ...totals } = await survey.totals();
    const months = await survey.months();
    const { present, quarantined, missing, neverRead } = totals;
    return {
      wells,
      wellsWithHoles,
      days: { present, quarantined, missing, neverRead },
      firstMonth: months[0]?.month,
      lastMonth: months.at(-1)?.month,
    };
  });
}

/** The wells `from` to `from + blockWells - 1`, by uwi. Throws UsageError for a place that is none. */
export async function coverageBlockOf(
  app: App,
  { from, nowMs }: { readonly from: number; readonly nowMs: number },
): Promise<CoverageBlock> {
  if (!Number.isSafeInteger(from) || from < 0) throw new UsageError('the place of the first well is a whole number');
  return app.warehouse.coverage.survey({ toDay: today(app, nowMs) }, async (survey) => {
    const uwis: string[] = [];
    let place = 0;
    for await (const { uwi } of survey.wells()) {
      if (place >= from) uwis.push(uwi);
      place += 1;
      if (uwis.length === blockWells) break;
    }
    const months = new Map<string, Record<string, MonthDays>>(uwis.map((uwi) => [uwi, {}]));
    for (const { uwi, month, present, quarantined, missing, neverRead } of await survey.cells(uwis)) {
      const ofWell = months.get(uwi);
      if (ofWell !== undefined) ofWell[month.slice(0, 7)] = [present, quarantined, missing, neverRead];
    }
    return { from, wells: uwis.map((uwi) => ({ uwi, months: months.get(uwi) ?? {} })) };
  });
}

/** Day number. Today is not over, and is left out. */
function today({ config }: Pick<App, 'config'>, nowMs: number): number {
  return dayNumber(productionCalendar(config.timeZone).dayOf(nowMs) ?? '1970-01-01');
}
