import {
  type DailyProductionRequest,
  planDailyProduction,
  requestDailyProduction,
} from '../../app/exports/daily-production.ts';
import type { App } from '../../app/app.ts';
import { checkBeforePlan } from '../../app/preflight.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { EmptyOption } from '../commands/empty-option.ts';
import { unlessEmpty } from './allow-empty.ts';
import { appFor } from './open-app.ts';
import type { StartOptions } from '../commands/start-options.ts';
import type { Output } from '../output.ts';
import { dailyProductionTitle } from '../text/report.ts';
import { planText } from '../text/export-plan.ts';
import { startAndCarryOut } from './carry-out.ts';
import { configOf } from './config.ts';

export interface DailyProductionOptions extends StartOptions, EmptyOption {
  readonly uwi?: readonly string[];
  readonly wells?: string;
  readonly fromWarehouse?: true;
  readonly from?: string;
  readonly to?: string;
  readonly gaps?: true;
  readonly lookback?: number;
  readonly allowShrink?: true;
  readonly dryRun?: true;
}

const flags = {
  uwis: '--uwi',
  wellsFile: '--wells',
  fromWarehouse: '--from-warehouse',
  from: '--from',
  to: '--to',
  gaps: '--gaps',
  lookbackDays: '--lookback',
};

export function exportDailyProduction(invocation: Invocation<DailyProductionOptions>): Promise<ExitCode> {
  return unlessEmpty(invocation, () => exportOrPlan(invocation));
}

async function exportOrPlan(invocation: Invocation<DailyProductionOptions>): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const { uwi: uwis, wells: wellsFile, allowEmpty, fromWarehouse, from, to, gaps } = options;
  const { lookback: lookbackDays, allowShrink } = options;
  await using app = appFor(configOf(invocation), output);
  const input = { uwis, wellsFile, allowEmpty, fromWarehouse, from, to, gaps, lookbackDays, allowShrink };
  const request = await requestDailyProduction(app, input, { stdin, nowMs: Date.now(), names: flags });
  if (options.dryRun) return await showPlan(app, request, output);
  const { wells, repeatedWells } = request.summary;
  const title = dailyProductionTitle(request.summary);
  return await startAndCarryOut(invocation, app, request, { title, fields: { wells, repeatedWells } });
}

async function showPlan(app: App, request: DailyProductionRequest, output: Output): Promise<ExitCode> {
  await checkBeforePlan(app);
  const plan = await planDailyProduction(app, request);
  if (output.json) await output.document(plan);
  else await output.print(planText(plan));
  return exitCodes.done;
}
