/** The coverage of many wells by month, in blocks of wells, as a map that scrolls needs it. */
import { UsageError } from '../../core/base/errors.ts';
import { dayNumber, productionCalendar } from '../../core/time/production-day.ts';
import type { App } from '../app.ts';
import { pluggedWells } from './coverage.ts';

export interface CoverageMap {
  /** All wells, by uwi. */
  readonly uwis: readonly string[];
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
  const question = { toDay: today(app, nowMs), plugged: await pluggedWells(app) };
  return app.warehouse.coverage.survey(question, async (survey) => {
    const { wellsWithHoles, ...totals } = await survey.totals();
    const months = await survey.months();
    const uwis: string[] = [];
    for await (const { uwi } of survey.wells()) uwis.push(uwi);
    const { present, quarantined, missing, neverRead } = totals;
    return {
      uwis,
      wellsWithHoles,
      days: { present, quarantined, missing, neverRead },
      firstMonth: months[0]?.month,
      lastMonth: months.at(-1)?.month,
    };
  });
}

/**
 * The wells `from` to `from + blockWells - 1` of the map, whose rows alone are read. Throws UsageError for a place that is
 * none.
 */
export async function coverageBlockOf(
  app: App,
  { all, from, nowMs }: { readonly all: readonly string[]; readonly from: number; readonly nowMs: number },
): Promise<CoverageBlock> {
  if (!Number.isSafeInteger(from) || from < 0) throw new UsageError('the place of the first well is a whole number');
  const uwis = all.slice(from, from + blockWells);
  if (uwis.length === 0) return { from, wells: [] };
  const question = { uwis, toDay: today(app, nowMs), plugged: await pluggedWells(app) };
  return app.warehouse.coverage.survey(question, async (survey) => {
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
