/** Owns how a command asks the service itself, where no run is needed for it. */
import type { JobParts } from '../runs/job.ts';
import { exitCodes } from './exit-codes.ts';
import type { Installation } from './installation.ts';
import { createLog } from './log.ts';
import type { Output } from './output.ts';
import { checkBeforeWork } from './preflight.ts';
import { createLogReader } from './readable-log.ts';
import { listenForStop } from './stop-signals.ts';

interface AskOptions {
  /** Requests at one time. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** Asks the service in this process, within the limits that all share (G9). Ctrl-C ends it. */
export async function atService<T>(
  installation: Installation,
  output: Output,
  act: (parts: JobParts, how: AskOptions) => Promise<T>,
): Promise<T> {
  const { config, warehouse } = installation;
  await checkBeforeWork(installation);
  using stop = listenForStop(exitCodes.cancelled);
  const log = createLog({ level: 'warn', config, stream: createLogReader((text) => output.say(text)) });
  const service = await installation.service(log);
  return await act(
    { service, warehouse, now: Date.now },
    { concurrency: config.service.concurrency, signal: stop.signal },
  );
}
