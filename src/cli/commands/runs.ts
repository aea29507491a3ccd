/** `wellsync runs`: lists and shows runs, cancels and retries them, and gives their rejects. */
import { type Command, Option } from 'commander';
import { listLockWaitMs, type RunState } from '../../core/run/run.ts';
import type { ReleaseOptions } from '../actions/release.ts';
import type { ListOptions } from '../actions/runs-list.ts';
import type { RetryOptions, RunOptions } from '../actions/runs.ts';
import { actionOf, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';
import { addRejectsCommand } from './rejects.ts';
import { inlineOption, waitOption } from './start-options.ts';

const runStates = [
  'queued',
  'running',
  'done',
  'failed',
  'cancelled',
  'interrupted',
] as const satisfies readonly RunState[];

export function addRunsCommand(program: Command, shell: Shell): void {
  const group = program
    .command('runs')
    .description('list, show, cancel and retry runs, release what they hold, get their rejects')
    .addHelpText('after', `\nA run id may be shortened to a unique beginning.\n${examples(['wellsync runs list'])}`);
  group
    .command('list')
    .description('list runs, the newest first')
    .option('--limit <count>', 'at most so many', wholeNumber, 20)
    .addOption(new Option('--state <state>', 'only runs in this state').choices(runStates))
    .option('--job <job>', 'only runs of this job, as "export daily-production"')
    .option('--since <day>', 'requested from this day on (or an ISO date-time)')
    .option('--until <day>', 'requested before this day')
    .option('--cursor <cursor>', 'go on after a list: the cursor that it gave, or the id of its last run')
    .addHelpText('after', `${listExplanation}${examples(listExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<ListOptions>) =>
        (await import('../actions/runs-list.ts')).listRuns(invocation),
      ),
    );
  group
    .command('show')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('show how a run stands, or its report when it has ended')
    .addOption(waitOption())
    .addHelpText('after', `\nWith --wait the exit code is that of the run, else 0.\n${examples(showExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<RunOptions>) =>
        (await import('../actions/runs.ts')).showRun(invocation),
      ),
    );
  group
    .command('cancel')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('cancel a run: what is done is kept, the rest is left')
    .option('--wait', 'wait until it has ended, then print its report')
    .addHelpText('after', `\nExit code 0 when the run is being cancelled, or was.\n${examples(cancelExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<RunOptions>) =>
        (await import('../actions/runs.ts')).cancelRun(invocation),
      ),
    );
  group
    .command('retry')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('retry what failed, was cancelled or is unknown in a run')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addOption(new Option('--yes', 'retry a cleanup without a question; needed where there is no terminal'))
    .addHelpText('after', `${retryExplanation}${examples(retryExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<RetryOptions>) =>
        (await import('../actions/runs.ts')).retryRun(invocation),
      ),
    );
  group
    .command('release')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('let the rows go that a run holds, if the service still does not have them')
    .option('--yes', 'without asking')
    .option('--rows <count>', 'only if so many rows are held: for a script that was shown them', wholeNumber)
    .option('--dry-run', 'only show what is held')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', `${releaseExplanation}${examples(releaseExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<ReleaseOptions>) =>
        (await import('../actions/release.ts')).releaseRun(invocation),
      ),
    );
  group
    .command('held')
    .description('list the rows that runs hold, and the runs that hold them')
    .addHelpText('after', examples(['wellsync runs held', 'wellsync runs held --json']))
    .action(
      actionOf(shell, async (invocation: Invocation<object>) =>
        (await import('../actions/release.ts')).showHeld(invocation),
      ),
    );
  addRejectsCommand(group, shell);
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
  'wellsync runs list --job "export daily-production" --since 2024-03-01 --limit 100',
  'wellsync runs list --json --cursor "$(jq -r ".[-1].runId" page.json)"',
];
const showExamples = ['wellsync runs show 20240331-061500-4f2a9c', 'wellsync runs show 20240331-06 --wait'];
const cancelExamples = ['wellsync runs cancel 20240331-061500-4f2a9c --wait'];
const retryExamples = ['wellsync runs retry 20240331-061500-4f2a9c --wait'];
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
