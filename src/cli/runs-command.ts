/** `wellsync runs`: what runs there are, how one stands, cancelling and retrying them, and their rejects. */
import { Option, type Command } from 'commander';
import { UsageError } from '../core/errors.ts';
import { isFinished, type RunRecord, type RunState } from '../core/run.ts';
import type { BoardState } from '../queue/port.ts';
import { followToEnd, noWorkerText, printReport, queueOfJob, workInline, type CarryOutParts } from './carry-out.ts';
import { actionOf, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { carryOut, inlineOption, waitOption } from './start-run.ts';
import { isUnattended } from './follow-run.ts';
import { addRejectsCommand } from './rejects-command.ts';
import { openInstallation } from './installation.ts';
import { operatorName } from './operator-name.ts';
import { checkBeforeWork } from './preflight.ts';
import { settledUnitsOf, standingDocument } from './run-document.ts';
import { findRun } from './run-names.ts';
import { rowsOf } from './run-progress.ts';
import { unitWordsOf } from './run-words.ts';
import { tableText } from './table.ts';
import { counted, durationText, figure, instantText } from './words.ts';

const runStates = ['queued', 'running', 'done', 'failed', 'cancelled'] as const satisfies readonly RunState[];

interface RunOptions {
  readonly wait?: true;
  readonly inline?: true;
}

interface ListOptions {
  readonly limit: number;
  readonly state?: RunState;
}

export function addRunsCommand(program: Command, shell: Shell): void {
  const group = program
    .command('runs')
    .description('list, show, cancel and retry runs, and get their rejects')
    .addHelpText('after', `\nA run id may be shortened to a unique beginning.\n${examples(['wellsync runs list'])}`);
  group
    .command('list')
    .description('list runs, the newest first')
    .option('--limit <count>', 'at most so many', wholeNumber, 20)
    .addOption(new Option('--state <state>', 'only runs in this state').choices(runStates))
    .addHelpText('after', examples(['wellsync runs list', 'wellsync runs list --state failed --json']))
    .action(actionOf(shell, listRuns));
  group
    .command('show')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('show how a run stands, or its report when it has ended')
    .addOption(waitOption())
    .addHelpText('after', `\nWith --wait the exit code is that of the run, else 0.\n${examples(showExamples)}`)
    .action(actionOf(shell, showRun));
  group
    .command('cancel')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('cancel a run: what is done is kept, the rest is left')
    .option('--wait', 'wait until it has ended, then print its report')
    .addHelpText('after', `\nExit code 0 when the run is being cancelled, or was.\n${examples(cancelExamples)}`)
    .action(actionOf(shell, cancelRun));
  group
    .command('retry')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('take up what failed or was cancelled in a run')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', `${retryExplanation}${examples(retryExamples)}`)
    .action(actionOf(shell, retryRun));
  addRejectsCommand(group, shell);
}

const showExamples = ['wellsync runs show 20240331-061500-4f2a9c', 'wellsync runs show 20240331-06 --wait'];
const cancelExamples = ['wellsync runs cancel 20240331-061500-4f2a9c --wait'];
const retryExamples = ['wellsync runs retry 20240331-061500-4f2a9c --wait'];
const retryExplanation = `
What is done stays done: only the failed and the cancelled part is worked again.
With --inline a run that has not ended, since the process that worked it was
stopped, is taken up as well.
`;

async function listRuns(invocation: Invocation<ListOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = openInstallation(configOf(invocation), output);
  const states = options.state === undefined ? {} : { states: [options.state] };
  const runs = await installation.warehouse.runs.list({ limit: options.limit, ...states });
  const boards = await liveBoards(runs, { installation, output });
  if (output.json) await output.document(runs.map((run) => standingDocument(run, boards.get(run.runId))));
  else await output.print(runs.length === 0 ? 'There are no such runs.' : listText(runs, boards));
  return exitCodes.done;
}

/** The boards of the runs that have not ended; a Redis that is away leaves the list without live figures. */
async function liveBoards(
  runs: readonly RunRecord[],
  { installation, output }: CarryOutParts,
): Promise<ReadonlyMap<string, BoardState>> {
  const boards = new Map<string, BoardState>();
  const unfinished = runs.filter((run) => !isFinished(run.state));
  if (unfinished.length === 0) return boards;
  try {
    const queue = await installation.queue('prompt');
    for (const { runId } of unfinished) {
      const board = await queue.board.read(runId);
      if (board !== undefined) boards.set(runId, board);
    }
    for (const job of new Set(unfinished.map((run) => run.job))) {
      if (!(await isUnattended(queue, queueOfJob(job, installation)))) continue;
      output.say(`No worker listens for ${job}: such runs wait until one does. Start one with: wellsync worker`);
    }
  } catch (error) {
    output.say(`Without live figures: ${error instanceof Error ? error.message : String(error)}`);
  }
  return boards;
}

function listText(runs: readonly RunRecord[], boards: ReadonlyMap<string, BoardState>): string {
  const rows = runs.map((run) => [
    run.runId,
    run.job,
    run.state,
    unitsText(run, boards.get(run.runId)),
    instantText(run.requestedAtMs),
    tookText(run),
  ]);
  const columns = [{ head: 'run' }, { head: 'job' }, { head: 'state' }, { head: 'settled' }, { head: 'asked for' }];
  return tableText([...columns, { head: 'took', align: 'right' }], rows);
}

function unitsText(run: RunRecord, board: BoardState | undefined): string {
  const total = run.report?.units.total ?? run.unitCount ?? board?.units;
  if (total === undefined) return 'not planned yet';
  const settled = settledUnitsOf(run, board);
  const { one, many } = unitWordsOf(run.job);
  return settled === undefined ? counted(total, one, many) : `${figure(settled)} of ${counted(total, one, many)}`;
}

/** Empty for a job that reads none. */
function rowsText({ job }: RunRecord, board: BoardState | undefined): string {
  if (unitWordsOf(job).record === undefined) return '';
  return `, ${counted(board === undefined ? 0 : rowsOf(board), 'row')} read`;
}

function tookText({ startedAtMs, finishedAtMs }: RunRecord): string {
  return startedAtMs === undefined || finishedAtMs === undefined ? '' : durationText(finishedAtMs - startedAtMs);
}

async function showRun(invocation: Invocation<RunOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = openInstallation(configOf(invocation), output);
  const parts = { installation, output };
  const run = await findRun(installation.warehouse.runs, invocation.args[0] ?? '');
  if (isFinished(run.state) && run.report !== undefined) {
    const exitCode = await printReport(run.report, parts);
    return options.wait ? exitCode : exitCodes.done;
  }
  if (options.wait) return await followToEnd(run, parts);
  await printStanding(run, parts);
  return exitCodes.done;
}

async function printStanding(run: RunRecord, { installation, output }: CarryOutParts): Promise<void> {
  const queue = await installation.queue('prompt');
  const board = await queue.board.read(run.runId);
  if (output.json) {
    await output.document(standingDocument(run, board));
    return;
  }
  await output.print(
    [
      `Run ${run.runId}: ${run.job}`,
      `${run.state === 'queued' ? 'Queued' : 'Running'}, asked for at ${instantText(run.requestedAtMs)}.`,
      `Settled: ${unitsText(run, board)}${rowsText(run, board)}.`,
    ].join('\n'),
  );
  if (await isUnattended(queue, queueOfJob(run.job, installation))) output.say(noWorkerText);
}

async function cancelRun(invocation: Invocation<RunOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = openInstallation(configOf(invocation), output);
  const run = await findRun(installation.warehouse.runs, invocation.args[0] ?? '');
  const queue = await installation.queue(options.wait ? 'lasting' : 'prompt');
  const desk = await installation.desk();
  if (!(await desk.cancel(run.runId, operatorName()))) return await refuseCancel(run.runId, { installation, output });
  if (options.wait) {
    const exitCode = await followToEnd(run, { installation, output });
    return exitCode === exitCodes.cancelled ? exitCodes.done : exitCode;
  }
  if (await isUnattended(queue, queueOfJob(run.job, installation)))
    output.say('No worker listens: the run ends when one does. Start one with: wellsync worker');
  if (output.json) await output.document({ runId: run.runId, job: run.job, cancelRequested: true });
  else await output.print(`Run ${run.runId} is being cancelled: work in flight ends within seconds.`);
  return exitCodes.done;
}

/** A run that was cancelled already is as it was wished to be; one that ended otherwise cannot be cancelled. */
async function refuseCancel(runId: string, { installation, output }: CarryOutParts): Promise<ExitCode> {
  const run = await findRun(installation.warehouse.runs, runId);
  if (run.state !== 'cancelled') throw new UsageError(`run ${runId} has ended already, as ${run.state}`);
  if (output.json) await output.document({ runId, job: run.job, cancelRequested: false });
  else await output.print(`Run ${runId} was cancelled already.`);
  return exitCodes.done;
}

async function retryRun(invocation: Invocation<RunOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = openInstallation(configOf(invocation), output);
  const parts = { installation, output };
  const run = await findRun(installation.warehouse.runs, invocation.args[0] ?? '');
  const { runId, job } = run;
  await checkBeforeWork(installation);
  await installation.queue(options.wait || options.inline ? 'lasting' : 'prompt');
  const desk = await installation.desk();
  if (options.inline && !isFinished(run.state)) return await workInline(run, parts);
  const opened = await desk.retry(runId);
  if (opened === 0) return await sayNothingToRetry(run, output);
  const { one, many } = unitWordsOf(job);
  const opening = `Run ${runId}: ${counted(opened, one, many)} taken up again`;
  return await carryOut({ runId, job }, options, { ...parts, opening }, { units: opened });
}

async function sayNothingToRetry(run: RunRecord, output: CarryOutParts['output']): Promise<ExitCode> {
  if (output.json) await output.document({ runId: run.runId, job: run.job, state: run.state, units: 0 });
  else await output.print(`Run ${run.runId} has nothing that failed or was cancelled: nothing to retry.`);
  return exitCodes.done;
}
