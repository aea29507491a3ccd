/** Requests to the service from a command: Ctrl-C stops them, and log lines are printed as sentences. */
import type { App } from '../../app/app.ts';
import { askService } from '../../app/service/probe.ts';
import { createLog } from '../../app/log.ts';
import { checkBeforeWork } from '../../app/preflight.ts';
import { exitCodes } from '../../core/run/exit-code.ts';
import { listenForStop } from '../process/stop-signals.ts';
import type { Output } from '../output.ts';
import { createLogReader } from '../text/readable-log.ts';

type Ask<T> = Parameters<typeof askService<T>>[2];

/** Calls `ask` with the service, after the checks of a run. Throws AbortedError on Ctrl-C. */
export async function atService<T>(app: App, output: Output, ask: Ask<T>): Promise<T> {
  await checkBeforeWork(app);
  using stop = listenForStop(exitCodes.cancelled);
  const stream = createLogReader((text) => output.say(text));
  const log = createLog({ level: 'warn', config: app.config, stream });
  return await askService(app, { log, signal: stop.signal }, ask);
}
