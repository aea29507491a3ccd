/** The daily production of one well as columns, as plots, a table and a file take it, with what is to be known of its days. */
import { stringify } from 'csv-stringify/sync';
import { csvForm } from '../../core/base/text.ts';
import type { DayState } from '../../core/daily/coverage.ts';
import { gasOilRatioOf, headWithUnit, liquidOf, waterCutOf } from '../../core/daily/units.ts';
import { dayNumber, dayText } from '../../core/time/production-day.ts';
import type { App } from '../app.ts';
import { codeColumn, derivedColumns, plottedColumns, unitsOfWell } from './well-plots.ts';
import { daysOfWell, type RestatedValue } from './well.ts';

type Values = ReadonlyArray<number | null>;

export interface WellSeries {
  readonly uwi: string;
  /** Day number of the day that is not over: the end of the axis. */
  readonly today: number;
  /** Day numbers, ascending. */
  readonly days: readonly number[];
  /** By column, one value a day; a column without any value is left out. */
  readonly values: Readonly<Record<string, Values>>;
  /** Why the well was down, one a day; left out without any. */
  readonly codes?: ReadonlyArray<string | null>;
  readonly stretches: ReadonlyArray<readonly [fromDay: number, toDay: number, state: DayState]>;
  /** The latest first. */
  readonly restated: readonly RestatedValue[];
  readonly findings: ReadonlyArray<
    Readonly<Record<'check' | 'field', string>> &
      Readonly<Record<'value' | 'expected', number | null>> & { readonly day: number }
  >;
}

const mostFindings = 5_000;

/** An unknown well has no day. */
export async function wellSeriesOf(app: App, uwi: string, nowMs: number): Promise<WellSeries> {
  const found = await app.warehouse.dailyProduction.days({ uwi, numbers: plottedColumns, texts: [codeColumn] });
  const days = [...(found?.days ?? [])];
  const stored = Object.fromEntries(
    plottedColumns.map((name, index) => [name, Array.from(found?.numbers[index] ?? [], known)]),
  );
  const codes = (found?.texts[0] ?? []).map((code) => (code === '' ? null : code));
  const { stretches, restated, today } = await daysOfWell(app, uwi, nowMs);
  const findings = await app.warehouse.checks.findings({ uwis: [uwi], limit: mostFindings });
  return {
    uwi,
    today,
    days,
    values: withValues({ ...stored, ...derivedOf(stored, days.length) }),
    ...(codes.some((code) => code !== null) ? { codes } : {}),
    stretches: stretches.map(({ fromDay, toDay, state }) => [fromDay, toDay, state] as const),
    restated,
    findings: findings.map(({ check, day, field, value, expected }) => ({
      check,
      day: dayNumber(day),
      field,
      value,
      expected,
    })),
  };
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function derivedOf(stored: Readonly<Record<string, Values>>, days: number): Readonly<Record<string, Values>> {
  const at = (name: string, index: number): number | null => stored[name]?.[index] ?? null;
  const each = (of: (index: number) => number | null): Values => Array.from({ length: days }, (_, index) => of(index));
  return {
    liquid_rate: each((index) => liquidOf(at('oil_rate', index), at('water_rate', index))),
    water_cut: each((index) => waterCutOf(at('oil_rate', index), at('water_rate', index))),
    gas_oil_ratio: each((index) => gasOilRatioOf(at('oil_rate', index), at('gas_rate', index))),
  };
}

function withValues(all: Readonly<Record<string, Values>>): Readonly<Record<string, Values>> {
  return Object.fromEntries(Object.entries(all).filter(([, values]) => values.some((value) => value !== null)));
}

/** As CSV, a line a day, also of one without a row; the days [from, to) alone where they are given, YYYY-MM-DD; units are in the heads. */
export function seriesCsv(
  { config }: Pick<App, 'config'>,
  { days, values, codes, stretches }: WellSeries,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
): string {
  const units = unitsOfWell(config);
  const names = [...plottedColumns, ...derivedColumns].filter((name) => values[name] !== undefined);
  const heads = ['day', 'state', ...names.map((name) => headWithUnit(name, units)), ...(codes ? [codeColumn] : [])];
  const [first, end] = [from === undefined ? -Infinity : dayNumber(from), to === undefined ? Infinity : dayNumber(to)];
  const indexOf = new Map(days.map((day, index) => [day, index]));
  const rows = stretches.flatMap(([fromDay, toDay, state]) => {
    const [begin, behind] = [Math.max(fromDay, first), Math.min(toDay, end)];
    return Array.from({ length: Math.max(0, behind - begin) }, (_, offset) => {
      const index = indexOf.get(begin + offset) ?? -1;
      const measured = names.map((name) => values[name]?.[index] ?? null);
      return [dayText(begin + offset), state, ...measured, ...(codes ? [codes[index] ?? null] : [])];
    });
  });
  const { header, cast } = csvForm(heads);
  return stringify(rows, { header, columns: heads, cast });
}
