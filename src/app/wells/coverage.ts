/** Requests for coverage, of chosen days and as a map of many wells by month. */
import { pluggedAmong } from '../../../jobs/daily-production/plan.ts';
import { UsageError } from '../../core/base/errors.ts';
import { grouped } from '../../core/base/lists.ts';
import { holesOf } from '../../core/daily/coverage.ts';
import { dayAt, dayNumber, dayText, instantOfDay, productionCalendar } from '../../core/time/production-day.ts';
import type {
  CoverageQuestion,
  CoverageSurvey,
  MonthCoverage,
  StaleWell,
  UnknownWell,
  WellTrace,
} from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';
import { oneDayHint } from '../exports/daily-production.ts';
import { type InputNames, namesFor } from '../exports/target-input.ts';
import { historyFromMs, pluggedWellsOf } from '../job-settings.ts';

interface CoverageInput {
  /** Omitted: all wells in the warehouse. */
  readonly uwis?: readonly string[] | undefined;
  /** A calendar day, YYYY-MM-DD. Omitted: the first known day of each well. */
  readonly from?: string | undefined;
  /** A calendar day, exclusive. Omitted: today, which is not over. */
  readonly to?: string | undefined;
}

interface CoverageRequest {
  readonly question: CoverageQuestion;
  readonly frame: CoverageFrame;
}

/** Throws UsageError for a text that is not a day, and for bounds without a day. */
export function requestCoverage(
  { uwis, from, to }: CoverageInput,
  context: { readonly timeZone: string; readonly nowMs: number; readonly names?: InputNames<CoverageInput> },
): CoverageRequest {
  const { timeZone, nowMs } = context;
  const names = namesFor(['from', 'to'], context.names);
  const { fromDay, toDay } = dayBounds({ from, to, timeZone, nowMs, names });
  return {
    question: { toDay, ...(fromDay === undefined ? {} : { fromDay }), ...(uwis === undefined ? {} : { uwis }) },
    frame: { timeZone, from: fromDay === undefined ? null : dayText(fromDay), to: dayText(toDay) },
  };
}

function dayBounds(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string;
  readonly nowMs: number;
  readonly names: Readonly<Record<'from' | 'to', string>>;
}): Pick<CoverageQuestion, 'fromDay' | 'toDay'> {
  const { from, to, timeZone, nowMs, names } = options;
  const fromDay = from === undefined ? undefined : namedDay(names.from, from);
  const toDay = to === undefined ? dayNumber(productionCalendar(timeZone).dayOf(nowMs) ?? '') : namedDay(names.to, to);
  if (fromDay === undefined) return { toDay };
  if (fromDay < toDay) return { fromDay, toDay };
  throw new UsageError(`${names.from} ${from} is not before ${to === undefined ? 'today' : `${names.to} ${to}`}`, {
    hint: oneDayHint(names),
  });
}

function namedDay(name: string, text: string): number {
  if (instantOfDay(text, 'UTC') !== undefined) return dayNumber(text);
  throw new UsageError(`${name} ${JSON.stringify(text)} is not a day`, {
    hint: 'Write a day of the calendar as 2024-03-31.',
  });
}

/** JSON of coverage: how complete daily production is, over which days. */
export type { CoverageSurvey, MonthCoverage };

/** The days of a survey; `from` is null for the first known day of each well. */
export interface CoverageFrame {
  readonly timeZone: string;
  readonly from: string | null;
  /** A day, exclusive. */
  readonly to: string;
}

/** The totals of all wells. */
export type CoverageTotals = Awaited<ReturnType<CoverageSurvey['totals']>>;

/** The totals of all wells, and their months. */
export async function coverageDocument(frame: CoverageFrame, survey: CoverageSurvey) {
  const { wells, emptyWells, wellsWithHoles, ...days } = await survey.totals();
  return { ...frame, wells, emptyWells, wellsWithHoles, days, months: await survey.months() };
}

/** Requests for the wells that need a look: stale ones, and ones that the service does not know. */
export type { StaleWell, UnknownWell, WellTrace };

/** The first day that exports read, as a day number. */
export function firstDayOfHistory({ config }: Pick<App, 'config'>): number {
  return dayAt(historyFromMs(config), config.timeZone) ?? 0;
}

/** The wells that deliver no more, by the configuration or by their bodies. */
export async function pluggedWells({
  config,
  warehouse,
}: Pick<App, 'config' | 'warehouse'>): Promise<readonly string[]> {
  return [...(await pluggedAmong(pluggedWellsOf(config), warehouse.wells))];
}

/** The wells without a new day for `freshness.warnAfterDays`, without plugged ones; of all wells if none is named. */
export async function staleWells(
  { config, warehouse }: Pick<App, 'config' | 'warehouse'>,
  { uwis, nowMs }: { readonly uwis?: readonly string[] | undefined; readonly nowMs: number },
): Promise<readonly StaleWell[]> {
  const plugged = await pluggedWells({ config, warehouse });
  const today = dayAt(nowMs, config.timeZone) ?? 0;
  const { warnAfterDays } = config.freshness;
  return among(await warehouse.coverage.staleWells({ today, warnAfterDays, plugged }), uwis);
}

/** The wells that the service does not know; of all wells if none is named. */
export async function unknownWells(
  { warehouse }: App,
  { uwis }: { readonly uwis?: readonly string[] | undefined },
): Promise<readonly UnknownWell[]> {
  return among(await warehouse.coverage.unknownWells(), uwis);
}

function among<Well extends { readonly uwi: string }>(
  wells: readonly Well[],
  uwis: readonly string[] | undefined,
): readonly Well[] {
  const named = uwis === undefined ? undefined : new Set(uwis);
  return named === undefined ? wells : wells.filter(({ uwi }) => named.has(uwi));
}

// The coverage of many wells by month: which wells, in which order, and in blocks, as a map that scrolls needs them.

/** A well of the map, by what one chooses and sorts by. */
export interface MapWell {
  readonly uwi: string;
  /** YYYY-MM-DD; null for a well without a row. */
  readonly lastDay: string | null;
  readonly present: number;
  readonly quarantined: number;
  readonly missing: number;
  readonly neverRead: number;
  /** Days that need a look: silent ones are none of them. */
  readonly holes: number;
  /** Whole days since its last one, if that is a warning; 0 for a well that delivers, or is plugged. */
  readonly silentDays: number;
  readonly isHeld: boolean;
  readonly isRestated: boolean;
  /** No export has read its history: of the days before the first one that was read, nothing is known. */
  readonly isPartlyRead: boolean;
}

export interface CoverageMap {
  /** All wells, by name as people count: 1/2 before 1/10. */
  readonly wells: readonly MapWell[];
  /** First days of the first and the last month, YYYY-MM-DD; undefined for an empty warehouse. */
  readonly firstMonth: string | undefined;
  readonly lastMonth: string | undefined;
  readonly days: Readonly<Record<'present' | 'quarantined' | 'missing' | 'neverRead', number>>;
  readonly wellsWithHoles: number;
}

/** Days of a month by what is known of them, then held rows and days that were restated, if there are any. */
type MonthDays =
  | readonly [present: number, quarantined: number, missing: number, neverRead: number]
  | readonly [
      present: number,
      quarantined: number,
      missing: number,
      neverRead: number,
      heldRows: number,
      restatedDays: number,
    ];

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
  const today = todayOf(app, nowMs);
  const plugged = await pluggedWells(app);
  const isPlugged = new Set(plugged);
  const disputed = await app.warehouse.coverage.disputedWells();
  const [held, restated] = [new Set(disputed.held), new Set(disputed.restated)];
  const partlyRead = new Set(await app.warehouse.coverage.partlyRead(firstDayOfHistory(app)));
  const { warnAfterDays } = app.config.freshness;
  return app.warehouse.coverage.survey({ toDay: today, plugged }, async (survey) => {
    const { wellsWithHoles, ...totals } = await survey.totals();
    const months = await survey.months();
    const wells: MapWell[] = [];
    for await (const well of survey.wells()) {
      const { uwi, lastDay, present, quarantined, missing, neverRead } = well;
      const silent = lastDay === null || isPlugged.has(uwi) ? 0 : today - dayNumber(lastDay) - 1;
      wells.push({
        uwi,
        lastDay,
        present,
        quarantined,
        missing,
        neverRead,
        holes: holesOf(well),
        silentDays: silent >= warnAfterDays ? silent : 0,
        isHeld: held.has(uwi),
        isRestated: restated.has(uwi),
        isPartlyRead: partlyRead.has(uwi),
      });
    }
    const { present, quarantined, missing, neverRead } = totals;
    const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
    return {
      wells: wells.toSorted((left, right) => byName.compare(left.uwi, right.uwi)),
      wellsWithHoles,
      days: { present, quarantined, missing, neverRead },
      firstMonth: months[0]?.month,
      lastMonth: months.at(-1)?.month,
    };
  });
}

/** What of the wells is shown. */
export const mapChoices = ['all', 'attention', 'silent', 'held', 'restated'] as const;
export type MapChoice = (typeof mapChoices)[number];

export const mapOrders = ['name', 'missing', 'silent'] as const;
export type MapOrder = (typeof mapOrders)[number];

export interface MapQuestion {
  readonly show: MapChoice;
  readonly sort: MapOrder;
  /** A part of the name, in any case; the empty text is a part of each. */
  readonly name: string;
}

const choices: Readonly<Record<MapChoice, (well: MapWell) => boolean>> = {
  all: () => true,
  attention: ({ holes, silentDays, isHeld, isPartlyRead }) => holes > 0 || silentDays > 0 || isHeld || isPartlyRead,
  silent: ({ silentDays }) => silentDays > 0,
  held: ({ isHeld }) => isHeld,
  restated: ({ isRestated }) => isRestated,
};

/** Those of the wells that are asked for, in the order that is asked for; equal ones by name. Pure. */
export function chosenWells(wells: readonly MapWell[], { show, sort, name }: MapQuestion): readonly MapWell[] {
  const part = name.trim().toLowerCase();
  const chosen = wells.filter((well) => choices[show](well) && well.uwi.toLowerCase().includes(part));
  if (sort === 'missing') return chosen.toSorted((left, right) => withoutRow(right) - withoutRow(left));
  if (sort === 'silent') return chosen.toSorted((left, right) => right.silentDays - left.silentDays);
  return chosen;
}

function withoutRow({ missing, neverRead }: MapWell): number {
  return missing + neverRead;
}

/** How many wells each choice has. Pure. */
export function choiceCounts(wells: readonly MapWell[]): Readonly<Record<MapChoice, number>> {
  const counts = mapChoices.map((choice) => [choice, wells.filter(choices[choice]).length]);
  return Object.fromEntries(counts) as Record<MapChoice, number>;
}

/**
 * The wells `from` to `from + blockWells - 1` of the map, whose rows alone are read. Throws UsageError for a position that
 * is none.
 */
export async function coverageBlockOf(
  app: App,
  { all, from, nowMs }: { readonly all: readonly MapWell[]; readonly from: number; readonly nowMs: number },
): Promise<CoverageBlock> {
  if (!Number.isSafeInteger(from) || from < 0) throw new UsageError('the place of the first well is a whole number');
  const uwis = all.slice(from, from + blockWells).map(({ uwi }) => uwi);
  if (uwis.length === 0) return { from, wells: [] };
  const question = { uwis, toDay: todayOf(app, nowMs), plugged: await pluggedWells(app) };
  const { coverage } = app.warehouse;
  const disputed = grouped(await coverage.disputedMonths(uwis), ({ uwi, month }) => `${month} ${uwi}`);
  return coverage.survey(question, async (survey) => {
    const months = new Map<string, Record<string, MonthDays>>(uwis.map((uwi) => [uwi, {}]));
    for (const { uwi, month: first, present, quarantined, missing, neverRead } of await survey.cells(uwis)) {
      const ofWell = months.get(uwi);
      const month = first.slice(0, 7);
      const [also] = disputed.get(`${month} ${uwi}`) ?? [];
      const days = [present, quarantined, missing, neverRead] as const;
      if (ofWell !== undefined) {
        ofWell[month] = also === undefined ? days : [...days, also.heldRows, also.restatedDays];
      }
    }
    return { from, wells: uwis.map((uwi) => ({ uwi, months: months.get(uwi) ?? {} })) };
  });
}

/** Day number. Today is not over, and is left out. */
function todayOf({ config }: Pick<App, 'config'>, nowMs: number): number {
  return dayAt(nowMs, config.timeZone) ?? 0;
}
