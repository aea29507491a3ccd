/** `wellsync export`: asks for a run that pulls daily production, and leaves, follows or works it. */
import { Option, type Command } from 'commander';
import { dailyProductionJobName, type DailyProductionParams } from '../../jobs/daily-production.ts';
import type { Config } from '../../config/schema.ts';
import { backfillBounds, type BackfillBounds } from './backfill-bounds.ts';
import { followToEnd, noWorkerText, queueOfJob, workInline, type CarryOutParts } from './carry-out.ts';
import { actionOf, collected, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { isUnattended } from './follow-run.ts';
import { createInstallation, historyFromMs } from './installation.ts';
import { checkBeforeWork } from './preflight.ts';
import { wellsFrom, type Wells } from './wells-input.ts';
import { counted, instantText } from './words.ts';

interface ExportOptions {
  readonly uwi?: readonly string[];
  readonly wells?: string;
  readonly from?: string;
  readonly to?: string;
  readonly allowShrink?: true;
  readonly wait?: true;
  readonly inline?: true;
}

export function addExportCommand(program: Command, shell: Shell): void {
  const group = program.command('export').description('pull data of the service into the warehouse');
  group
    .command('daily-production')
    .description('pull daily production of wells into the warehouse')
    .option('--uwi <uwi>', 'a well; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column uwi; - is standard input')
    .option('--from <day>', 'read from this day on: a backfill, which moves no watermark')
    .option('--to <day>', 'read up to this day, which is the first one left out')
    .option('--allow-shrink', 'let windows lose rows that would otherwise be held for your leave')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', explanation)
    .action(actionOf(shell, exportDailyProduction));
}

export function waitOption(): Option {
  return new Option('--wait', 'follow the run to its end, then print its report');
}

export function inlineOption(): Option {
  return new Option('--inline', 'work the run in this process, then print its report').conflicts('wait');
}

const explanation = `
Without --from and --to every well goes on from its watermark, minus the
lookback; a well seen for the first time gets its whole history. A day is one of
the configured time zone; an ISO date-time (2024-03-31T06:00:00Z) will do too.
Where no well is named, those of the configuration are meant (export.wells).

--inline needs no worker: this process works the shared queues itself, and other
workers may help. If it is killed, nothing is lost: any worker, or the next
--inline, goes on with the run. Ctrl-C hands the work back, and the run stays
queued; with --wait it only leaves, and the run goes on.

Exit codes
  0  done; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with quarantined or held records
  4  cancelled, or left by Ctrl-C before the end
  5  could not reach Redis, the warehouse or the service
${examples([
  'wellsync export daily-production --uwi "15/9-F-1 C" --inline',
  'wellsync export daily-production --wells wells.csv --wait',
  'wellsync export daily-production --wells wells.csv --from 2024-03-01 --to 2024-04-01 --wait --json',
])}`;

async function exportDailyProduction(invocation: Invocation<ExportOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const nowMs = Date.now();
  const bounds = backfillBounds({
    from: options.from,
    to: options.to,
    timeZone: config.timeZone,
    historyFromMs: historyFromMs(config),
    nowMs,
  });
  const wells = await wellsOf(invocation, config);

  await using installation = createInstallation(config);
  await checkBeforeWork(installation);
  await installation.queue(options.wait || options.inline ? 'lasting' : 'prompt');
  const desk = await installation.desk();
  const params: DailyProductionParams = {
    uwis: [...wells.uwis],
    nowMs,
    ...bounds,
    allowShrink: options.allowShrink ?? false,
  };
  const runId = await desk.start(dailyProductionJobName, params);

  const run = { runId, job: dailyProductionJobName };
  const parts = { installation, output, opening: startedText(runId, wells, bounds) };
  if (options.inline) return await workInline(run, parts);
  if (options.wait) return await followToEnd(run, parts);
  return await leaveQueued(run, parts, { wells: wells.uwis.length, repeatedWells: wells.repeatedCount });
}

function wellsOf({ options, stdin }: Invocation<ExportOptions>, config: Config): Promise<Wells> {
  return wellsFrom(
    { uwis: options.uwi ?? [], file: options.wells },
    { uwis: config.export.wells, file: config.export.wellsFile },
    stdin,
  );
}

function startedText(runId: string, wells: Wells, bounds: BackfillBounds): string {
  const { fromMs, toMs } = bounds;
  const what = `Run ${runId}: daily production of ${counted(wells.uwis.length, 'well')}`;
  const since = fromMs === undefined ? '' : ` from ${instantText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${instantText(toMs)}`;
  const repeated = wells.repeatedCount === 0 ? '' : ` (${counted(wells.repeatedCount, 'repeated name')} left out)`;
  return `${what}${since}${until}${repeated}`;
}

/** Says how to go on with a run that this command leaves to the workers. */
export async function leaveQueued(
  run: { readonly runId: string; readonly job: string },
  { installation, output, opening }: CarryOutParts,
  facts: Readonly<Record<string, number | string>>,
): Promise<ExitCode> {
  if (opening !== undefined) output.say(opening);
  const isAttended = !(await isUnattended(await installation.queue('prompt'), queueOfJob(run.job, installation)));
  if (!isAttended) output.say(noWorkerText);
  if (output.json) await output.document({ ...run, state: 'queued', ...facts, isAttended });
  else await output.print(`Queued. Follow it with: wellsync runs show ${run.runId} --wait`);
  return exitCodes.done;
}
