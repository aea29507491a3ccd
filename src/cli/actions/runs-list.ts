/** The list of runs, apart from what works them: it loads little. */
import type { App } from '../../app/app.ts';
import { requestRunList } from '../../app/runs/find-runs.ts';
import { statusDocument } from '../../app/runs/run-document.ts';
import { listRuns as readRuns } from '../../app/runs/run-status.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { listLockWaitMs, type RunState } from '../../core/run/run.ts';
import type { Invocation } from '../commands/command-line.ts';
import { runListText } from '../text/runs.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface ListOptions {
  readonly limit: number;
  readonly state?: RunState;
  readonly job?: string;
  readonly since?: string;
  readonly until?: string;
  readonly cursor?: string;
}

export async function listRuns(invocation: Invocation<ListOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const filter = requestRunList(options, {
    timeZone: config.timeZone,
    names: { since: '--since', until: '--until' },
  });
  await using app = openApp(config, output, { lockWaitMs: Math.min(config.warehouse.lockWaitMs, listLockWaitMs) });
  const list = await readRuns(app, filter);
  const { runs, cursor, unattendedJobs, liveFault } = list;
  if (runs.length === 0) refuseUnknownJob(options.job, app.jobs);
  for (const job of unattendedJobs) {
    output.say(
      `No worker is running for ${job}: such runs stay queued until one starts. Start one with: wellsync worker`,
    );
  }
  if (liveFault !== undefined) output.say(`Without live figures: ${liveFault}`);
  if (output.json) await output.document(runs.map(statusDocument));
  else await output.print(runListText(list, app.jobs, output.width));
  if (cursor !== undefined) output.say(`There are more: go on with the same filters and --cursor ${cursor}`);
  return exitCodes.done;
}

/** The ledger may hold runs of a job that only another version knows: a name is wrong only where nothing has it. */
function refuseUnknownJob(job: string | undefined, jobs: App['jobs']): void {
  if (job === undefined || jobs.some(({ name }) => name === job)) return;
  throw new UsageError(`there is no job named ${job}`, {
    hint: `The jobs are: ${jobs.map(({ name }) => name).join(', ')}.`,
  });
}
