/** Owns what a command does with a run that is queued: leave it to the workers, follow it, or work it in this process. */
import { AbortedError, UsageError } from '../core/errors.ts';
import { exitCodeOf } from '../runs/report.ts';
import { isFinished, type RunRecord, type RunReport } from '../core/run.ts';
import type { Config } from '../../config/schema.ts';
import type { ChunkQueueName } from '../queue/port.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { followRun } from './follow-run.ts';
import type { Installation } from './installation.ts';
import { createLog } from './log.ts';
import type { Output } from './output.ts';
import { createProgressDisplay, type ProgressDisplay } from './progress-display.ts';
import { createLogReader } from './readable-log.ts';
import { reportDocument } from './run-document.ts';
import { reportText } from './report-text.ts';
import { unitWordsOf } from './run-words.ts';
import { listenForStop } from './stop-signals.ts';
import { roughDurationText } from './words.ts';
import { workHere } from './work-here.ts';

type Run = Pick<RunRecord, 'runId' | 'job'>;

export interface CarryOutParts {
  readonly installation: Installation;
  readonly output: Output;
  /** Said first, once a signal no longer ends the command without a word. */
  readonly opening?: string;
}

export const noWorkerText = 'No worker listens: the run stays queued until one does. Start one with: wellsync worker';

/**
 * Shows progress until the run has ended, then its report; returns the exit code of the run. SIGINT leaves: the run goes
 * on with the workers.
 */
export async function followToEnd(run: Run, parts: CarryOutParts): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  if (parts.opening !== undefined) parts.output.say(parts.opening);
  const display = displayFor(run, parts.output);
  try {
    const report = await follow(run, parts, {
      display,
      signal: stop.signal,
      onNoWorker: () => display.note(noWorkerText),
    });
    return await printReport(report, parts);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    throw new AbortedError(`left before the end of run ${run.runId}: it goes on without this command`, {
      hint: `Follow it with: wellsync runs show ${run.runId} --wait. End it with: wellsync runs cancel ${run.runId}`,
    });
  }
}

/**
 * Works the queue of the run in this process, beside whatever workers there are, until the run has ended. SIGINT hands
 * the work in flight back: the run stays queued, and any worker, or the next `--inline`, goes on with it.
 */
export async function workInline(run: Run, parts: CarryOutParts): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { installation, output, opening } = parts;
  if (opening !== undefined) output.say(opening);
  const display = displayFor(run, output);
  const log = inlineLog(installation.config, display);
  const queues = [queueOf(run, installation)];
  const worked = workHere({ installation, queues, log }, async () => {
    try {
      const report = await follow(run, parts, { display, signal: stop.signal, onNoWorker: () => {} });
      return await printReport(report, parts);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      const grace = roughDurationText(installation.config.worker.graceMs);
      output.say(`Stopping: work in flight has ${grace} to end. Ctrl-C again stops at once.`);
      throw stoppedError(run.runId);
    }
  });
  return await worked.catch(async (error: unknown) => {
    if (!stop.signal.aborted) throw error;
    // What was in flight may have been the last of it.
    const ended = await installation.warehouse.runs.read(run.runId);
    if (ended?.report === undefined || !isFinished(ended.state)) throw error;
    return printReport(ended.report, parts);
  });
}

function stoppedError(runId: string): AbortedError {
  return new AbortedError(`stopped before the end of run ${runId}: what is done is kept, the rest stays queued`, {
    hint: `Go on with: wellsync worker, or wellsync runs retry ${runId} --inline. End it with: wellsync runs cancel ${runId}`,
  });
}

function follow(
  run: Run,
  { installation }: Pick<CarryOutParts, 'installation'>,
  how: { readonly display: ProgressDisplay; readonly signal: AbortSignal; readonly onNoWorker: () => void },
): Promise<RunReport> {
  const { warehouse } = installation;
  const chunkQueue = queueOfJob(run.job, installation);
  return installation
    .queue('lasting')
    .then((queue) => followRun(run.runId, { queue, chunkQueue, warehouse, now: Date.now, ...how }, how.signal));
}

/** Prints the report of an ended run; returns the exit code that DESIGN.md section 8 gives it. */
export async function printReport(report: RunReport, { installation, output }: CarryOutParts): Promise<ExitCode> {
  // A run of a job that only another version knows can still be reported.
  const exceptions = installation.jobs.find((job) => job.name === report.job)?.exceptions ?? [];
  const exitCode = exitCodeOf(report, exceptions);
  if (output.json) await output.document(reportDocument(report, exitCode));
  else await output.print(reportText(report, exceptions, output.width));
  return exitCode;
}

function queueOf(run: Run, installation: Installation): ChunkQueueName {
  const queue = queueOfJob(run.job, installation);
  if (queue !== undefined) return queue;
  throw new UsageError(`run ${run.runId} is of a job that this version does not know: ${run.job}`);
}

/** Where the chunks of a job wait; undefined for a job of another version. */
export function queueOfJob(job: string, { jobs }: Installation): ChunkQueueName | undefined {
  return jobs.find((candidate) => candidate.name === job)?.queue;
}

function displayFor(run: Run, output: Output): ProgressDisplay {
  return createProgressDisplay(output.stderr, unitWordsOf(run.job));
}

/** The log comes as sentences between the progress, which says already what a worker logs as info. */
function inlineLog(config: Config, display: ProgressDisplay) {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel;
  return createLog({ level, config, stream: createLogReader((text) => display.note(text)) });
}
