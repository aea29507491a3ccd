/**
 * Alerts of a process that works or serves: what it sees beside its runs, and the messages that wait for the receiver, sent by
 * whichever process finds them (docs/design.md section 11). Nothing here fails a run.
 */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Observation } from '../../core/alerts/alert.ts';
import { scheduleOf } from '../../core/alerts/run-observations.ts';
import {
  observeDisk,
  observeFeed,
  observeSchedules,
  observeService,
  observeWorkers,
  type ScheduleState,
} from '../../core/alerts/state-alerts.ts';
import type { RunRecord } from '../../core/run/run.ts';
import { overdueTick } from '../../core/time/ticks.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { freeBytesAt } from '../health/disk.ts';
import { jobsWithoutWorker } from '../runs/run-status.ts';
import { readSchedule, type TickSource } from '../schedules/schedule.ts';
import { serviceIdentityOf } from '../service/service-settings.ts';
import { sendHeartbeat, sendMessage } from './receiver.ts';

const pollEveryMs = 15_000;

/** How long the end of a process waits for the receiver. */
const lastSendMs = 10_000;

/** Of the outbox: one receiver takes them one after the other. */
const messagesAtOnce = 20;

export class AlertKeeper {
  readonly #app: App;
  readonly #log: Logger;
  readonly #by: string;
  /** What this process last wrote of each kind: only a change is a transaction. */
  readonly #written = new Map<string, string>();

  /** `role`: what the process does, as `worker`. */
  constructor(app: App, log: Logger, role: 'worker' | 'serve') {
    this.#app = app;
    this.#log = log;
    this.#by = `${role}@${hostname()}`;
  }

  /** Called at least once for a run that ended. */
  async recordRunEnd(runId: string): Promise<void> {
    const { heartbeatUrl, heartbeatJobs } = this.#app.config.alerts;
    if (heartbeatUrl === undefined) return;
    await this.#quietly(async () => {
      const run = await this.#app.ledger.runs.read(runId);
      if (run?.report?.state !== 'done' || !heartbeatJobs.includes(run.job) || !isNight(run)) return;
      const { isTaken, reason } = await sendHeartbeat(this.#app.config.alerts);
      if (!isTaken) this.#log.warn({ because: reason }, 'the heartbeat could not be sent');
    });
  }

  /** Observes the service and sends what waits, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      await this.#quietly(async () => {
        const { serviceHold } = await this.#app.queue('lasting');
        const [hold, outage] = [await serviceHold.read(), await serviceHold.readOutage()];
        const { dataDir, alerts } = this.#app.config;
        const { maxHoldMs } = alerts;
        const { key } = serviceIdentityOf(this.#app.config);
        const seen = [
          ...observeService(key, { hold, outage }, maxHoldMs),
          observeDisk(`${hostname()}:${dataDir}`, await freeBytesAt(dataDir)),
          ...(isFirst ? [] : [observeWorkers(await jobsWithoutWorker(this.#app))]),
        ];
        // A short command writes nothing where all is well.
        if (!isFirst || seen.some(({ found }) => found.length > 0)) await this.#write(seen, Date.now());
      });
      await this.#send();
      await sleep(pollEveryMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Observes the schedules of the ledger as they were read after `atMs`. */
  async recordSchedules(schedules: readonly StoredSchedule[], ticksOf: TickSource, atMs: number): Promise<void> {
    const states = schedules.flatMap((each) => stateOf(each, ticksOf, atMs) ?? []);
    await this.#quietly(() => this.#write([observeSchedules(states)], atMs));
  }

  /** `fault`: why the feed could not be published, undefined where it was, or nothing was due. */
  async recordFeed(address: string, fault: string | undefined): Promise<void> {
    await this.#quietly(() => this.#write([observeFeed(address, fault)], Date.now()));
  }

  /** What waits when a process ends, such as a night by cron. */
  async sendLast(): Promise<void> {
    await Promise.race([this.#send(), sleep(lastSendMs, { ref: false })]);
  }

  async #write(observations: readonly Observation[], atMs: number): Promise<void> {
    const keyOf = ({ kind, observed }: Observation): string => JSON.stringify([kind, observed]);
    const news = observations.filter((each) => this.#written.get(keyOf(each)) !== JSON.stringify(each.found));
    if (news.length === 0) return;
    await this.#app.ledger.alerts.observe(news, { by: this.#by, atMs });
    for (const each of news) this.#written.set(keyOf(each), JSON.stringify(each.found));
  }

  async #send(): Promise<void> {
    const { ledger, warehouse, config } = this.#app;
    if (config.alerts.url === undefined) return;
    await this.#quietly(async () => {
      const { outbox } = ledger.alerts;
      const messages = await outbox.take(messagesAtOnce, Date.now());
      for (const [index, message] of messages.entries()) {
        const { isTaken, reason } = await sendMessage(message, warehouse.location, config.alerts);
        if (!isTaken) {
          this.#log.warn({ alert: message.id, because: reason }, 'an alert could not be sent: it waits');
          await outbox.release(messages.slice(index).map(({ id }) => id));
          return;
        }
        await outbox.settle([message.id], Date.now());
      }
    });
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.debug({ because: String(error) }, 'alerts could not be kept');
    }
  }
}

/** Of a schedule, or over all wells of a source; and it opened no error. A backfill of one well is no night. */
function isNight({ actor, params, report }: RunRecord): boolean {
  const hasSource = nightParams.safeParse(params).success;
  const isOfSchedule = scheduleOf(actor) !== undefined;
  return (hasSource || isOfSchedule) && !report?.alerts?.some(({ severity }) => severity === 'error');
}

const nightParams = z.object({ source: z.string() });

/** Undefined for a schedule of another version, which has processes of its own. */
function stateOf(stored: StoredSchedule, ticksOf: TickSource, atMs: number): ScheduleState | undefined {
  const definition = readSchedule(stored)?.definition;
  if (definition === undefined) return undefined;
  const { name, lastTick, paused, sinceMs } = stored;
  const taken = { sinceMs: Math.max(sinceMs, lastTick?.dueMs ?? 0), nowMs: atMs };
  const overdueMs = overdueTick(ticksOf(definition), taken);
  return { name, job: definition.job, isPaused: paused !== undefined, overdueMs, lastTick };
}
