/** `wellsync serve`: the HTTP API. */
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import type { App, AppOptions } from '../../app/app.ts';
import { roughDurationText } from '../../core/base/text.ts';
import { exitCodes } from '../../core/run/exit-code.ts';
import { chunkQueues } from '../../core/run/job-description.ts';
import {
  attendanceOf,
  type Call,
  configReader,
  type Numbers,
  portNumber,
  type ProgramCommand,
  type Texts,
} from '../command.ts';
import type { Output } from '../output.ts';
import { abortOf } from '../../timers/sleep.ts';
import { afterGraceMs, listenForStop } from '../process/stop-signals.ts';

export function addServeCommand(program: ProgramCommand): void {
  program
    .command('serve')
    .description('serve the HTTP API until told to stop')
    .option('--port <number>', 'port to listen on (http.port); 0 takes any free one', portNumber)
    .option('--host <address>', 'address to listen on (http.host)')
    .option('--no-work', 'leave the queues of a DuckDB warehouse to a worker')
    .explained(explanation, ['wellsync serve', 'wellsync serve --port 9000 --no-work'])
    .runsWorker(serve);
}

const explanation = `
A DuckDB warehouse is a file of one process: the server works its queues too, unless
a worker does so already; without Redis it goes on where that one ends. On 127.0.0.1 it lets programs of this host read and operate
until http.tokens names tokens; any other address needs them. Make one with:
wellsync token create NAME --role read. docs/api.md describes the routes.
`;

type ServeFlags = Texts<'host'> &
  Numbers<'port'> & {
    /** False with --no-work. */
    readonly work: boolean;
  };

async function serve(call: Call<ServeFlags>): Promise<void> {
  const { Access } = await import('../../app/access/access.ts');
  const { createApp } = await import('../../app/app.ts');
  const { watchSchedules } = await import('../../app/schedules/scheduler.ts');
  const { createServingApp, readerFor, servingOf, standBy } = await import('../../app/serving.ts');
  const { workHere } = await import('../../app/runs/worker-host.ts');
  const { startConsole } = await import('../../console/server.ts');
  const { createWorkerLog } = await import('../text/log.ts');
  const { options, output } = call;
  const readConfig = await configReader(call);
  const config = readConfig();
  const listenAt = { host: options.host ?? config.http.host, port: options.port ?? config.http.port };
  // Read again while it serves: a token that leaves the configuration lets nobody in any more.
  const log = createWorkerLog(config, output);
  const onStale = (error: unknown): void =>
    log.warn(
      { because: error instanceof Error ? error.message : String(error) },
      'the configuration cannot be read: tokens stay as they were, also those that have left it, until it can be read',
    );
  const access = new Access(() => ({ ...readConfig().http, host: listenAt.host }), { onStale });
  const appOptions = { log, ...attendanceOf(output), report: (message: string) => log.warn(message) };
  await checkParts(config, appOptions);
  // Requests fail soon where a part is away; the workers beside them, with an app of their own, wait for it.
  await using app = createServingApp(config, appOptions);
  using stop = listenForStop(exitCodes.failed, { mostMs: config.worker.graceMs + afterGraceMs });
  const serving = await servingOf(app, { mayWork: options.work });
  let { works } = serving;
  const reader = readerFor(serving, () => works);
  const serveUntil = async (lost: AbortSignal): Promise<void> => {
    const running = await startConsole({ app, access, reader, log, readConfig }, listenAt);
    await announce(running.url, { app, works }, output, log);
    await abortOf(AbortSignal.any([stop.signal, lost]));
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
    await running.stop(config.worker.graceMs);
  };
  await using workApp = createApp(config, appOptions);
  if (serving.works) {
    const standing = { isStanding: true, keepsFeed: true };
    return await workHere({ app: workApp, queues: chunkQueues, log, ...standing }, serveUntil);
  }
  const [ended, lost] = [new AbortController(), new AbortController()];
  // A server that stands by looks at the schedules when it works.
  if (!serving.standsBy && !serving.isBesideWorker) void watchSchedules(workApp, log, ended.signal);
  let decide = (): void => {};
  const decided = new Promise<void>((resolve) => (decide = resolve));
  const onWorking = (isWorking: boolean): void => {
    works = isWorking;
    decide();
  };
  const ending = AbortSignal.any([ended.signal, stop.signal]);
  const standingBy = serving.standsBy ? standBy({ app: workApp, log }, ending, onWorking) : Promise.resolve();
  standingBy.catch((error: unknown) => lost.abort(error)).finally(decide);
  await decided;
  try {
    await serveUntil(lost.signal);
  } finally {
    ended.abort();
    await standingBy;
  }
}

/** A server that starts with its host waits for its warehouse, as a worker does. */
async function checkParts(config: Config, options: AppOptions): Promise<void> {
  const { createApp } = await import('../../app/app.ts');
  const { checkBeforeWorking } = await import('../../app/preflight.ts');
  await using app = createApp(config, options);
  await checkBeforeWorking(app);
}

/** As a worker does it: where the log is JSON lines, the announcement is one of them. */
async function announce(
  url: string,
  { app, works }: { readonly app: App; readonly works: boolean },
  output: Output,
  log: Logger,
): Promise<void> {
  const { workerReport } = await import('../../app/runs/worker-host.ts');
  const { queue, redis, prefix, service, warehouse } = workerReport(app, [], undefined);
  if (output.json) return output.document({ url, works, queue, redis, prefix, service, warehouse });
  const whoWorks = works ? ' It works the queues as well.' : '';
  const grace = roughDurationText(app.config.worker.graceMs);
  const text = `Serving ${url} for ${service} to ${warehouse}.${whoWorks} Ctrl-C stops, within ${grace}.`;
  if (output.stderr.isTTY === true) return output.report(text);
  log.info(text);
}
