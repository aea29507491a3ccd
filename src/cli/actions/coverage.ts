/** Prints coverage as a summary with a heat map, by well or by month. */
import type { App } from '../../app/app.ts';
import {
  coverageDocument,
  type CoverageFrame,
  type CoverageSurvey,
  pluggedWells,
  requestCoverage,
  staleWells,
  unknownWells,
  type WellTrace,
} from '../../app/wells/coverage.ts';
import { UsageError } from '../../core/base/errors.ts';
import { holesOf, type WellCoverage } from '../../core/daily/coverage.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { monthTable, staleTable, summaryText, unknownTable, wellTable } from '../text/coverage.ts';
import { printJsonLines } from '../text/query-formats.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface CoverageOptions {
  readonly uwi?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly byWell?: true;
  readonly byMonth?: true;
  readonly stale?: true;
  readonly unknown?: true;
  readonly limit: number;
}

export async function showCoverage(invocation: Invocation<CoverageOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const { uwi: uwis, from, to, stale, unknown } = options;
  refuseTwoViews(options);
  const config = configOf(invocation);
  if (stale || unknown) {
    await using app = openApp(config, output);
    await showWells(app, options, output);
    return exitCodes.done;
  }
  const { question, frame } = requestCoverage(
    { uwis, from, to },
    {
      timeZone: config.timeZone,
      nowMs: Date.now(),
      names: { from: '--from', to: '--to' },
    },
  );
  await using app = openApp(config, output);
  const traces = uwis === undefined ? [] : await app.warehouse.coverage.traces(uwis);
  const plugged = await pluggedWells(app);
  await app.warehouse.coverage.survey({ ...question, plugged }, async (survey) => {
    if (output.json) await printDocument(survey, frame, options, output);
    else await output.print(await surveyText(survey, { frame, options, traces, width: output.width }));
  });
  return exitCodes.done;
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
  const { uwi: uwis, limit } = options;
  if (options.unknown) {
    const wells = await unknownWells(app, { uwis });
    await (output.json ? output.document(wells) : output.print(unknownTable(wells, limit)));
    return;
  }
  const wells = await staleWells(app, { uwis, nowMs: Date.now() });
  const { warnAfterDays } = app.config.freshness;
  await (output.json ? output.document(wells) : output.print(staleTable(wells, limit, warnAfterDays)));
}

async function printDocument(
  survey: CoverageSurvey,
  frame: CoverageFrame,
  { byWell, byMonth }: CoverageOptions,
  output: Output,
): Promise<void> {
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
