/** The daily production of one well as columns, as a plot takes it, with what was restated since. */
import { dayNumber } from '../core/time/day-number.ts';
import { instantText } from '../core/base/text.ts';
import type { ProductionRow } from '../warehouse/port/daily-production.ts';
import type { App } from './app.ts';
import { readRestatements } from './requests/restatements.ts';

/** The columns that a plot shows, with what they are called there. docs/interface.md section 2.1 names no units. */
export const plottedColumns = [
  { column: 'oil_rate', title: 'Oil rate', group: 'rates' },
  { column: 'gas_rate', title: 'Gas rate', group: 'rates' },
  { column: 'water_rate', title: 'Water rate', group: 'rates' },
  { column: 'water_injection_rate', title: 'Water injection rate', group: 'rates' },
  { column: 'gas_injection_rate', title: 'Gas injection rate', group: 'rates' },
  { column: 'tubing_pressure', title: 'Tubing pressure', group: 'pressures' },
  { column: 'casing_pressure', title: 'Casing pressure', group: 'pressures' },
  { column: 'gauge_pressure', title: 'Gauge pressure', group: 'pressures' },
  { column: 'line_pressure', title: 'Line pressure', group: 'pressures' },
  { column: 'downtime_hours', title: 'Downtime (hours)', group: 'downtime' },
] as const;

export interface WellSeries {
  readonly uwi: string;
  /** Day numbers, ascending; a day of several records stands several times. */
  readonly days: readonly number[];
  /** By column, one value a day; a column without any value is left out. */
  readonly values: Readonly<Record<string, ReadonlyArray<number | null>>>;
  /** The latest first, at most {@link mostRestatements}. */
  readonly restated: readonly RestatedValue[];
  /** Whether there are more. */
  readonly hasMoreRestated: boolean;
}

export interface RestatedValue {
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
  for await (const { day, measures } of rowsOf(app, uwi)) {
    if (day === null) continue;
    days.push(dayNumber(day));
    for (const [place, name] of names.entries()) {
      const value = measures[name];
      columns[place]?.push(typeof value === 'number' ? value : null);
    }
  }
  const values = Object.fromEntries(
    names.flatMap((name, place) => {
      const column = columns[place] ?? [];
      return column.some((value) => value !== null) ? [[name, column]] : [];
    }),
  );
  return { uwi, days, values, ...(await restatedOf(app, uwi)) };
}

async function* rowsOf({ warehouse }: App, uwi: string): AsyncGenerator<ProductionRow> {
  let after: ProductionRow | undefined;
  do {
    const place = after === undefined ? {} : { after: { date: after.date, xid: after.xid } };
    const rows = (await warehouse.dailyProduction.rows({ uwi, limit: pageRows, ...place })) ?? [];
    yield* rows;
    after = rows.length < pageRows ? undefined : rows.at(-1);
  } while (after !== undefined);
}

/** What was restated of the plotted columns, as far back as the history goes. */
export async function restatedOf(app: App, uwi: string): Promise<Pick<WellSeries, 'restated' | 'hasMoreRestated'>> {
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
