import { once } from 'node:events';
import type { Logger } from 'pino';
import { type App, createApp } from '../../app/app.ts';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import type { HealthPort } from '../../app/health/health-port.ts';
import { checkBeforeWorking } from '../../app/preflight.ts';
import { workerReport, type WorkerReport, workHere } from '../../app/runs/worker-host.ts';
import { listed, roughDurationText } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { afterGraceMs, listenForStop } from '../process/stop-signals.ts';
import { configOf } from './config.ts';
import { attendanceOf } from './open-app.ts';
import { createWorkerLog } from './worker-log.ts';

export interface WorkerFlags {
  readonly queues?: readonly ChunkQueueName[];
  /** Of the health port; without it there is none. */
  readonly port?: number;
  readonly host: string;
}

export async function work(invocation: Invocation<WorkerFlags>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const queues = options.queues ?? chunkQueues;
  const log = createWorkerLog(config, output);
  const readiness = { isReady: (): boolean => false };
  const warn = (message: string): void => log.warn(message);
  const telling = { ...attendanceOf(output), tell: warn, onWait: warn };
  const app = createApp(config, { log, ...telling, isAwaited: true });
  // It answers until the app is closed.
  await using health = await healthPortOf(options, app, readiness);
  await using _ = app;
  await checkBeforeWorking(app);

  using stop = listenForStop(exitCodes.failed, { mostMs: config.worker.graceMs + afterGraceMs });
  await workHere({ app, queues, log, isStanding: true, keepsFeed: true }, async (takenOver, _outages, isReady) => {
    const ending = AbortSignal.any([stop.signal, takenOver]);
    readiness.isReady = () => !ending.aborted && isReady();
    await announce(workerReport(app, queues, health?.url), config.worker.graceMs, output, log);
    if (!ending.aborted) await once(ending, 'abort');
    if (takenOver.aborted) return;
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
  });
  return exitCodes.done;
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
    `Working ${listed(queues)} from ${redis} (prefix ${prefix}): ${service} to ${warehouse}. ` +
    (health === null ? '' : `Its health is told at ${health}/readyz. `) +
    `Ctrl-C stops, within ${roughDurationText(graceMs)}.`;
  if (output.stderr.isTTY === true) return output.report(text);
  log.info(text);
}
