/** `wellsync worker`: works the queues until it is stopped. */
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import type { Logger } from 'pino';
import type { App } from '../../app/app.ts';
import type { HealthPort } from '../../app/health/health-port.ts';
import type { WorkerReport } from '../../app/runs/worker-host.ts';
import { listed, roughDurationText } from '../../core/base/text.ts';
import { AbortedError, TakenOverError } from '../../core/base/errors.ts';
import { exitCodes } from '../../core/run/exit-code.ts';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import { attendanceOf, type Call, portNumber, type ProgramCommand } from '../command.ts';
import type { Output } from '../output.ts';
import { afterGraceMs, listenForStop } from '../process/stop-signals.ts';

export function addWorkerCommand(program: ProgramCommand): void {
  program
    .command('worker')
    .description('work the queues until told to stop')
    .option('--queues <names>', `only these, separated by commas: ${chunkQueues.join(', ')}`, queueNames)
    .option('--port <number>', 'answer /healthz and /readyz on this port; 0 takes any free one', portNumber)
    .option('--host <address>', 'address of that port', '127.0.0.1')
    .explained(explanation, ['wellsync worker', 'wellsync worker --queues export', 'wellsync worker --port 9464'])
    .runsWorker(work);
}

const explanation = `
SIGTERM, SIGHUP or Ctrl-C lets work in flight end within worker.graceMs, then hands it
back; a second one stops at once. Killing a worker loses nothing. The log goes to
standard error, as JSON lines.
`;

function queueNames(text: string): readonly ChunkQueueName[] {
  const named = text.split(',').map((name) => name.trim());
  const known = chunkQueues.filter((name) => named.includes(name));
  if (known.length === new Set(named).size) return known;
  throw new InvalidArgumentError(`It must name queues, separated by commas: ${chunkQueues.join(', ')}.`);
}

interface WorkerFlags {
  readonly queues?: readonly ChunkQueueName[];
  /** Of the health port; without it there is none. */
  readonly port?: number;
  readonly host: string;
}

async function work(call: Call<WorkerFlags>): Promise<void> {
  const { createApp } = await import('../../app/app.ts');
  const { checkBeforeWorking } = await import('../../app/preflight.ts');
  const { workerReport, workHere } = await import('../../app/runs/worker-host.ts');
  const { createWorkerLog } = await import('../text/log.ts');
  const { options, output } = call;
  const config = await call.config();
  const queues = options.queues ?? chunkQueues;
  const log = createWorkerLog(config, output);
  const readiness = { isReady: (): boolean => false };
  const warn = (message: string): void => log.warn(message);
  const reporting = { ...attendanceOf(output), report: warn, onWait: warn };
  const app = createApp(config, { log, ...reporting, isAwaited: true });
  // It answers until the app is closed.
  await using health = await healthPortOf(options, app, readiness);
  await using _ = app;
  await checkBeforeWorking(app);

  using stop = listenForStop(exitCodes.failed, { mostMs: config.worker.graceMs + afterGraceMs });
  const how = { app, queues, log, isStanding: true, keepsFeed: true, stop: stop.signal };
  const working = workHere(how, async (takenOver, _outages, isReady) => {
    const ending = AbortSignal.any([stop.signal, takenOver]);
    readiness.isReady = () => !ending.aborted && isReady();
    await announce(workerReport(app, queues, health?.url), config.worker.graceMs, output, log);
    if (!ending.aborted) await once(ending, 'abort');
    if (takenOver.aborted) return;
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
  });
  await working.catch((error: unknown) => {
    // It was told to stop while it waited for the warehouse.
    if (!stop.signal.aborted || !(error instanceof AbortedError) || error instanceof TakenOverError) throw error;
  });
}

/** Open from the start, so that a worker that still waits for the warehouse is told from a dead one. */
async function healthPortOf(
  { host, port }: WorkerFlags,
  app: App,
  readiness: { readonly isReady: () => boolean },
): Promise<HealthPort | undefined> {
  if (port === undefined) return undefined;
  const { openHealthPort } = await import('../../app/health/health-port.ts');
  const { expositionOf } = await import('../../app/health/metrics.ts');
  const exposition = expositionOf(app, 'lasting');
  return openHealthPort({ host, port }, { isReady: () => readiness.isReady(), metrics: () => exposition.read() });
}

/** Where the log is JSON lines, the announcement is one of them: whatever collects both streams reads no plain text. */
async function announce(report: WorkerReport, graceMs: number, output: Output, log: Logger): Promise<void> {
  if (output.json) return output.document(report);
  const { queues, redis, prefix, service, warehouse, health } = report;
  const text =
    `Working ${listed(queues)} from ${redis === null ? 'the embedded queue' : `${redis} (prefix ${prefix})`}: ${service} to ${warehouse}. ` +
    (health === null ? '' : `Its health is told at ${health}/readyz. `) +
    `Ctrl-C stops, within ${roughDurationText(graceMs)}.`;
  if (output.stderr.isTTY === true) return output.report(text);
  log.info(text);
}
