/** Decides how coverage reads on a terminal. Pure. */
import type { CoverageSums, WellCoverage } from '../core/coverage.ts';
import type { CoverageSurvey, MonthCoverage } from '../warehouse/warehouse.ts';
import { heatLegend, heatMap, type HeatRow } from './heat-map.ts';
import { nextStepsText, type NextStep } from './next-steps.ts';
import { tableText } from './table.ts';
import { counted, figure } from './words.ts';

/** Which days were asked for; `from` null is the first known day of each well. */
export interface CoverageFrame {
  readonly timeZone: string;
  readonly from: string | null;
  /** The first day that is left out. */
  readonly to: string;
}

type Totals = Awaited<ReturnType<CoverageSurvey['totals']>>;

/** Of a map that goes to a pipe or a file. */
const widthWithoutTerminal = 100;

/** The sums of all wells, and a heat map of those that were picked. */
export function summaryText(facts: {
  readonly frame: CoverageFrame;
  readonly totals: Totals;
  readonly rows: readonly HeatRow[];
  /** Wells that are not among the rows. */
  readonly more: number;
  readonly width: number;
}): string {
  const { frame, totals, rows, more } = facts;
  if (totals.asked === 0) return `${frameText(frame)}\n\n${nothingText(totals)}`;
  const width = Number.isFinite(facts.width) ? facts.width : widthWithoutTerminal;
  const parts = [
    frameText(frame),
    sumsTable(totals),
    mapText(rows, width),
    moreText(more),
    nextStepsText(nextSteps(totals), width),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function nothingText({ wells }: Totals): string {
  const what = wells === 0 ? 'No well is known yet' : 'No day is known of what was asked for';
  return `${what}. A first export fills the warehouse: wellsync export daily-production --help`;
}

function frameText({ timeZone, from, to }: CoverageFrame): string {
  const since = from === null ? 'from the first known day of each well' : `from ${from}`;
  return `Daily production by day (${timeZone}), ${since}, up to ${to}, which is left out`;
}

function sumsTable(totals: Totals): string {
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

/** Never rounded to a whole that it is not: 99.99 % is 99.9 %, and 0.01 % is 0.1 %. */
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

function moreText(more: number): string {
  return more <= 0
    ? ''
    : `Shown are the wells with the most holes; ${counted(more, 'more well')}: --limit, --by-well --json`;
}

const fillGaps: NextStep = [
  'wellsync export daily-production --from-warehouse --gaps',
  'reads what is missing or was never read',
];
const showQuarantine: NextStep = ['wellsync query "FROM quarantine"', 'shows the records that broke the contract'];

function nextSteps({ missing, neverRead, quarantined }: CoverageSums): readonly NextStep[] {
  return [...(missing + neverRead > 0 ? [fillGaps] : []), ...(quarantined > 0 ? [showQuarantine] : [])];
}

const sumColumns = ['days', 'present', 'missing', 'never read', 'quarantined'] as const;

function sumCells({ asked, present, missing, neverRead, quarantined }: CoverageSums): readonly string[] {
  return [asked, present, missing, neverRead, quarantined].map(figure);
}

export function wellTable(wells: readonly WellCoverage[], more: number): string {
  if (wells.length === 0) return 'There is no well that anything is known of.';
  const heads = ['uwi', 'first day', 'last day', ...sumColumns, 'missing after last'];
  const table = tableText(
    heads.map((head, position) => ({ head, align: position < 3 ? 'left' : 'right' })),
    wells.map((well) => [
      well.uwi,
      well.firstDay ?? '',
      well.lastDay ?? '',
      ...sumCells(well),
      figure(well.missingAfterLast),
    ]),
  );
  return more <= 0 ? table : `${table}\n(${counted(more, 'more well')} not shown: --limit, --json)`;
}

export function monthTable(months: readonly MonthCoverage[]): string {
  if (months.length === 0) return 'There is no day that anything is known of.';
  return tableText(
    ['month', ...sumColumns].map((head, position) => ({ head, align: position === 0 ? 'left' : 'right' })),
    months.map((month) => [month.month.slice(0, 7), ...sumCells(month)]),
  );
}
