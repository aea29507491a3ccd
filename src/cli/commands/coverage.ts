/** `wellsync coverage`: how complete the warehouse's daily production is. */
import type { Config } from '../../../config/schema.ts';
import type { CoverageFrame, CoverageSurvey } from '../../app/wells/coverage.ts';
import type { WellTrace } from '../../app/wells/coverage.ts';
import { UsageError } from '../../core/base/errors.ts';
import { holesOf, type WellCoverage } from '../../core/daily/coverage.ts';
import {
  type Call,
  collected,
  type Flags,
  type Lists,
  type ProgramCommand,
  type Texts,
  wholeNumber,
} from '../command.ts';

export function addCoverageCommand(program: ProgramCommand): void {
  program
    .command('coverage')
    .description('say how complete the daily production in the warehouse is')
    .option('--uwi <uwi>', 'only this well; may be given more than once', collected)
    .option('--from <day>', 'from this day on; without it, each well from its first known day')
    .option('--to <day>', 'up to this day, which is the first one left out; without it, today')
    .option('--by-well', 'a line a well, the one with the most holes first; with --json all of them, by name')
    .option('--by-month', 'a line a month, all wells together')
    .option('--stale', 'the wells without a new day for long (freshness.warnAfterDays), the latest first')
    .option('--unknown', 'the wells whose daily production the service does not know (404), the latest first')
    .option('--limit <wells>', 'wells shown at most', wholeNumber, 20)
    .explained(explanation, [
      'wellsync coverage',
      'wellsync coverage --uwi "15/9-F-1 C" --from 2014-01-01 --to 2015-01-01 --by-month',
      'wellsync coverage --by-well --json',
      'wellsync coverage --stale',
      'wellsync export daily-production --from-warehouse --gaps --inline',
    ])
    .runs(showCoverage);
}

const explanation = `
Every day is in one of four ways: present (there is a row), quarantined (a record
of it breaks the contract; the row from before stays), missing (a verified read
brought nothing), or never read. Holes are the days that are quarantined, never
read, or missing before the last day of the well. A plugged well (wells.plugged)
is complete with its last day. Days are those of the configured zone, and of a well's
own where that is known. A day counts as read when it was over and a complete
read held all of it; a month with held rows counts as not read. Days after a well's
last row that unverified reads alone have passed are left out.
`;

type CoverageOptions = Flags<'byWell' | 'byMonth' | 'stale' | 'unknown'> &
  Texts<'from' | 'to'> &
  Lists<'uwi'> & { readonly limit: number };

async function showCoverage(call: Call<CoverageOptions>): Promise<void> {
  const { requestCoverage } = await import('../../app/wells/coverage.ts');
  const { pluggedWells } = await import('../../app/wells/coverage.ts');
  const { options } = call;
  const { uwi: uwis, from, to, stale, unknown } = options;
  refuseTwoViews(options);
  const config = await call.config();
  if (stale || unknown) return showWells(call, config);
  const names = { from: '--from', to: '--to' };
  const how = { timeZone: config.timeZone, nowMs: Date.now(), names };
  const { question, frame } = requestCoverage({ uwis, from, to }, how);
  await using app = await call.openStored(config);
  const traces = uwis === undefined ? [] : await app.warehouse.coverage.traces(uwis);
  const plugged = await pluggedWells(app);
  await app.warehouse.coverage.survey({ ...question, plugged }, (survey) => printSurvey(survey, frame, traces, call));
}

const views = { byWell: '--by-well', byMonth: '--by-month', stale: '--stale', unknown: '--unknown' } as const;

function refuseTwoViews(options: CoverageOptions): void {
  const { from, to, stale, unknown } = options;
  const asked = (['byWell', 'byMonth', 'stale', 'unknown'] as const).filter((view) => options[view]);
  const [first, second] = asked.map((view) => views[view]);
  if (second !== undefined) throw new UsageError(`${first} and ${second} exclude each other`);
  const bound = from !== undefined ? '--from' : to !== undefined ? '--to' : undefined;
  if ((stale || unknown) && bound !== undefined) throw new UsageError(`${first} and ${bound} exclude each other`);
}

async function showWells(call: Call<CoverageOptions>, config: Config): Promise<void> {
  const { staleWells, unknownWells } = await import('../../app/wells/coverage.ts');
  const { staleTable, unknownTable } = await import('./coverage-text.ts');
  const { options, output } = call;
  const { uwi: uwis, limit } = options;
  await using app = await call.openStored(config);
  if (options.unknown) {
    const wells = await unknownWells(app, { uwis });
    return await output.print(unknownTable(wells, limit), wells);
  }
  const wells = await staleWells(app, { uwis, nowMs: Date.now() });
  return await output.print(staleTable(wells, limit, config.freshness.warnAfterDays), wells);
}

async function printSurvey(
  survey: CoverageSurvey,
  frame: CoverageFrame,
  traces: readonly WellTrace[],
  { options, output }: Call<CoverageOptions>,
): Promise<void> {
  const { coverageDocument } = await import('../../app/wells/coverage.ts');
  const { printJsonLines } = await import('../text/query-formats.ts');
  const { monthTable, summaryText, wellTable } = await import('./coverage-text.ts');
  const { byWell, byMonth, limit } = options;
  const { width } = output;
  if (byMonth) {
    const months = await survey.months();
    return output.print(monthTable(months), months);
  }
  if (output.json) {
    return byWell ? printJsonLines(survey.wells(), output) : output.document(await coverageDocument(frame, survey));
  }
  const totals = await survey.totals();
  const worst = await survey.worstWells(limit);
  if (byWell) return output.print(wellTable(worst, totals.wells - worst.length, width));
  const holed = worst.filter((well) => holesOf(well) > 0);
  const rows = await heatRows(survey, holed.length > 0 ? holed : worst);
  return output.print(summaryText({ frame, totals, rows, traces, width }));
}

async function heatRows(survey: CoverageSurvey, wells: readonly WellCoverage[]) {
  const cells = await survey.cells(wells.map(({ uwi }) => uwi));
  return wells.map(({ uwi }) => ({ name: uwi, months: cells.filter((cell) => cell.uwi === uwi) }));
}
