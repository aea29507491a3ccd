/** The text of coverage for a terminal. Pure. */
import type {
  CoverageFrame,
  CoverageTotals,
  MonthCoverage,
  StaleWell,
  UnknownWell,
  WellTrace,
} from '../../app/wells/coverage.ts';
import { counted, figure, instantText, printable } from '../../core/base/text.ts';
import { type CoverageCounts, holesOf, type WellCoverage } from '../../core/daily/coverage.ts';
import { type NextStep, showQuarantine } from '../text/actions.ts';
import { nextStepsText } from '../text/runs.ts';
import { cutText, folded, padded, stringWidth, tableText, widestOf } from '../text/table.ts';

/** Width of a map for a pipe or a file. */
const widthWithoutTerminal = 100;

/** The totals of all wells, and a heat map of the selected ones. */
export function summaryText(summary: {
  readonly frame: CoverageFrame;
  readonly totals: CoverageTotals;
  readonly rows: readonly HeatRow[];
  /** Of the wells that were named. */
  readonly traces: readonly WellTrace[];
  readonly width: number;
}): string {
  const { frame, totals, rows } = summary;
  if (totals.asked === 0) return `${frameText(frame, summary.width)}\n\n${nothingText(totals, summary.traces)}`;
  const width = Number.isFinite(summary.width) ? summary.width : widthWithoutTerminal;
  const parts = [
    frameText(frame, width),
    totalsTable(totals),
    mapText(rows, width),
    folded(shownText(totals, rows.length), width),
    nextStepsText(nextSteps(totals), width),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function nothingText({ wells }: CoverageTotals, traces: readonly WellTrace[]): string {
  if (traces.length > 0) return ['No day is known of what was requested.', ...traces.map(traceText)].join('\n');
  const what = wells === 0 ? 'No well is known yet' : 'No day is known of what was requested';
  return `${what}. A first export fills the warehouse: wellsync export daily-production --help`;
}

function frameText({ timeZone, from, to }: CoverageFrame, width: number): string {
  const since = from === null ? 'from the first known day of each well' : `from ${from}`;
  const left = "Days after a well's last row that unverified reads alone have passed are left out.";
  return folded(`Daily production by day (${timeZone}), ${since}, to ${to} (exclusive). ${left}`, width);
}

function totalsTable(totals: CoverageTotals): string {
  const { wells, emptyWells, asked, present, quarantined, missing, neverRead, missingAfterLast } = totals;
  const row = (name: string, count: number, remark = ''): readonly string[] => [
    name,
    figure(count),
    shareText(count, asked),
    remark,
  ];
  return tableText(
    [{}, { align: 'right' }, { align: 'right' }, {}],
    [
      ['wells', figure(wells), '', emptyWells > 0 ? `${figure(emptyWells)} without any known day` : ''],
      ['days', figure(asked), '', ''],
      row('present', present),
      row('quarantined', quarantined),
      row(
        'missing',
        missing,
        missingAfterLast > 0 ? `${figure(missingAfterLast)} of them after the last day of their well` : '',
      ),
      row('never read', neverRead),
    ],
    '  ',
  );
}

/** Never rounded up to the whole or down to zero: 99.99 % is 99.9 %, and 0.01 % is 0.1 %. */
export function shareText(count: number, whole: number): string {
  if (whole === 0) return '';
  const tenths = Math.round((1_000 * count) / whole);
  const least = count === 0 ? 0 : 1;
  const most = count === whole ? 1_000 : 999;
  return `${(Math.min(Math.max(tenths, least), most) / 10).toFixed(1)} %`;
}

function mapText(rows: readonly HeatRow[], width: number): string {
  const shown = rows.filter(({ months }) => months.length > 0);
  if (shown.length === 0) return '';
  const { lines, signIs } = heatMap(shown, width);
  return [...lines, '', `A sign is ${signIs}:`, ...heatLegend(width)].join('\n');
}

/** Which wells the map shows: those with holes, or else the first ones. */
function shownText({ wells, wellsWithHoles }: CoverageTotals, shown: number): string {
  const lists = '--limit, --by-well --json';
  if (wellsWithHoles === 0) {
    return wells <= shown ? '' : `No well has a hole. Shown are the first ${figure(shown)}: ${lists}`;
  }
  const others = wells - wellsWithHoles;
  const complete = others === 0 ? '' : ` ${counted(others, 'well has', 'wells have')} none.`;
  if (wellsWithHoles <= shown) return complete === '' ? '' : `Shown are the wells with holes.${complete}`;
  return `Shown are the wells with the most holes; ${figure(wellsWithHoles - shown)} more: ${lists}.${complete}`;
}

const fillGaps: NextStep = [
  'wellsync export daily-production --from-warehouse --gaps',
  'reads what was never read, and what is missing once more',
];

/** Missing days have been read: another read of them is worth its requests only with days that never were. */

function nextSteps({ neverRead, quarantined }: CoverageCounts): readonly NextStep[] {
  return [...(neverRead > 0 ? [fillGaps] : []), ...(quarantined > 0 ? [showQuarantine] : [])];
}

const sumColumns = ['days', 'present', 'missing', 'never read', 'quarantined'] as const;

function countCells({ asked, present, missing, neverRead, quarantined }: CoverageCounts): readonly string[] {
  return [asked, present, missing, neverRead, quarantined].map(figure);
}

export function wellTable(wells: readonly WellCoverage[], more: number, width: number): string {
  if (wells.length === 0) return 'There is no well that anything is known of.';
  const heads = ['uwi', 'first day', 'last day', ...sumColumns, 'missing after last', 'holes'];
  const table = tableText(
    heads.map((head, position) => ({ head, align: position < 3 ? 'left' : 'right' })),
    wells.map((well) => [
      well.uwi,
      well.firstDay ?? '',
      well.lastDay ?? '',
      ...countCells(well),
      figure(well.missingAfterLast),
      figure(holesOf(well)),
    ]),
    '',
    width,
  );
  return more <= 0 ? table : `${table}\n(${counted(more, 'more well')} not shown: --limit, --json)`;
}

export function monthTable(months: readonly MonthCoverage[]): string {
  if (months.length === 0) return 'There is no day that anything is known of.';
  return tableText(
    ['month', ...sumColumns].map((head, position) => ({ head, align: position === 0 ? 'left' : 'right' })),
    months.map((month) => [month.month.slice(0, 7), ...countCells(month)]),
  );
}

/** Coverage as a heat map: a line a well, a sign a month, or a longer period if space is short. Pure. */
interface HeatRow {
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

/** The text of lists of wells that need a look, for a terminal. Pure. */
export function staleTable(wells: readonly StaleWell[], limit: number, warnAfterDays: number): string {
  if (wells.length === 0) return `No well is without a new day for ${counted(warnAfterDays, 'day')} or more.`;
  const table = tableText(
    [{ head: 'uwi' }, { head: 'last day' }, { head: 'silent days', align: 'right' }, { head: '' }],
    wells.slice(0, limit).map((well) => [well.uwi, well.lastDay, figure(well.silentDays), staleRemark(well)]),
  );
  return withMore(table, wells.length - limit);
}

function staleRemark({ quarantined, unknownSince }: StaleWell): string {
  if (unknownSince !== null) return `unknown at the service since ${dayOf(unknownSince)}`;
  return quarantined === 0 ? '' : `${counted(quarantined, 'newer record')} quarantined`;
}

export function unknownTable(wells: readonly UnknownWell[], limit: number): string {
  if (wells.length === 0) return 'The service knew every well whose daily production was read.';
  const table = tableText(
    [{ head: 'uwi' }, { head: 'unknown since' }, { head: 'last day' }, { head: 'first noticed by run' }],
    wells.slice(0, limit).map((well) => [well.uwi, timeOf(well.since), well.lastDay ?? 'no row', well.runId]),
  );
  return withMore(table, wells.length - limit);
}

/** What is known of a well of which no day is known. */
function traceText({ uwi, readUpTo, unknownSince }: WellTrace): string {
  if (unknownSince !== null) return `${uwi}: the service does not know it (404), since ${timeOf(unknownSince)}.`;
  if (readUpTo !== null) return `${uwi}: read up to ${timeOf(readUpTo)}, and the service has sent no row of it.`;
  return `${uwi}: never read. To read it: wellsync export daily-production --uwi ${quoted(uwi)}`;
}

/** A word that a shell takes whole. */
function quoted(uwi: string): string {
  return /^[\w./:-]+$/.test(uwi) ? uwi : `'${uwi.replaceAll("'", `'\\''`)}'`;
}

function withMore(table: string, more: number): string {
  return more <= 0 ? table : `${table}\n(${counted(more, 'more well')} not shown: --limit, --json)`;
}

function timeOf(iso: string): string {
  return instantText(Date.parse(iso));
}

function dayOf(iso: string): string {
  return iso.slice(0, 10);
}
