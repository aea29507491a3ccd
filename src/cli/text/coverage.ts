/** The text of coverage for a terminal. Pure. */
import { type CoverageCounts, holesOf, type WellCoverage } from '../../core/daily/coverage.ts';
import type { CoverageFrame, CoverageTotals, MonthCoverage } from '../../app/views/coverage.ts';
import { heatLegend, heatMap, type HeatRow } from './heat-map.ts';
import { type NextStep, showQuarantine } from './actions.ts';
import type { WellTrace } from '../../app/requests/well-states.ts';
import { traceText } from './well-states.ts';
import { nextStepsText } from './next-steps.ts';
import { folded } from './folded-text.ts';
import { tableText } from './table.ts';
import { counted, figure } from '../../core/base/text.ts';

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
