/** Owns how a command asks for a run: what was asked for is checked, then queued, and left, followed or worked here. */
import { Option, type Command } from 'commander';
import { followToEnd, noWorkerText, queueOfJob, workInline, type CarryOutParts } from './carry-out.ts';
import type { Invocation } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { isUnattended } from './follow-run.ts';
import type { Installation } from './installation.ts';
import { checkBeforeWork } from './preflight.ts';

export interface StartOptions {
  readonly wait?: true;
  readonly inline?: true;
}

/** What a run is asked for. */
export interface RunWish {
  readonly job: string;
  readonly params: unknown;
  /** After the run's id, as in `Run 2024…: daily production of 7 wells`. */
  readonly what: string;
  /** Figures for the JSON of a run that is left queued. */
  readonly facts: Readonly<Record<string, number>>;
}

export function waitOption(): Option {
  return new Option('--wait', 'follow the run to its end, then print its report');
}

export function inlineOption(): Option {
  return new Option('--inline', 'work the run in this process, then print its report').conflicts('wait');
}

/** The options of every command that starts a run. */
export function withStartOptions(command: Command): Command {
  return command.addOption(waitOption()).addOption(inlineOption());
}

/** Under the help of every command that starts a run. */
export const startExplanation = `
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
`;

/** Checks every part that work needs, queues the run, and carries it out as asked for. */
export async function startRun(
  { options, output }: Invocation<StartOptions>,
  installation: Installation,
  { job, params, what, facts }: RunWish,
): Promise<ExitCode> {
  await checkBeforeWork(installation);
  await installation.queue(options.wait || options.inline ? 'lasting' : 'prompt');
  const desk = await installation.desk();
  const runId = await desk.start(job, params);
  const parts = { installation, output, opening: `Run ${runId}: ${what}` };
  if (options.inline) return workInline({ runId, job }, parts);
  if (options.wait) return followToEnd({ runId, job }, parts);
  return leaveQueued({ runId, job }, parts, facts);
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
