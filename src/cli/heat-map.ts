/** Decides how coverage reads as a heat map: a line a well, a sign a month, or a longer time where there is no room. Pure. */
import type { CoverageSums } from '../core/coverage.ts';
import type { MonthCoverage } from '../warehouse/warehouse.ts';
import { printable } from './words.ts';

export interface HeatRow {
  readonly name: string;
  readonly months: readonly MonthCoverage[];
}

const longestName = 24;
const yearLength = 4;

/** What one sign stands for, in months; a decade is the most that any terminal needs. */
const scales = [
  { months: 1, words: 'a month' },
  { months: 3, words: 'a quarter' },
  { months: 6, words: 'half a year' },
  { months: 12, words: 'a year' },
  { months: 120, words: 'a decade' },
] as const;

/** The lines of the map, from the first month of any row to the last, and what a sign of it stands for. */
export function heatMap(
  rows: readonly HeatRow[],
  width: number,
): { readonly lines: readonly string[]; readonly signIs: string } {
  const named = rows.map(({ name, months }) => ({ name: cut(printable(name)), months }));
  const nameWidth = Math.max(0, ...named.map(({ name }) => name.length));
  const all = named.flatMap(({ months }) => months.map(({ month }) => monthNumber(month)));
  const [first, last] = [lowest(all), -lowest(all.map((month) => -month))];
  const room = Math.max(1, width - nameWidth - 2);
  const scale = scales.find(({ months }) => columnOf(last, first, months) < room) ?? scales[4];
  const columns = columnOf(last, first, scale.months) + 1;
  const lines = named.map(({ name, months }) => {
    const periods = Array.from({ length: columns }, () => noDays);
    for (const month of months) {
      const column = columnOf(monthNumber(month.month), first, scale.months);
      periods[column] = added(periods[column] ?? noDays, month);
    }
    return `${name.padEnd(nameWidth)}  ${periods.map(signOf).join('')}`.trimEnd();
  });
  const axis = `${' '.repeat(nameWidth)}  ${yearAxis(first, columns, scale.months)}`.trimEnd();
  return { lines: [axis, ...lines], signIs: scale.words };
}

const signs = [
  '█ every day',
  '▓ 90 % or more',
  '▒ half or more',
  '░ less',
  '· none, though read',
  '? none, and not all read',
  '! quarantined',
];

/** What the signs say, in lines that are no wider than `width` where a single one is not. */
export function heatLegend(width: number): readonly string[] {
  const lines: string[] = [];
  for (const sign of signs) {
    const longer = `${lines.at(-1) ?? ''}  ${sign}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(sign);
  }
  return lines;
}

/** Quarantined days want to be seen, however few. */
function signOf({ asked, present, quarantined, neverRead }: CoverageSums): string {
  if (asked === 0) return ' ';
  if (quarantined > 0) return '!';
  if (present === asked) return '█';
  if (present === 0) return neverRead > 0 ? '?' : '·';
  const share = present / asked;
  return share >= 0.9 ? '▓' : share >= 0.5 ? '▒' : '░';
}

const noDays: CoverageSums = { asked: 0, present: 0, quarantined: 0, missing: 0, neverRead: 0 };

function added(left: CoverageSums, right: CoverageSums): CoverageSums {
  return {
    asked: left.asked + right.asked,
    present: left.present + right.present,
    quarantined: left.quarantined + right.quarantined,
    missing: left.missing + right.missing,
    neverRead: left.neverRead + right.neverRead,
  };
}

function lowest(numbers: readonly number[]): number {
  return numbers.reduce((low, each) => Math.min(low, each), numbers[0] ?? 0);
}

/** Months since the year 0. */
function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1;
}

function columnOf(month: number, first: number, scale: number): number {
  return Math.floor(month / scale) - Math.floor(first / scale);
}

/** The years that begin in a column, each where there is room behind the one before; else the year of the first column. */
function yearAxis(first: number, columns: number, scale: number): string {
  const monthOf = (column: number): number => (Math.floor(first / scale) + column) * scale;
  let axis = '';
  for (let column = 0; column < columns; column += 1) {
    const month = monthOf(column);
    const beginsYear = month % 12 === 0 && (scale < 12 || (month / 12) % 5 === 0);
    const hasRoom = axis.length <= column && column + yearLength <= columns;
    if (beginsYear && hasRoom) axis = `${axis.padEnd(column)}${month / 12} `;
  }
  return axis === '' ? String(Math.floor(monthOf(0) / 12)) : axis.trimEnd();
}

function cut(name: string): string {
  return name.length <= longestName ? name : `${name.slice(0, longestName - 1)}…`;
}
