/** `wellsync runs`: lists and shows runs, gives their rejects, and changes them: cancel, retry, release. */
import { Option } from 'commander';
import type { App } from '../../app/app.ts';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished, listLockWaitMs, type RunRecord, type RunState } from '../../core/run/run.ts';
import { type Call, type Flags, type ProgramCommand, type StartOptions, type Texts, wholeNumber } from '../command.ts';
import { deletionQuestion, isAtTerminal, operatorName, refusalOfTyped, unconfirmed } from '../process/operator.ts';

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
  const { rejectsOfRun } = await import('../../app/pushes/push.ts');
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

// `wellsync runs cancel`, `retry`, `release` and `held`: what changes a run, and what runs hold.

function addChangingCommands(group: ProgramCommand): void {
  group
    .command('cancel')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('cancel a run: what is done is kept, the rest is left')
    .option('--wait', 'wait until it has ended, then print its report')
    .explained('\nExit code 0 when the run is being cancelled, or was.\n', [
      'wellsync runs cancel 20240331-061500-4f2a9c --wait',
    ])
    .runs(cancelRun);
  group
    .command('retry')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('retry what failed, was cancelled or is unknown in a run')
    .carriesOut()
    .addOption(new Option('--yes', 'retry a cleanup without a question; needed where there is no terminal'))
    .explained(retryExplanation, ['wellsync runs retry 20240331-061500-4f2a9c --wait'])
    .runs(retryRun);
  group
    .command('release')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('let the rows go that a run holds, if the service still does not have them')
    .option('--yes', 'without asking')
    .option('--rows <count>', 'only if so many rows are held: for a script that was shown them', wholeNumber)
    .option('--dry-run', 'only show what is held')
    .carriesOut()
    .explained(releaseExplanation, releaseExamples)
    .runs(releaseRun);
  group
    .command('held')
    .description('list the rows that runs hold, and the runs that hold them')
    .explained('', ['wellsync runs held', 'wellsync runs held --json'])
    .runs(showHeld);
}

const retryExplanation = `
What is done stays done: only what failed, was cancelled or is unknown at the
service is worked again.
A cleanup deletes again: at a terminal it asks for the number of targets that
are left, unless --yes is given; without a terminal it needs --yes.
With --inline a run that has not ended, since the process that worked it was
stopped, is retried as well.
`;

const releaseExamples = [
  'wellsync runs release 20240331-061500-4f2a9c --dry-run',
  'wellsync runs release 20240331-061500-4f2a9c --yes --rows 50 --wait',
];

const releaseExplanation = `
An export holds rows that the service suddenly no longer has: they stay in the
warehouse, in every later run, until they are back or released. A release starts
a run that reads the held months again and removes what is missing of the rows
that were shown. What is missing beyond them is held again.
`;

async function cancelRun(call: Call<StartOptions>): Promise<ExitCode> {
  const { findRun } = await import('../../app/runs/find-runs.ts');
  const { isUnattended } = await import('../../app/runs/start-run.ts');
  const { connectionFor, followToEnd } = await import('../carry-out.ts');
  const { options, output } = call;
  await using app = await call.openStored();
  const run = await findRun(app.ledger.runs, call.args[0] ?? '');
  await app.queue(connectionFor(app, options));
  const cancelled = await (await app.runService()).cancel(run.runId, operatorName());
  const { runId, job } = run;
  if (cancelled === 'had-ended') {
    const { state } = await findRun(app.ledger.runs, runId);
    if (state !== 'cancelled') throw new UsageError(`run ${runId} has ended already, as ${state}`);
    await output.report(`Run ${runId} was cancelled already.`, { runId, job, cancelRequested: false });
    return exitCodes.done;
  }
  if (options.wait) {
    const exitCode = await followToEnd(run, { app, output });
    return exitCode === exitCodes.cancelled ? exitCodes.done : exitCode;
  }
  // A worker that was killed seconds ago may still hold a chunk.
  if (cancelled === 'requested' && (await isUnattended(app))) {
    const who = app.queueWay.kind === 'redis' ? 'No worker is running' : 'No process works the warehouse now';
    output.say(`${who}: cancel once more in a few seconds, or start one with: wellsync worker`);
  }
  const isPlanned = cancelled === 'ended' && (await app.ledger.runs.readHead(runId))?.unitCount !== undefined;
  const what = isPlanned ? ': what was done is kept' : ' before it was planned: nothing was done';
  const ending = cancelled === 'ended' ? `cancelled${what}` : 'being cancelled: work in flight ends within seconds';
  await output.report(`Run ${runId} is ${ending}.`, { runId, job, cancelRequested: true });
  return exitCodes.done;
}

type RetryOptions = StartOptions & Flags<'yes'>;

async function retryRun(call: Call<RetryOptions>): Promise<ExitCode> {
  const { findRun } = await import('../../app/runs/find-runs.ts');
  const { jobDescriptionOf } = await import('../../app/runs/run-status.ts');
  const { checkBeforeRun } = await import('../../app/preflight.ts');
  const { retryRun: retry } = await import('../../app/runs/retry.ts');
  const { requesterOf, carryOut, workToEnd } = await import('../carry-out.ts');
  const { options, output } = call;
  await using app = await call.openStored();
  const context = { app, output };
  const run = await findRun(app.ledger.runs, call.args[0] ?? '');
  const { runId, job } = run;
  if (options.inline && !isFinished(run.state)) {
    await checkBeforeRun(app);
    return await workToEnd(run, context);
  }
  await confirmRetry(run, call, app);
  const opened = await retry(app, runId, requesterOf(app, options));
  if (opened === 0) {
    const text = `Run ${runId} has nothing that failed, was cancelled or is unknown: nothing to retry.`;
    await output.report(text, { runId, job, state: run.state, units: 0 });
    return exitCodes.done;
  }
  const { one, many, isSingle } = jobDescriptionOf(job, app.jobs).units;
  // The units are known from the plan or the targets of the run.
  if (run.unitCount === undefined && run.targetCount === undefined && isSingle !== true) {
    return await carryOut(run, options, { ...context, opening: `Run ${runId}: retried` });
  }
  const opening = `Run ${runId}: ${counted(opened, one, many)} retried`;
  return await carryOut(run, options, { ...context, opening }, { units: opened });
}

/** Throws UsageError or AbortedError unless what the retry deletes was confirmed, as for the plan itself (G6). */
async function confirmRetry(run: RunRecord, call: Call<RetryOptions>, app: App): Promise<void> {
  const { needsOfRetry } = await import('../../app/runs/retry.ts');
  const { options, output } = call;
  const { openTargets = 0 } = await needsOfRetry(app, run);
  if (openTargets === 0 || options.yes) return;
  const targets = counted(openTargets, 'target');
  const show = `wellsync runs show ${run.runId}`;
  if (!isAtTerminal(call)) {
    throw unconfirmed(`deletes the ${targets} that run ${run.runId} has not deleted`, 'nothing was deleted', show);
  }
  output.writeError(`A retry of run ${run.runId} deletes the ${targets} that it has not deleted.\n`);
  const left = { number: openTargets, whole: `the run has ${targets} left` };
  const why = await refusalOfTyped(deletionQuestion, left, call);
  if (why !== undefined) throw new AbortedError(`${why}. Nothing was deleted`, { hint: `Look at the run: ${show}` });
}

type ReleaseOptions = StartOptions &
  Flags<'dryRun' | 'yes'> & {
    /** Held rows that the caller was shown. */
    readonly rows?: number;
  };

async function releaseRun(call: Call<ReleaseOptions>): Promise<ExitCode> {
  const { findRun } = await import('../../app/runs/find-runs.ts');
  const { heldRowsText } = await import('../text/runs.ts');
  const { holdsToRelease, releaseRows } = await import('../../app/runs/release.ts');
  const { requesterOf, carryOut } = await import('../carry-out.ts');
  const { options, output } = call;
  const asks = !options.yes && !options.dryRun;
  await using app = await call.openStored();
  const run = await findRun(app.ledger.runs, call.args[0] ?? '');
  const held = await holdsToRelease(app, run, options.dryRun ? undefined : options.rows);
  if (asks && !isAtTerminal(call)) throw unconfirmed('lets held rows leave the warehouse', 'nothing was released');
  if (options.dryRun) {
    const { runId, job } = run;
    const how = `Nothing was released. To let them go: wellsync runs release ${runId}`;
    await output.report(`${heldRowsText(held, output.width)}\n\n${how}`, { runId, job, ...held });
    return exitCodes.done;
  }
  if (asks) {
    output.writeError(`${heldRowsText(held, output.width)}\n`);
    const shown = { number: held.rows, whole: `${counted(held.rows, 'row')} are held` };
    const why = await refusalOfTyped('Type the number of rows to release: ', shown, call);
    if (why !== undefined) throw new AbortedError(`${why}. Nothing was released`);
  }
  const released = await releaseRows(app, { of: run.runId, rows: held.rows }, requesterOf(app, options));
  const opening = `Run ${released.runId}: releases ${counted(held.rows, 'row')} that run ${run.runId} holds`;
  return await carryOut(released, options, { app, output, opening }, { releaseOf: run.runId, rows: held.rows });
}

async function showHeld(call: Call): Promise<void> {
  const { heldRowsText } = await import('../text/runs.ts');
  const { allHolds } = await import('../../app/runs/release.ts');
  const { output } = call;
  await using app = await call.openStored();
  const all = await allHolds(app);
  const parts = all.map(({ job, held }) => `${job}\n${heldRowsText(held, output.width)}`);
  await output.print(
    all.length === 0 ? 'No rows are held.' : [...parts, 'To let rows go: wellsync runs release RUN'].join('\n\n'),
    all.map(({ job, held }) => ({ job, ...held })),
  );
}
