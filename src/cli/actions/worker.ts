import { once } from 'node:events';
import type { Logger } from 'pino';
import { createApp } from '../../app/app.ts';
import { type ChunkQueueName, chunkQueues } from '../../app/chunk-queues.ts';
import { checkBeforeWorking } from '../../app/preflight.ts';
import { workerReport, type WorkerReport } from '../../app/views/worker-report.ts';
import { workHere } from '../../app/worker-host.ts';
import { listed, roughDurationText } from '../../core/base/text.ts';
import { exitCodes, type ExitCode } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { listenForStop } from '../process/stop-signals.ts';
import type { Output } from '../output.ts';
import { configOf } from './config.ts';
import { attendanceOf } from './open-app.ts';
import { createWorkerLog } from './worker-log.ts';

export interface WorkerFlags {
  readonly queues?: readonly ChunkQueueName[];
}

export async function work(invocation: Invocation<WorkerFlags>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const queues = options.queues ?? chunkQueues;
  const log = createWorkerLog(config, output);
  await using app = createApp(config, { log, ...attendanceOf(output), tell: (message) => log.warn(message) });
  await checkBeforeWorking(app);

  using stop = listenForStop(exitCodes.failed);
  await workHere({ app, queues, log }, async (takenOver) => {
    await announce(workerReport(app, queues), config.worker.graceMs, output, log);
    const ending = AbortSignal.any([stop.signal, takenOver]);
    if (!ending.aborted) await once(ending, 'abort');
    if (takenOver.aborted) return;
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
  });
  return exitCodes.done;
}

/** Where the log is JSON lines, the announcement is one of them: whatever collects both streams reads no plain text. */
async function announce(report: WorkerReport, graceMs: number, output: Output, log: Logger): Promise<void> {
  if (output.json) return output.document(report);
  const { queues, redis, prefix, service, warehouse } = report;
  const text =
    `Working ${listed(queues)} from ${redis} (prefix ${prefix}): ${service} to ${warehouse}. ` +
    `Ctrl-C stops, within ${roughDurationText(graceMs)}.`;
  if (output.stderr.isTTY === true) return output.report(text);
  log.info(text);
}
