/** The schedules of a standing worker: written from the configuration at its start, and looked after while it works. */
import type { Logger } from 'pino';
import { faultOf, UsageError } from '../../core/base/errors.ts';
import { outagePartOf, type OutageRecord } from '../../core/base/outage.ts';
import { decideUnit } from '../../core/run/retry-decision.ts';
import type { NextTick } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/schedules.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { App } from '../app.ts';
import { applySchedules, keepInQueue, refusalOf } from './apply-schedules.ts';
import { cronTicks, scheduleOf, type TickSource } from './schedule.ts';
import { takeTick } from './take-tick.ts';

export interface SchedulerOptions {
  readonly app: App;
  readonly log: Logger;
  readonly outages: OutageRecord;
  readonly alerts: Alerts;
  /** By default those of the crons; tests set others. */
  readonly ticksOf?: TickSource;
  /** Between two looks for ticks that the queue has lost, and for schedules that other hosts have written. */
  readonly lookEveryMs?: number;
}

/** A tick may come to a host whose clock is a little behind that of the host which judged it due. */
const clocksApartMs = 10_000;

export class Scheduler {
  readonly #app: App;
  readonly #log: Logger;
  readonly #outages: OutageRecord;
  readonly #alerts: Alerts;
  readonly #ticksOf: TickSource;
  readonly #lookEveryMs: number;
  #told: string | undefined;

  constructor({ app, log, outages, alerts, ticksOf = cronTicks, lookEveryMs = 30_000 }: SchedulerOptions) {
    this.#app = app;
    this.#log = log;
    this.#outages = outages;
    this.#alerts = alerts;
    this.#ticksOf = ticksOf;
    this.#lookEveryMs = lookEveryMs;
  }

  readonly next: NextTick = (schedule, afterMs) => this.#ticksOf(schedule).next(afterMs);

  /** For the queue: takes a tick of a schedule. A fault is told; the tick stays due, and the next look takes it. */
  readonly take = async (name: string, dueMs: number): Promise<void> => {
    try {
      const { schedules } = await this.#app.ledger.schedules.read();
      const nowMs = Date.now();
      const found = schedules.find((each) => each.name === name);
      if (found !== undefined) await this.#take(found, dueMs > nowMs + clocksApartMs ? nowMs : Math.max(nowMs, dueMs));
    } catch (error) {
      this.#noteFault(error);
    }
  };

  /** Works until the signal aborts; ends at once where neither the configuration nor the ledger knows a schedule. */
  async keep(signal: AbortSignal): Promise<void> {
    let isApplied = false;
    while (!signal.aborted) {
      try {
        if (!isApplied) await this.#apply();
        isApplied = true;
        const readAtMs = Date.now();
        const { revision, schedules } = await this.#app.ledger.schedules.read();
        if (revision === undefined) return;
        await keepInQueue(this.#app, schedules, this.next);
        // Before the ticks are taken, so that one that is late is told of, and then over.
        await this.#alerts.noteSchedules(schedules, this.#ticksOf, readAtMs);
        for (const schedule of schedules) await this.#take(schedule, Date.now());
      } catch (error) {
        if (!signal.aborted && decideUnit(error) !== 'hand-back') this.#noteFault(error);
      }
      await sleep(this.#lookEveryMs, { signal }).catch(() => undefined);
    }
  }

  async #apply(): Promise<void> {
    const application = await applySchedules(this.#app);
    const refusal = application === undefined ? undefined : refusalOf(application, this.#app.config);
    if (refusal !== undefined)
      this.#log.warn({ because: refusal.message, hint: refusal.hint }, 'schedules not applied');
  }

  /** A schedule that cannot be read or started holds up no other. */
  async #take(stored: StoredSchedule, nowMs: number): Promise<void> {
    try {
      await takeTick(scheduleOf(stored), { app: this.#app, log: this.#log, ticksOf: this.#ticksOf }, nowMs);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#tellOnce(`${stored.name}: ${error.message}`);
    }
  }

  #noteFault(error: unknown): void {
    const part = outagePartOf(error);
    if (part !== undefined) this.#outages.down(part, faultOf(error).message);
    else if (decideUnit(error) !== 'hand-back') this.#log.warn({ err: error }, 'schedules could not be looked after');
  }

  #tellOnce(words: string): void {
    if (words !== this.#told) this.#log.warn({ because: words }, 'a schedule cannot be worked');
    this.#told = words;
  }
}
