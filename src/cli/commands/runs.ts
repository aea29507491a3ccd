/** `wellsync runs`: lists and shows runs, cancels and retries them, and gives their rejects. */
import { Option } from 'commander';
import type { App } from '../../app/app.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished, listLockWaitMs, type RunState } from '../../core/run/run.ts';
import type { Call, Flags, Texts } from '../call.ts';
import { type ProgramCommand, type StartOptions, wholeNumber } from '../command.ts';
import { addChangingCommands } from './runs-change.ts';

const runStates: readonly RunState[] = ['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted'];

export function addRunsCommand(program: ProgramCommand): void {
  const group = program
    .command('runs')
    .description('list, show, cancel and retry runs, release what they hold, get their rejects')
    .explained('\nA run id may be shortened to a unique beginning.\n', ['wellsync runs list']);
  group
    .command('list')
    .description('list runs, the newest first')
    .option('--limit <count>', 'at most so many', wholeNumber, 20)
    .addOption(new Option('--state <state>', 'only runs in this state').choices(runStates))
    .option('--job <job>', 'only runs of this job, as "export daily-production"')
    .option('--well <part>', 'with a well, equipment or file of which this is a part, in any case')
    .option('--schedule <name>', 'of this schedule, begun by a tick or by hand')
    .option('--by <part>', 'requested or retried by a person of whose name this is a part')
    .option('--since <day>', 'requested from this day on (or an ISO date-time)')
    .option('--until <day>', 'requested before this day')
    .option('--cursor <cursor>', 'go on after a list: the cursor that it gave, or the id of its last run')
    .explained(listExplanation, listExamples)
    .runs(listRuns);
  group
    .command('show')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('show how a run stands, or its report when it has ended')
    .follows()
    .explained('\nWith --wait the exit code is that of the run, else 0.\n', showExamples)
    .runs(showRun);
  addChangingCommands(group);
  group
    .command('rejects')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('print the rows that a push rejected, as CSV')
    .option('--path', 'print only where the file lies')
    .explained(rejectsExplanation, rejectsExamples)
    .runs(printRejects);
}

const listExplanation = `
Where there are more runs than --limit, the cursor of the next ones is said on
standard error; give it with the same filters. The id of the last run of a list
is a cursor too: a script goes on until the array is empty. A warehouse that
another process holds is waited for ${listLockWaitMs / 1_000} s at most.
`;

const listExamples = [
  'wellsync runs list',
  'wellsync runs list --state failed --json',
  'wellsync runs list --well f-12 --schedule nightly',
  'wellsync runs list --job "export daily-production" --since 2024-03-01 --limit 100',
  'wellsync runs list --json --cursor "$(jq -r ".[-1].runId" page.json)"',
];

const showExamples = ['wellsync runs show 20240331-061500-4f2a9c', 'wellsync runs show 20240331-06 --wait'];

const rejectsExplanation = `
Each row has its line, its column and the reason in front of the original cells.
Fix the cells and push the file as it is: those three columns are ignored.
Nothing is printed where nothing was rejected; the exit code is 0 then as well.
`;

const rejectsExamples = [
  'wellsync runs rejects 20240331-061500-4f2a9c > rejects.csv',
  'wellsync push network-pipes rejects.csv --wait',
];

type ListOptions = Texts<'job' | 'well' | 'schedule' | 'by' | 'since' | 'until' | 'cursor'> & {
  readonly limit: number;
  readonly state?: RunState;
};

async function listRuns(call: Call<ListOptions>): Promise<void> {
  const { requestRunList } = await import('../../app/runs/find-runs.ts');
  const { listRuns: readRuns } = await import('../../app/runs/run-status.ts');
  const { runListText } = await import('../text/runs.ts');
  const { options, output } = call;
  const config = await call.config();
  const names = { since: '--since', until: '--until' };
  const filter = requestRunList(options, { timeZone: config.timeZone, names });
  const lockWaitMs = Math.min(config.warehouse.lockWaitMs, listLockWaitMs);
  await using app = await call.openStored(config, { lockWaitMs });
  const list = await readRuns(app, filter);
  const { runs, cursor, unattendedJobs, liveFault } = list;
  if (runs.length === 0) refuseUnknownJob(options.job, app.jobs);
  if (unattendedJobs.length > 0) {
    const { unattendedText } = await import('../text/runs.ts');
    for (const job of unattendedJobs) output.say(unattendedText(job, app.queueWay.kind));
  }
  if (liveFault !== null) output.say(`Without live figures: ${liveFault}`);
  await output.print(runListText(list, app.jobs, output.width), runs);
  if (cursor !== null) output.say(`There are more: go on with the same filters and --cursor ${cursor}`);
}

/** The ledger may hold runs of a job that only another version knows: a name is wrong only where nothing has it. */
function refuseUnknownJob(job: string | undefined, jobs: App['jobs']): void {
  if (job === undefined || jobs.some(({ name }) => name === job)) return;
  throw new UsageError(`there is no job named ${job}`, {
    hint: `The jobs are: ${jobs.map(({ name }) => name).join(', ')}.`,
  });
}

async function showRun(call: Call<StartOptions>): Promise<ExitCode> {
  const { findRun } = await import('../../app/runs/find-runs.ts');
  const { showLiveRun } = await import('../../app/runs/run-status.ts');
  const { followToEnd, printReport } = await import('../carry-out.ts');
  const { noWorkerText, runStatusText } = await import('../text/runs.ts');
  const { options, output } = call;
  await using app = await call.openStored();
  const context = { app, output };
  const run = await findRun(app.ledger.runs, call.args[0] ?? '');
  if (isFinished(run.state) && run.report !== undefined) {
    const exitCode = await printReport(run.report, context, options.wait ? 'report' : 'print');
    return options.wait ? exitCode : exitCodes.done;
  }
  if (options.wait) return await followToEnd(run, context);
  const shown = await showLiveRun(app, run);
  await output.print(runStatusText(shown, app.jobs), shown);
  if (shown.isUnattended === true && !output.json) output.say(noWorkerText(app.queueWay.kind));
  return exitCodes.done;
}

async function printRejects(call: Call<Flags<'path'>>): Promise<void> {
  const { findRun } = await import('../../app/runs/find-runs.ts');
  const { rejectsOfRun } = await import('../../app/pushes/rejects.ts');
  const { options, output } = call;
  await using app = await call.openStored();
  const run = await findRun(app.ledger.runs, call.args[0] ?? '');
  const rejects = await rejectsOfRun(run, app);
  const { location, isShared, bytes } = rejects;
  if (!isFinished(run.state)) output.say(`Run ${run.runId} has not ended: there may be more.`);
  if (output.json) {
    await output.document({ runId: run.runId, rejectsFile: bytes === 0 ? null : location, bytes });
  } else if (bytes === 0) {
    output.say(`Run ${run.runId} rejected nothing, or its rejects were taken away from ${location}.`);
  } else if (options.path && isShared) {
    throw new UsageError(`the rejects of run ${run.runId} lie in parts below ${location}`, {
      hint: 'Leave out --path: the command then prints them as one file.',
    });
  } else if (options.path) {
    await output.print(location);
  } else {
    const text = new TextDecoder();
    for await (const block of rejects.read()) await output.write(text.decode(block, { stream: true }));
  }
}
