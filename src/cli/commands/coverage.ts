/** `wellsync coverage`: how complete the warehouse's daily production is. */
import { collected, wholeNumber, type ProgramCommand } from '../command.ts';
import { UsageError } from '../../core/base/errors.ts';
import { holesOf, type WellCoverage } from '../../core/daily/coverage.ts';
import type { App } from '../../app/app.ts';
import type { CoverageFrame, CoverageSurvey } from '../../app/wells/coverage.ts';
import type { WellTrace } from '../../app/wells/well-states.ts';
import type { Output } from '../output.ts';
import type { Call } from '../call.ts';

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

interface CoverageOptions {
  readonly uwi?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly byWell?: true;
  readonly byMonth?: true;
  readonly stale?: true;
  readonly unknown?: true;
  readonly limit: number;
}

async function showCoverage(call: Call<CoverageOptions>): Promise<void> {
  const { requestCoverage } = await import('../../app/wells/coverage.ts');
  const { pluggedWells } = await import('../../app/wells/well-states.ts');
  const { options, output } = call;
  const { uwi: uwis, from, to, stale, unknown } = options;
  refuseTwoViews(options);
  const config = await call.config();
  if (stale || unknown) {
    await using app = await call.openStored(config);
    return await showWells(app, options, output);
  }
  const { question, frame } = requestCoverage(
    { uwis, from, to },
    { timeZone: config.timeZone, nowMs: Date.now(), names: { from: '--from', to: '--to' } },
  );
  await using app = await call.openStored(config);
  const traces = uwis === undefined ? [] : await app.warehouse.coverage.traces(uwis);
  const plugged = await pluggedWells(app);
  await app.warehouse.coverage.survey({ ...question, plugged }, async (survey) => {
    if (output.json) await printDocument(survey, frame, options, output);
    else await output.print(await surveyText(survey, { frame, options, traces, width: output.width }));
  });
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

async function showWells(app: App, options: CoverageOptions, output: Output): Promise<void> {
  const { staleWells, unknownWells } = await import('../../app/wells/well-states.ts');
  const { staleTable, unknownTable } = await import('./coverage-text.ts');
  const { uwi: uwis, limit } = options;
  if (options.unknown) {
    const wells = await unknownWells(app, { uwis });
    return output.print(unknownTable(wells, limit), wells);
  }
  const wells = await staleWells(app, { uwis, nowMs: Date.now() });
  const { warnAfterDays } = app.config.freshness;
  await output.print(staleTable(wells, limit, warnAfterDays), wells);
}

async function printDocument(
  survey: CoverageSurvey,
  frame: CoverageFrame,
  { byWell, byMonth }: CoverageOptions,
  output: Output,
): Promise<void> {
  const { coverageDocument } = await import('../../app/wells/coverage.ts');
  const { printJsonLines } = await import('../text/query-formats.ts');
  if (byWell) await printJsonLines(survey.wells(), output);
  else await output.document(byMonth ? await survey.months() : await coverageDocument(frame, survey));
}

async function surveyText(
  survey: CoverageSurvey,
  question: {
    readonly frame: CoverageFrame;
    readonly options: CoverageOptions;
    readonly traces: readonly WellTrace[];
    readonly width: number;
  },
): Promise<string> {
  const { monthTable, summaryText, wellTable } = await import('./coverage-text.ts');
  const { frame, options, traces, width } = question;
  const { byWell, byMonth, limit } = options;
  if (byMonth) return monthTable(await survey.months());
  const totals = await survey.totals();
  const worst = await survey.worstWells(limit);
  if (byWell) return wellTable(worst, totals.wells - worst.length, width);
  const holed = worst.filter((well) => holesOf(well) > 0);
  const shown = holed.length > 0 ? holed : worst;
  return summaryText({ frame, totals, rows: await heatRows(survey, shown), traces, width });
}

async function heatRows(survey: CoverageSurvey, wells: readonly WellCoverage[]) {
  const cells = await survey.cells(wells.map(({ uwi }) => uwi));
  return wells.map(({ uwi }) => ({ name: uwi, months: cells.filter((cell) => cell.uwi === uwi) }));
}
