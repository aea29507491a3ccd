/** What the warehouse knows of one well: its days by state, its gaps, and what was restated. */
import { z } from 'zod';
import type { Config } from '../../../config/schema.ts';
import { cursorOf, readCursor } from '../../core/base/cursor.ts';
import { UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { type CoverageCounts, type DayInterval, subtractDays } from '../../core/daily/coverage.ts';
import { dailyUnits, withUnit } from '../../core/daily/units.ts';
import { dayNumber, dayText, instantOfDay, productionCalendar } from '../../core/time/production-day.ts';
import type { ProductionRow, RowsQuestion } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';
import { readRestatements } from './restatements.ts';

export interface WellDocument {
  readonly uwi: string;
  /** YYYY-MM-DD; null for a well without a row. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** ISO 8601; null before its first read. */
  readonly readUpTo: string | null;
  readonly unknownSince: string | null;
  readonly days: CoverageCounts;
  /** Days without a row between the first and the last one, the latest first; `to` is the first day behind a gap. */
  readonly gaps: ReadonlyArray<Readonly<Record<'from' | 'lastDay' | 'to', string>> & { readonly days: number }>;
  /** The latest first. */
  readonly restated: ReadonlyArray<Omit<RestatedValue, 'day'> & { readonly day: string }>;
}

const noDays: CoverageCounts = { asked: 0, present: 0, quarantined: 0, missing: 0, neverRead: 0 };

export async function wellDocument(app: App, uwi: string, nowMs: number): Promise<WellDocument> {
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
    firstDay: whole === undefined ? null : dayText(whole.fromDay),
    lastDay: whole === undefined ? null : dayText(whole.toDay - 1),
    readUpTo: trace?.readUpTo ?? null,
    unknownSince: trace?.unknownSince ?? null,
    days: isKnown ? days : noDays,
    gaps: whole === undefined ? [] : subtractDays(whole, known).toReversed().map(gapOf),
    restated: restated.map((each) => ({ ...each, day: dayText(each.day) })),
  };
}

function gapOf({ fromDay, toDay }: DayInterval): WellDocument['gaps'][number] {
  return { from: dayText(fromDay), lastDay: dayText(toDay - 1), to: dayText(toDay), days: toDay - fromDay };
}

// The daily production of one well as columns, as a plot takes it, with what was restated since.

/** The columns that a plot shows, with what they are called there. */
const plottedColumns = [
  { column: 'oil_rate', title: 'Oil rate', group: 'rates' },
  { column: 'gas_rate', title: 'Gas rate', group: 'rates' },
  { column: 'water_rate', title: 'Water rate', group: 'rates' },
  { column: 'water_injection_rate', title: 'Water injection rate', group: 'rates' },
  { column: 'gas_injection_rate', title: 'Gas injection rate', group: 'rates' },
  { column: 'tubing_pressure', title: 'Tubing pressure', group: 'pressures' },
  { column: 'casing_pressure', title: 'Casing pressure', group: 'pressures' },
  { column: 'gauge_pressure', title: 'Gauge pressure', group: 'pressures' },
  { column: 'line_pressure', title: 'Line pressure', group: 'pressures' },
  { column: 'downtime_hours', title: 'Downtime', group: 'downtime' },
] as const;

type PlottedColumn = Readonly<Record<'column' | 'title' | 'group', string>>;

/** With the units in the titles: `Oil rate (bbl/d)`. */
export function plottedTitles({ units }: Pick<Config, 'units'>): readonly PlottedColumn[] {
  const unitOf = dailyUnits(units);
  return plottedColumns.map((each) => ({ ...each, title: withUnit(each.title, unitOf[each.column]) }));
}

interface WellSeries {
  readonly uwi: string;
  /** Day numbers, ascending. */
  readonly days: readonly number[];
  /** By column, one value a day; a column without any value is left out. */
  readonly values: Readonly<Record<string, ReadonlyArray<number | null>>>;
  /** The latest first, at most {@link mostRestatements}. */
  readonly restated: readonly RestatedValue[];
  /** Whether there are more. */
  readonly hasMoreRestated: boolean;
}

interface RestatedValue {
  readonly day: number;
  /** Null where the whole row was removed. */
  readonly column: string | null;
  readonly before: number | null;
  readonly after: number | null;
  readonly noticedAt: string;
  readonly runId: string;
}

const mostRestatements = 5_000;

/** Rows that are held as objects at a time; a well of thirteen years is one page. */
const pageRows = 5_000;

/** An unknown well has no day. */
export async function wellSeriesOf(app: App, uwi: string): Promise<WellSeries> {
  const names = plottedColumns.map(({ column }) => column);
  const days: number[] = [];
  const columns = names.map((): (number | null)[] => []);
  for await (const { day, measures, counts } of rowsOf(app, uwi)) {
    if (day === null || !counts) continue;
    days.push(dayNumber(day));
    for (const [index, name] of names.entries()) {
      const value = measures[name];
      columns[index]?.push(typeof value === 'number' ? value : null);
    }
  }
  const values = Object.fromEntries(
    names.flatMap((name, index) => {
      const column = columns[index] ?? [];
      return column.some((value) => value !== null) ? [[name, column]] : [];
    }),
  );
  return { uwi, days, values, ...(await restatedOf(app, uwi)) };
}

async function* rowsOf({ warehouse }: App, uwi: string): AsyncGenerator<ProductionRow> {
  let after: ProductionRow | undefined;
  do {
    const start = after === undefined ? {} : { after: { date: after.date, xid: after.xid } };
    const rows = (await warehouse.dailyProduction.rows({ uwi, limit: pageRows, ...start })) ?? [];
    yield* rows;
    after = rows.length < pageRows ? undefined : rows.at(-1);
  } while (after !== undefined);
}

/** What was restated of the plotted columns, as far back as the history goes. */
async function restatedOf(app: App, uwi: string): Promise<Pick<WellSeries, 'restated' | 'hasMoreRestated'>> {
  const sinceMs = (await app.ledger.retention.historyHorizonMs()) ?? 0;
  const plotted = new Set<string>(plottedColumns.map(({ column }) => column));
  const found: RestatedValue[] = [];
  await readRestatements(app, { sinceMs, untilMs: Date.now() + 1, uwis: [uwi] }, async (lines) => {
    for await (const { day, field, old, new: next, noticedAt, runId } of lines) {
      if (field !== null && !plotted.has(field)) continue;
      found.push({
        day: dayNumber(day),
        column: field,
        before: typeof old === 'number' ? old : null,
        after: typeof next === 'number' ? next : null,
        noticedAt: instantText(Date.parse(noticedAt)),
        runId,
      });
    }
  });
  const latest = found.toSorted((left, right) => right.noticedAt.localeCompare(left.noticedAt));
  return { restated: latest.slice(0, mostRestatements), hasMoreRestated: latest.length > mostRestatements };
}

/** Requests for the stored production of a well, in pages by date. */
interface ProductionInput {
  readonly uwi: string;
  /** A production day, YYYY-MM-DD. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string | undefined;
}

interface ProductionPage {
  readonly rows: readonly ProductionRow[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Undefined for a well that has never had a row. Throws UsageError for a text that is no day, or no cursor. */
export async function pageOfProduction(
  { warehouse }: Pick<App, 'warehouse'>,
  { uwi, from, to, limit, cursor }: ProductionInput,
): Promise<ProductionPage | undefined> {
  for (const [name, day] of Object.entries({ from, to })) {
    if (day !== undefined && instantOfDay(day, 'UTC') === undefined) {
      throw new UsageError(`${name} ${JSON.stringify(day)} is not a day`, {
        hint: 'Write a day of the calendar as 2024-03-31.',
      });
    }
  }
  const question: RowsQuestion = {
    uwi,
    limit: limit + 1,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(cursor === undefined ? {} : { after: positionOf(cursor) }),
  };
  const found = await warehouse.dailyProduction.rows(question);
  if (found === undefined) return undefined;
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, cursor: found.length > limit && last !== undefined ? cursorOf(last.date, last.xid) : undefined };
}

const rowPosition = z.tuple([z.iso.datetime(), z.guid()]);

function positionOf(cursor: string): NonNullable<RowsQuestion['after']> {
  const [date, xid] = readCursor(cursor, rowPosition, { list: 'production' });
  return { date, xid };
}
