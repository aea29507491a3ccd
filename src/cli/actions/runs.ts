import type { App } from '../../app/app.ts';
import { checkBeforeRun } from '../../app/preflight.ts';
import { findRun } from '../../app/runs/find-runs.ts';
import { needsOfRetry } from '../../app/runs/retry.ts';
import { liveStatusDocument } from '../../app/runs/run-document.ts';
import { jobDescriptionOf, statusOf } from '../../app/runs/run-status.ts';
import { isUnattended, retryRun as retry } from '../../app/runs/start-run.ts';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished, type RunRecord } from '../../core/run/run.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { StartOptions } from '../commands/start-options.ts';
import type { Output } from '../output.ts';
import { isAtTerminal } from '../process/question.ts';
import { noWorkerText, runStatusText } from '../text/runs.ts';
import { askerOf, carryOut, connectionFor, followToEnd, printReport, workToEnd } from './carry-out.ts';
import { configOf } from './config.ts';
import { deletionQuestion, refusalOfTyped, unconfirmed } from './confirm-number.ts';
import { openApp } from './open-app.ts';
import { operatorName } from './operator-name.ts';

export type RunOptions = StartOptions;

export async function showRun(invocation: Invocation<RunOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const context = { app, output };
  const run = await findRun(app.ledger.runs, invocation.args[0] ?? '');
  if (isFinished(run.state) && run.report !== undefined) {
    const exitCode = await printReport(run.report, context, options.wait ? 'report' : 'print');
    return options.wait ? exitCode : exitCodes.done;
  }
  if (options.wait) return await followToEnd(run, context);
  await printStatus(run, app, output);
  return exitCodes.done;
}

async function printStatus(run: RunRecord, app: App, output: Output): Promise<void> {
  const status = await statusOf(app, run);
  if (output.json) return output.document(liveStatusDocument(status));
  await output.print(runStatusText(status, app.jobs));
  if (status.isUnattended) output.say(noWorkerText);
}

export async function cancelRun(invocation: Invocation<RunOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const run = await findRun(app.ledger.runs, invocation.args[0] ?? '');
  await app.queue(connectionFor(options));
  const runService = await app.runService();
  const cancelled = await runService.cancel(run.runId, operatorName());
  if (cancelled === 'had-ended') return await refuseCancel(run.runId, app, output);
  if (options.wait) {
    const exitCode = await followToEnd(run, { app, output });
    return exitCode === exitCodes.cancelled ? exitCodes.done : exitCode;
  }
  // A worker that was killed seconds ago may still hold a chunk.
  if (cancelled === 'requested' && (await isUnattended(app))) {
    output.say('No worker is running: cancel once more in a few seconds, or start one with: wellsync worker');
  }
  if (output.json) await output.document({ runId: run.runId, job: run.job, cancelRequested: true });
  else if (cancelled === 'ended') await output.report(await cancelledText(run.runId, app));
  else await output.report(`Run ${run.runId} is being cancelled: work in flight ends within seconds.`);
  return exitCodes.done;
}

async function cancelledText(runId: string, { ledger }: App): Promise<string> {
  const isPlanned = (await ledger.runs.readHead(runId))?.unitCount !== undefined;
  return `Run ${runId} is cancelled${isPlanned ? ': what was done is kept' : ' before it was planned: nothing was done'}.`;
}

/** A cancelled run already has the requested state; a run that ended otherwise cannot be cancelled. */
async function refuseCancel(runId: string, app: App, output: Output): Promise<ExitCode> {
  const run = await findRun(app.ledger.runs, runId);
  if (run.state !== 'cancelled') throw new UsageError(`run ${runId} has ended already, as ${run.state}`);
  if (output.json) await output.document({ runId, job: run.job, cancelRequested: false });
  else await output.report(`Run ${runId} was cancelled already.`);
  return exitCodes.done;
}

export interface RetryOptions extends RunOptions {
  readonly yes?: true;
}

export async function retryRun(invocation: Invocation<RetryOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const context = { app, output };
  const run = await findRun(app.ledger.runs, invocation.args[0] ?? '');
  const { runId, job } = run;
  if (options.inline && !isFinished(run.state)) {
    await checkBeforeRun(app);
    return await workToEnd(run, context);
  }
  await confirmRetry(run, invocation, app);
  const opened = await retry(app, runId, askerOf(options));
  if (opened === 0) return await sayNothingToRetry(run, output);
  const { one, many, isSingle } = jobDescriptionOf(job, app.jobs).units;
  // The units are known from the plan or the targets of the run.
  if (run.unitCount === undefined && run.targetCount === undefined && isSingle !== true) {
    return await carryOut(run, options, { ...context, opening: `Run ${runId}: retried` });
  }
  const opening = `Run ${runId}: ${counted(opened, one, many)} retried`;
  return await carryOut(run, options, { ...context, opening }, { units: opened });
}

/** Throws UsageError or AbortedError unless what the retry deletes was confirmed, as for the plan itself (G6). */
async function confirmRetry(run: RunRecord, invocation: Invocation<RetryOptions>, app: App): Promise<void> {
  const { options, stdin, output } = invocation;
  const { openTargets = 0 } = await needsOfRetry(app, run);
  if (openTargets === 0 || options.yes) return;
  const targets = counted(openTargets, 'target');
  const look = `wellsync runs show ${run.runId}`;
  if (!isAtTerminal(stdin, output)) {
    throw unconfirmed(`deletes the ${targets} that run ${run.runId} has not deleted`, 'nothing was deleted', look);
  }
  output.tell(`A retry of run ${run.runId} deletes the ${targets} that it has not deleted.\n`);
  const left = { number: openTargets, whole: `the run has ${targets} left` };
  const why = await refusalOfTyped(deletionQuestion, left, invocation);
  if (why !== undefined) throw new AbortedError(`${why}. Nothing was deleted`, { hint: `Look at the run: ${look}` });
}

async function sayNothingToRetry({ runId, job, state }: RunRecord, output: Output): Promise<ExitCode> {
  if (output.json) await output.document({ runId, job, state, units: 0 });
  else await output.report(`Run ${runId} has nothing that failed, was cancelled or is unknown: nothing to retry.`);
  return exitCodes.done;
}
