import type { Logger } from 'pino';
import { sleep } from '../../timers/sleep.ts';
import { Alerts } from '../alerts/alerts.ts';
import type { App } from '../app.ts';
import { cronTicks } from './schedule.ts';

const lookEveryMs = 60_000;

/**
 * Tells by alerts of ticks that no worker takes, and sends what waits, until the signal aborts: for a process that works no
 * queue, and lives when all workers are gone.
 */
export async function watchSchedules(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  if (app.config.alerts.url === undefined) return;
  const alerts = new Alerts(app, log);
  void alerts.keep(signal);
  while (!signal.aborted) {
    try {
      const atMs = Date.now();
      const { schedules } = await app.ledger.schedules.read();
      await alerts.noteSchedules(schedules, cronTicks, atMs);
    } catch (error) {
      log.debug({ because: String(error) }, 'schedules could not be looked at');
    }
    await sleep(lookEveryMs, { signal, ref: false }).catch(() => undefined);
  }
}
