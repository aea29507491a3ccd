/** Which plots a well has, and of which columns: what has one unit shares an axis, and nothing else does. Pure. */
import type { Config } from '../../../config/schema.ts';
import { dailyUnits, ratioUnit, type Units, unknownUnit, withUnit } from '../../core/daily/units.ts';

/** Those of daily production that are plotted; `hours` is the band behind the rates. */
const storedColumns = [
  { column: 'oil_rate', title: 'Oil', plot: 'Liquids' },
  { column: 'water_rate', title: 'Water', plot: 'Liquids' },
  { column: 'gas_rate', title: 'Gas', plot: 'Gas' },
  { column: 'water_injection_rate', title: 'Water injected', plot: 'Water injection' },
  { column: 'gas_injection_rate', title: 'Gas injected', plot: 'Gas injection' },
  { column: 'gas_lift_injection_rate', title: 'Lift gas', plot: 'Gas lift' },
  { column: 'tubing_pressure', title: 'Tubing', plot: 'Pressures' },
  { column: 'casing_pressure', title: 'Casing', plot: 'Pressures' },
  { column: 'gauge_pressure', title: 'Gauge', plot: 'Pressures' },
  { column: 'line_pressure', title: 'Line', plot: 'Pressures' },
] as const;

const hoursColumn = 'downtime_hours';
export const codeColumn = 'downtime_code';

/** What is read of the rows of a well. */
export const plottedColumns: readonly string[] = [...storedColumns.map(({ column }) => column), hoursColumn];

/** Computed from the rates of a day (core/daily/units.ts). */
export const derivedColumns = ['liquid_rate', 'water_cut', 'gas_oil_ratio'] as const;
export type DerivedColumn = (typeof derivedColumns)[number];

export interface Plot {
  readonly title: string;
  /** With its unit: `Liquids (bbl/d)`; unique. */
  readonly caption: string;
  /** Of every line of it. */
  readonly unit: string;
  readonly lines: ReadonlyArray<{ readonly column: string; readonly title: string }>;
  /** Whether it shows the downtime behind its lines. */
  readonly hasDowntime: boolean;
  /** Whether a log scale is of use to it. */
  readonly mayBeLog: boolean;
}

/** Of each column that a plot, a table or a file of a well may have. */
export function unitsOfWell({ units }: Pick<Config, 'units'>): Units {
  const ofColumn = dailyUnits(units);
  const { oil_rate: oil, water_rate: water, gas_rate: gas } = ofColumn;
  return {
    ...ofColumn,
    liquid_rate: oil === water && oil !== undefined ? oil : unknownUnit,
    water_cut: '%',
    gas_oil_ratio: ratioUnit(gas, oil),
  };
}

/** The titles of columns for people. */
const columnTitles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(storedColumns.map(({ column, title }) => [column, title])),
  liquid_rate: 'Liquid',
  water_cut: 'Water cut',
  gas_oil_ratio: 'Gas-oil ratio',
  [hoursColumn]: 'Downtime',
  [codeColumn]: 'Downtime code',
};

/** Of each column, with its unit: `Oil (bbl/d)`. */
export function titlesOf(units: Units): Readonly<Record<string, string>> {
  const names = [...new Set([...Object.keys(columnTitles), ...Object.keys(units)])];
  const titleOf = (column: string): string => columnTitles[column] ?? column.replaceAll('_', ' ');
  return Object.fromEntries(names.map((column) => [column, withUnit(titleOf(column), units[column])]));
}

/**
 * `present`: the columns that have a value other than 0 in any row. A well without one has the plot of its liquids, at 0.
 */
export function plotsOf(present: readonly string[], units: Units): readonly Plot[] {
  const has = new Set(present);
  const shown = storedColumns.filter(({ column }) => has.has(column));
  const columns = shown.length > 0 ? shown : storedColumns.slice(0, 2);
  const byAxis = new Map<string, { column: string; title: string; plot: string; unit: string }[]>();
  for (const each of columns) {
    const unit = units[each.column] ?? unknownUnit;
    const key = `${each.plot} ${unit}`;
    byAxis.set(key, [...(byAxis.get(key) ?? []), { ...each, unit }]);
  }
  const plots = [...byAxis.values()].flatMap((lines): readonly Plot[] => {
    const [first] = lines;
    if (first === undefined) return [];
    const isOne = lines.length === 1;
    const isRate = first.plot !== 'Pressures';
    const hasLiquid = first.plot === 'Liquids' && lines.length === 2;
    const title = isOne && isRate ? first.title : first.plot;
    return [
      {
        title,
        caption: withUnit(title, first.unit),
        unit: first.unit,
        lines: hasLiquid ? [...lines, { column: 'liquid_rate', title: 'Liquid' }] : lines,
        hasDowntime: isRate,
        mayBeLog: isRate,
      },
    ];
  });
  return [...plots, ...ratioPlots(has, units)];
}

function ratioPlots(has: ReadonlySet<string>, units: Units): readonly Plot[] {
  const areComparable = units['oil_rate'] === units['water_rate'];
  return [
    ...(has.has('oil_rate') && has.has('water_rate') && areComparable ? [ratioPlot('water_cut', units)] : []),
    ...(has.has('oil_rate') && has.has('gas_rate') ? [ratioPlot('gas_oil_ratio', units)] : []),
  ];
}

function ratioPlot(column: DerivedColumn, units: Units): Plot {
  const title = columnTitles[column] ?? column;
  const lines = [{ column, title }];
  const unit = units[column] ?? unknownUnit;
  const caption = withUnit(title, unit);
  return { title, caption, unit, lines, hasDowntime: false, mayBeLog: column === 'gas_oil_ratio' };
}
