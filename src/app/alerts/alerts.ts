/**
 * Alerts of a process that works: raised in Redis at the end of runs, sent by whichever process finds them waiting
 * (docs/design.md section 11). Nothing here fails a run.
 */
import type { Logger } from 'pino';
import { type Look, lookAtLevel, lookAtRun, lookAtSchedule } from '../../core/alerts/alert.ts';
import { overdueTick } from '../../core/schedule/due.ts';
import type { AlertStore } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/schedules.ts';
import type { App } from '../app.ts';
import { staleWells } from '../requests/well-states.ts';
import { readSchedule, type TickSource } from '../schedules/schedule.ts';
import { serviceIdentityOf } from '../service-settings.ts';
import { sendAlert, sendHeartbeat } from './send-alert.ts';

const lookEveryMs = 15_000;

/** How long the end of a process waits for the receiver. */
const lastSendMs = 10_000;

export class Alerts {
  readonly #app: App;
  readonly #log: Logger;

  constructor(app: App, log: Logger) {
    this.#app = app;
    this.#log = log;
  }

  /** Called at least once for a run that ended; a second call changes nothing. */
  async noteRunEnd(runId: string): Promise<void> {
    await this.#quietly(async (store) => {
      const run = await this.#app.ledger.runs.read(runId);
      const job = this.#app.jobs.find(({ name }) => name === run?.job);
      if (run?.report === undefined || job === undefined) return;
      if (run.report.state === 'done' && this.#app.config.alerts.heartbeatJobs.includes(run.job)) await this.#beat();
      const look = lookAtRun(run.report, run.actor, job);
      if (look === undefined || !this.#hasReceiver) return;
      await store.note(look);
      if (run.job.startsWith('export daily-production')) await store.note(await this.#staleWells());
    });
  }

  /** Looks at the hold of the service and sends what waits, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    while (this.#hasReceiver && !signal.aborted) {
      await this.#quietly(async (store) => store.note(await this.#hold()));
      await this.#send();
      await sleep(lookEveryMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Looks at the schedules of the ledger as they were read after `atMs`. */
  async noteSchedules(schedules: readonly StoredSchedule[], ticksOf: TickSource, atMs: number): Promise<void> {
    if (!this.#hasReceiver) return;
    await this.#quietly(async (store) => {
      for (const look of schedules.flatMap((each) => this.#lookAt(each, ticksOf, atMs) ?? [])) await store.note(look);
    });
  }

  /** Undefined for a schedule of another version, which has processes of its own. */
  #lookAt(stored: StoredSchedule, ticksOf: TickSource, atMs: number): Look | undefined {
    const definition = readSchedule(stored)?.definition;
    if (definition === undefined) return undefined;
    const { name, lastTick, paused, sinceMs } = stored;
    const taken = { sinceMs: Math.max(sinceMs, lastTick?.dueMs ?? 0), nowMs: atMs };
    const overdueMs = overdueTick(ticksOf(definition), taken);
    const state = { name, job: definition.job, service: this.#service, isPaused: paused !== undefined };
    return lookAtSchedule({ ...state, overdueMs, lastTick }, atMs);
  }

  /** What waits when a process ends, such as a night by cron. */
  async sendLast(): Promise<void> {
    await Promise.race([this.#send(), sleep(lastSendMs, { ref: false })]);
  }

  async #send(): Promise<void> {
    if (!this.#hasReceiver) return;
    const { warehouse, config } = this.#app;
    await this.#quietly((store) =>
      store.sendWaiting(async (message) => {
        const { isTaken, reason } = await sendAlert(message, warehouse.location, config.alerts);
        if (!isTaken) this.#log.warn({ alert: message.id, because: reason }, 'an alert could not be sent: it waits');
        return isTaken;
      }),
    );
  }

  async #beat(): Promise<void> {
    const { isTaken, reason } = await sendHeartbeat(this.#app.config.alerts);
    if (!isTaken) this.#log.warn({ because: reason }, 'the heartbeat could not be sent');
  }

  async #staleWells(): Promise<Look> {
    const nowMs = Date.now();
    const { length: value } = await staleWells(this.#app, { nowMs });
    const most = this.#app.config.alerts.maxStaleWells;
    const message = `${value} wells have no new day, more than ${most}`;
    return lookAtLevel('stale-wells', { service: this.#service, value, most, message }, nowMs);
  }

  async #hold(): Promise<Look> {
    const nowMs = Date.now();
    const hold = await (await this.#app.queue('lasting')).serviceHold.read();
    const value = Math.max(0, (hold?.untilMs ?? 0) - nowMs);
    const most = this.#app.config.alerts.maxHoldMs;
    const message = `the service holds all requests until ${new Date(nowMs + value).toISOString()}`;
    return lookAtLevel('service-hold', { service: this.#service, value, most, message }, nowMs);
  }

  /** Without one, no message waits for it. */
  get #hasReceiver(): boolean {
    return this.#app.config.alerts.url !== undefined;
  }

  get #service(): string {
    return serviceIdentityOf(this.#app.config).key;
  }

  /** Nothing is read where nothing is set. */
  async #quietly(work: (store: AlertStore) => Promise<void>): Promise<void> {
    const { url, heartbeatUrl } = this.#app.config.alerts;
    if (url === undefined && heartbeatUrl === undefined) return;
    try {
      await work((await this.#app.queue('lasting')).alerts);
    } catch (error) {
      this.#log.debug({ because: String(error) }, 'alerts could not be looked at');
    }
  }
}
