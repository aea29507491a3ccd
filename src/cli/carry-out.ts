/**
 * The work of a command: a queued run, left to the workers, followed to its end, or worked in this process; or requests
 * to the service.
 */
import type { Config } from '../../config/schema.ts';
import type { App } from '../app/app.ts';
import { EmptyListError } from '../app/exports/csv-list.ts';
import { createLog } from '../app/log.ts';
import { checkBeforeRun, checkBeforeWork } from '../app/preflight.ts';
import { followRun, type RunObserver } from '../app/runs/follow-run.ts';
import { exitCodeOf, reportDocument } from '../app/runs/run-document.ts';
import { jobDescriptionOf } from '../app/runs/run-status.ts';
import {
  type Requester,
  type Connection,
  isUnattended,
  type JobRequest,
  queueRun,
  queueRunOnce,
  type RunName,
  type StartedOnce,
} from '../app/runs/start-run.ts';
import { workInline } from '../app/runs/worker-host.ts';
import { askService } from '../app/service/ask-service.ts';
import { AbortedError } from '../core/base/errors.ts';
import { roughDurationText } from '../core/base/text.ts';
import { type ExitCode, exitCodes, worseOf } from '../core/run/exit-code.ts';
import type { RunReport } from '../core/run/run.ts';
import type { Call, EmptyOption, StartOptions } from './command.ts';
import type { Output } from './output.ts';
import { operatorName } from './process/operator.ts';
import { listenForStop } from './process/stop-signals.ts';
import { adviceOf } from './text/actions.ts';
import { createLogReader } from './text/log.ts';
import { noWorkerText, reportText } from './text/runs.ts';

export interface CarryOutContext {
  readonly app: App;
  readonly output: Output;
  /** Told first, once signals are handled: from then on none ends the command without a message. */
  readonly opening?: string;
  /** Whether the command starts another run after this one: its document is that of the last run. */
  readonly isFollowed?: boolean;
}

/** Additional members in the JSON of a run that is left queued. */
type ExtraFields = Readonly<Record<string, number | string>>;

/**
 * Starts a run and carries it out as the options say; where a run of an earlier night is to be finished first, that one
 * and then its own, and returns the worse exit code. The opening is `Run 2024…: daily production of 7 wells`, with
 * `title` after the id.
 */
export async function startAndCarryOut(
  { options, output }: Pick<Call<StartOptions>, 'options' | 'output'>,
  app: App,
  request: JobRequest,
  { title, fields = {} }: { readonly title: string; readonly fields?: ExtraFields },
): Promise<ExitCode> {
  await checkBeforeRun(app);
  const start = async (own: App): Promise<{ readonly kind: StartedOnce['kind']; readonly code: ExitCode }> => {
    const run = await queueAsOptions(own, request, options);
    const opening = `Run ${run.runId}: ${title}`;
    return { kind: run.kind, code: await carryOutStarted(run, options, { app: own, output, opening }, fields) };
  };
  let { kind, code } = await start(app);
  while (kind === 'going-on-first') {
    // The work of this one is over, and another process may have taken the warehouse since.
    await using other = app.another();
    const next = await start(other);
    kind = next.kind;
    code = worseOf(code, next.code);
  }
  return code;
}

/** Queues a run, or with --skip-if-running finds the unfinished run for the same work. */
export async function queueAsOptions(app: App, request: JobRequest, options: StartOptions): Promise<StartedOnce> {
  const requester = requesterOf(app, options);
  if (options.skipIfRunning)
    return queueRunOnce(app, request, requester, { canWork: options.inline === true || isEmbedded(app) });
  return { kind: 'started', ...(await queueRun(app, request, requester)) };
}

/** As {@link carryOut}; a run that is under way already needs nothing more. */
export async function carryOutStarted(
  { kind, ...run }: StartedOnce,
  options: StartOptions,
  context: CarryOutContext,
  fields: ExtraFields = {},
): Promise<ExitCode> {
  if (kind === 'started') return carryOut(run, options, context, fields);
  const { runId, job } = run;
  const { output } = context;
  if (kind !== 'under-way') {
    const isFollowed = kind === 'going-on-first';
    const then = isFollowed ? ', and a new one follows' : '';
    const opening = `Run ${runId} for the same work has not ended, and no process works it: it goes on${then}`;
    return carryOut(run, options, { ...context, opening, isFollowed });
  }
  const text = `Run ${runId} for the same work is under way: nothing was started.`;
  await output.report(text, { runId, job, state: 'under-way', skipped: true });
  return exitCodes.done;
}

/** Who starts a run, and the kind of connection. */
export function requesterOf(app: App, options: StartOptions): Requester {
  return { actor: operatorName(), connection: connectionFor(app, options) };
}

/** A command that stays with its run waits for Redis to come back. */
export function connectionFor(app: App, { wait, inline }: StartOptions): Connection {
  return wait || inline || isEmbedded(app) ? 'lasting' : 'prompt';
}

/** Without Redis a command works its run itself, or hands it to the process that works. */
function isEmbedded({ queueWay }: App): boolean {
  return queueWay.kind === 'embedded';
}

/**
 * Works a queued run in this process, follows it to its end, or leaves it queued. Returns the exit code of the command.
 */
export async function carryOut(
  run: RunName,
  options: StartOptions,
  context: CarryOutContext,
  fields: ExtraFields = {},
): Promise<ExitCode> {
  if (options.inline || isEmbedded(context.app)) return workToEnd(run, context);
  if (options.wait) return followToEnd(run, context);
  return leaveQueued(run, context, fields);
}

async function leaveQueued({ runId, job }: RunName, context: CarryOutContext, fields: ExtraFields): Promise<ExitCode> {
  const { app, output, opening } = context;
  if (opening !== undefined) output.narrate(opening);
  const isAttended = !(await isUnattended(app, job).catch(() => {
    output.say('Redis does not answer. The run is kept: a worker queues it once Redis is back.');
    return false;
  }));
  if (!isAttended) output.say(noWorkerText(app.queueWay.kind));
  const text = `Queued. Follow it with: wellsync runs show ${runId} --wait`;
  await output.report(text, { runId, job, state: 'queued', ...fields, isAttended });
  return exitCodes.done;
}

/**
 * Shows progress until the run has ended, then its report; returns the exit code of the run. SIGINT ends only the
 * command: the run continues with the workers.
 */
export async function followToEnd(run: RunName, context: CarryOutContext): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { app, output, opening } = context;
  if (opening !== undefined) output.narrate(opening);
  const observer = await displayFor(run, context);
  try {
    const onNoWorker = (): void => observer.remark(noWorkerText(app.queueWay.kind));
    const report = await followRun(app, run, { observer, signal: stop.signal, onNoWorker });
    return await printReport(report, context);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    throw new AbortedError(`interrupted before the end of run ${run.runId}: the run goes on without this command`, {
      hint: `Follow it with: wellsync runs show ${run.runId} --wait. End it with: wellsync runs cancel ${run.runId}`,
    });
  }
}

/**
 * Works the queue of the run in this process, beside any workers, until the run has ended; prints its report and
 * returns its exit code. SIGINT hands running work back: the run stays queued, and any worker, or the next `--inline`,
 * continues it.
 */
export async function workToEnd(run: RunName, context: CarryOutContext): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { app, output, opening } = context;
  if (opening !== undefined) output.narrate(opening);
  const observer = await displayFor(run, context);
  const log = inlineLog(app.config, observer);
  const onStopping = (): void => {
    const grace = roughDurationText(app.config.worker.graceMs);
    output.say(`Stopping: work in flight has ${grace} to end. Ctrl-C again stops at once.`);
  };
  const how = { observer, log, signal: stop.signal, onStopping };
  try {
    return await workInline(app, run, how, (report) => printReport(report, context));
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    throw new AbortedError(`stopped before the end of run ${run.runId}: what is done is kept, the rest stays queued`, {
      hint: `Go on with: wellsync worker, or wellsync runs retry ${run.runId} --inline. End it with: wellsync runs cancel ${run.runId}`,
    });
  }
}

/**
 * Prints the report of a finished run; returns its exit code (docs/design.md section 8). `as`: what the command did, or
 * what it was asked to show.
 */
export async function printReport(
  report: RunReport,
  { app, output, isFollowed = false }: CarryOutContext,
  as: 'report' | 'print' = 'report',
): Promise<ExitCode> {
  const job = jobDescriptionOf(report.job, app.jobs);
  const text = reportText(report, job, output.width);
  if (output.json && isFollowed) output.say(text);
  else await output[as](text, reportDocument(report, job, adviceOf));
  const code = exitCodeOf(report, job);
  // Before anything else is waited for: who reads the mail of a night has it, whatever becomes of this process.
  if (code !== exitCodes.done) await output.release();
  return code;
}

async function displayFor({ job }: RunName, { app, output }: CarryOutContext): Promise<RunObserver> {
  if (!output.showsProgress) return { show: () => {}, remark: (text) => output.say(text), end: () => {} };
  const { createProgressDisplay } = await import('./text/progress-display.ts');
  return createProgressDisplay(output, jobDescriptionOf(job, app.jobs));
}

/** Prints log lines as sentences between the progress, which already shows the info lines of a worker. */
function inlineLog(config: Config, observer: RunObserver) {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel;
  return createLog({ level, config, stream: createLogReader((text) => observer.remark(text)) });
}

type Ask<T> = Parameters<typeof askService<T>>[2];

/** Calls `ask` with the service, after the checks of a run. Throws AbortedError on Ctrl-C. */
export async function atService<T>(app: App, output: Output, ask: Ask<T>): Promise<T> {
  await checkBeforeWork(app);
  using stop = listenForStop(exitCodes.cancelled);
  const log = createLog({ level: 'warn', config: app.config, stream: createLogReader((text) => output.say(text)) });
  return await askService(app, { log, signal: stop.signal }, ask);
}

/** Ends with 0 where a list is empty and --allow-empty says that it may be. */
export async function unlessEmpty(
  { options, output }: Call<EmptyOption>,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmptyListError) || options.allowEmpty === undefined) throw error;
    const { message } = error;
    await output.print(`Nothing to do: ${message}.`, { state: 'nothing-to-do', message });
    return exitCodes.done;
  }
}
