import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { Access } from '../../app/access/access.ts';
import { type App, type AppOptions, createApp } from '../../app/app.ts';
import { chunkQueues } from '../../core/run/job-description.ts';
import { checkBeforeWorking } from '../../app/preflight.ts';
import { watchSchedules } from '../../app/schedules/scheduler.ts';
import { createServingApp, readerFor, type Serving, servingOf } from '../../app/serving.ts';
import { workerReport, workHere } from '../../app/runs/worker-host.ts';
import { startConsole } from '../../console/server.ts';
import { roughDurationText } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { afterGraceMs, listenForStop } from '../process/stop-signals.ts';
import { configOf } from './config.ts';
import { attendanceOf } from './open-app.ts';
import { createWorkerLog } from './worker-log.ts';

export interface ServeFlags {
  readonly host?: string;
  readonly port?: number;
  /** False with --no-work. */
  readonly work: boolean;
}

export async function serve(invocation: Invocation<ServeFlags>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const listenAt = { host: options.host ?? config.http.host, port: options.port ?? config.http.port };
  // Read again while it serves: a token that leaves the configuration lets nobody in any more.
  const log = createWorkerLog(config, output);
  const onStale = (error: unknown): void =>
    log.warn(
      { because: error instanceof Error ? error.message : String(error) },
      'the configuration cannot be read: tokens stay as they were, also those that have left it, until it can be read',
    );
  const access = new Access(() => ({ ...configOf(invocation).http, host: listenAt.host }), { onStale });
  const appOptions = { log, ...attendanceOf(output), tell: (message: string) => log.warn(message) };
  await checkParts(config, appOptions);
  // Requests fail soon where a part is away; the workers beside them, with an app of their own, wait for it.
  await using app = createServingApp(config, appOptions);
  using stop = listenForStop(exitCodes.failed, { mostMs: config.worker.graceMs + afterGraceMs });
  const serving = await servingOf(app, { mayWork: options.work });
  const serveUntil = async (lost: AbortSignal): Promise<void> => {
    const running = await startConsole(
      { app, access, reader: readerFor(serving), log, readConfig: () => configOf(invocation) },
      listenAt,
    );
    await announce(running.url, { app, serving }, output, log);
    const ending = AbortSignal.any([stop.signal, lost]);
    if (!ending.aborted) await once(ending, 'abort');
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
    await running.stop(config.worker.graceMs);
  };
  if (serving.works) {
    await using workApp = createApp(config, appOptions);
    const standing = { isStanding: true, keepsFeed: true };
    await workHere({ app: workApp, queues: chunkQueues, log, ...standing }, serveUntil);
  } else {
    await using watchApp = createApp(config, appOptions);
    const ending = new AbortController();
    if (!serving.isBesideWorker) void watchSchedules(watchApp, log, ending.signal);
    await serveUntil(new AbortController().signal).finally(() => ending.abort());
  }
  return exitCodes.done;
}

/** A server that starts with its host waits for its warehouse, as a worker does. */
async function checkParts(config: Config, options: AppOptions): Promise<void> {
  await using app = createApp(config, options);
  await checkBeforeWorking(app);
}

/** As a worker does it: where the log is JSON lines, the announcement is one of them. */
async function announce(
  url: string,
  { app, serving }: { readonly app: App; readonly serving: Serving },
  output: Output,
  log: Logger,
): Promise<void> {
  const { works } = serving;
  const { redis, prefix, service, warehouse } = workerReport(app, [], undefined);
  if (output.json) return output.document({ url, works, redis, prefix, service, warehouse });
  const whoWorks = works ? ' It works the queues as well.' : '';
  const grace = roughDurationText(app.config.worker.graceMs);
  const text = `Serving ${url} for ${service} to ${warehouse}.${whoWorks} Ctrl-C stops, within ${grace}.`;
  if (output.stderr.isTTY === true) return output.report(text);
  log.info(text);
}
