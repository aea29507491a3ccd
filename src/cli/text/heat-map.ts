/** Coverage as a heat map: a line a well, a sign a month, or a longer period if space is short. Pure. */
import stringWidth from 'string-width';
import type { CoverageCounts } from '../../core/daily/coverage.ts';
import type { MonthCoverage } from '../../app/views/coverage.ts';
import { printable } from '../../core/base/text.ts';
import { cutText } from './fit-columns.ts';
import { padded, widestOf } from './table.ts';

export interface HeatRow {
  readonly name: string;
  readonly months: readonly MonthCoverage[];
}

const longestName = 24;
const yearLength = 4;

/** Periods of one sign, in months; a decade fits any terminal. */
const scales = [
  { months: 1, text: 'a month' },
  { months: 3, text: 'a quarter' },
  { months: 6, text: 'half a year' },
  { months: 12, text: 'a year' },
  { months: 120, text: 'a decade' },
] as const;

/** The lines of the map, from the first month of any row to the last, and the period of one sign. */
export function heatMap(
  rows: readonly HeatRow[],
  width: number,
): { readonly lines: readonly string[]; readonly signIs: string } {
  const named = rows.map(({ name, months }) => ({ name: cutText(printable(name), longestName), months }));
  const nameWidth = widestOf(named.map(({ name }) => name));
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
    return `${padded(name, nameWidth)}  ${periods.map(signOf).join('')}`.trimEnd();
  });
  const axis = `${' '.repeat(nameWidth)}  ${yearAxis(first, columns, scale.months)}`.trimEnd();
  return { lines: [axis, ...lines], signIs: scale.text };
}

const signs = [
  '█ every day',
  '▓ 90 % or more',
  '▒ half or more',
  '░ less',
  '· none, though read',
  '? none, and not all read',
  'Q quarantined, 90 % or more present',
  'q quarantined, half or more',
  '! quarantined, less',
];

/** The legend of the signs, broken into lines no wider than `width` if one line is too wide. */
export function heatLegend(width: number): readonly string[] {
  const lines: string[] = [];
  for (const sign of signs) {
    const longer = `${lines.at(-1) ?? ''}  ${sign}`;
    if (lines.length > 0 && stringWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(sign);
  }
  return lines;
}

/** Quarantined days are always visible, however few, and so is how much of the period is there beside them. */
function signOf({ asked, present, quarantined, neverRead }: CoverageCounts): string {
  if (asked === 0) return ' ';
  const share = present / asked;
  if (quarantined > 0) return share >= 0.9 ? 'Q' : share >= 0.5 ? 'q' : '!';
  if (present === asked) return '█';
  if (present === 0) return neverRead > 0 ? '?' : '·';
  return share >= 0.9 ? '▓' : share >= 0.5 ? '▒' : '░';
}

const noDays: CoverageCounts = { asked: 0, present: 0, quarantined: 0, missing: 0, neverRead: 0 };

function added(left: CoverageCounts, right: CoverageCounts): CoverageCounts {
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

/** The first year in each column, if there is space after the previous one; at least the year of the first column. */
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
