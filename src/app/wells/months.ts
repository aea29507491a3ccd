/** Requests for months of wells: volumes with their units, and what was known of them at a time. */
import { z } from 'zod';
import { cursorOf, readCursor } from '../../core/base/lists.ts';
import { UsageError } from '../../core/base/errors.ts';
import { instantText, isoInstant } from '../../core/base/text.ts';
import { dailyUnits, monthlyUnits, type RateBasis, type Units } from '../../core/daily/units.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import type { MonthOfWell, MonthsQuestion } from '../../warehouse/port/wells.ts';
import type { App } from '../app.ts';
import { type InputNames, namesFor } from '../exports/target-input.ts';
import { refuseForgotten } from './restatements.ts';

export type { MonthOfWell, MonthsQuestion };

export interface MonthsInput {
  /** Omitted: all wells. */
  readonly uwis?: readonly string[] | undefined;
  /** A day of the zone or an ISO date-time: what was known then stands beside what is known now. */
  readonly since?: string | undefined;
}

/** Throws UsageError for a text that is not a time, and for one that is not over. */
export function requestMonths(
  { uwis, since }: MonthsInput,
  context: { readonly timeZone: string; readonly nowMs: number; readonly names?: InputNames<MonthsInput> },
): MonthsQuestion {
  const names = namesFor(['since'], context.names);
  const ofWells = uwis === undefined ? {} : { uwis };
  if (since === undefined) return ofWells;
  const knownAtMs = namedInstant(names.since, since, context.timeZone);
  if (knownAtMs < context.nowMs) return { ...ofWells, knownAtMs };
  throw new UsageError(`${names.since} ${since} is not before now`, {
    hint: `It is ${instantText(context.nowMs)} now.`,
  });
}

/** What is true of all months of an answer. */
export interface MonthsFrame {
  /** What a rate means for a volume. */
  readonly rateBasis: RateBasis;
  /** By column of `monthly_production`. */
  readonly units: Units;
  /** ISO 8601; null if nothing is compared. */
  readonly knownAt: string | null;
}

/** Throws UsageError for a time before the history's horizon. */
export async function monthsFrame(
  app: Pick<App, 'warehouse' | 'ledger' | 'config'>,
  { knownAtMs }: MonthsQuestion,
): Promise<MonthsFrame> {
  if (knownAtMs !== undefined) await refuseForgotten(app, { sinceMs: knownAtMs });
  return {
    rateBasis: await app.warehouse.months.rateBasis(),
    units: monthlyUnits(dailyUnits(app.config.units)),
    knownAt: isoInstant(knownAtMs),
  };
}

export interface MonthsPage extends MonthsFrame {
  readonly months: readonly MonthOfWell[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

const monthPosition = z.tuple([z.string(), z.iso.date()]);

/** Throws UsageError as {@link monthsFrame} does, and for a text that is no cursor. */
export async function pageOfMonths(
  app: Pick<App, 'warehouse' | 'ledger' | 'config'>,
  question: MonthsQuestion,
  { rows, cursor }: { readonly rows: number; readonly cursor?: string | undefined },
): Promise<MonthsPage> {
  const frame = await monthsFrame(app, question);
  const [uwi, month] = cursor === undefined ? [] : readCursor(cursor, monthPosition, { list: 'months' });
  const after = uwi === undefined || month === undefined ? {} : { after: { uwi, month } };
  const found = await app.warehouse.months.months({ ...question, ...after, limit: rows + 1 }, async (months) => {
    const all: MonthOfWell[] = [];
    for await (const each of months) all.push(each);
    return all;
  });
  const months = found.slice(0, rows);
  const last = months.at(-1);
  const next = found.length > rows && last !== undefined ? cursorOf(last.uwi, last.month) : undefined;
  return { ...frame, months, cursor: next };
}

/** Whether a volume is not what it was known as. */
export function isRestated({ oil, gas, water, asKnown }: MonthOfWell): boolean {
  return asKnown !== undefined && (asKnown.oil !== oil || asKnown.gas !== gas || asKnown.water !== water);
}
