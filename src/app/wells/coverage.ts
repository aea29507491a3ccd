/** Requests for coverage: converts the days of an operator to the days of a survey. Pure; the clock is an argument. */
import { pluggedAmong } from '../../../jobs/daily-production/plan.ts';
import { UsageError } from '../../core/base/errors.ts';
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
