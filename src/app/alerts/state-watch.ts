/** What a process sees of the installation beside its runs: the service, disks, Redis, the warehouse, workers and schedules. */
import { hostname } from 'node:os';
import {
  leastDownMs,
  type NeededPart,
  type Observation,
  observeDisk,
  observeOutages,
  observeSchedules,
  observeService,
  observeWorkers,
  type ScheduleState,
} from '../../core/alerts/alert.ts';
import {
  AccessError,
  faultOf,
  isBusy,
  OutageError,
  outagePartOf,
  PermanentError,
  RateLimitedError,
} from '../../core/base/errors.ts';
import { roughDurationText } from '../../core/base/text.ts';
import type { ServiceOutage } from '../../core/run/service-hold.ts';
import { overdueTick } from '../../core/time/schedule-ticks.ts';
import type { OutageJournal } from '../../runs/outage-journal.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { freeBytesAt } from '../health/disk.ts';
import { jobsWithoutWorker } from '../runs/run-status.ts';
import { cronTicks, readSchedule, type TickSource } from '../schedules/schedule.ts';
import { tryService, knownWell } from '../service/ask-service.ts';
import { serviceIdentityOf } from '../service/service-settings.ts';

/** Between two requests of this process that try whether the service is up again. */
const askEveryMs = 60_000;

/** How long a look waits for a part: longer than a request that tries the service. */
const patienceMs = 40_000;

export class StateWatch {
  readonly #app: App;
  readonly #outages: OutageJournal;
  /** Parts of which this process itself has recorded an outage: work may see another one. */
  readonly #down = new Set<NeededPart>();
  /** Since when a part is down, of those that last: a figure that stays. */
  #since = new Map<string, number>();
  #nextAskMs = -Infinity;

  constructor(app: App, outages: OutageJournal) {
    this.#app = app;
    this.#outages = outages;
  }

  /**
   * One look. `isServiceAlerted`: whether the service stands as down, which only an answer ends. `withWorkers`: not while
   * this process is beginning to work; `withSchedules`: where nobody else here observes them. What cannot be seen is left out.
   */
  async observe(how: {
    readonly isServiceAlerted: boolean;
    readonly withWorkers: boolean;
    readonly withSchedules: boolean;
  }): Promise<readonly Observation[]> {
    const { dataDir } = this.#app.config;
    const ofService = await this.#using('redis', () => this.#service(how.isServiceAlerted));
    const seen = [...(ofService ?? []), observeDisk(`${hostname()}:${dataDir}`, await freeBytesAt(dataDir))];
    if (how.withWorkers) {
      const unattended = await this.#using('warehouse', () => jobsWithoutWorker(this.#app));
      if (unattended !== undefined) seen.push(observeWorkers(unattended));
    }
    if (how.withSchedules) {
      const atMs = Date.now();
      const read = await this.#using('warehouse', () => this.#app.ledger.schedules.read());
      if (read !== undefined) seen.push(...observationsOf(read.schedules, cronTicks, atMs));
    }
    return [...seen, this.#parts(ofService !== undefined)];
  }

  /** Records that the warehouse could not be written, or undefined, that it could. */
  recordWrite(error: unknown): void {
    if (error === undefined) this.#recordUp('warehouse');
    else this.#recordDown(error);
  }

  /** Undefined where the part, or another one, is down. */
  async #using<T>(part: NeededPart, use: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await withinPatience(use, part);
      // That the warehouse can be read does not tell that it can be written.
      if (part === 'redis') this.#recordUp(part);
      return result;
    } catch (error) {
      if (!this.#recordDown(error)) throw error;
      return undefined;
    }
  }

  #recordUp(part: NeededPart): void {
    if (this.#down.delete(part)) this.#outages.up(part);
  }

  /** Whether the error is of a part that is down. A file that another process holds is none: that one observes. */
  #recordDown(error: unknown): boolean {
    const part = outagePartOf(error);
    if (part !== 'redis' && part !== 'warehouse') return false;
    if (isBusy(error)) return true;
    this.#down.add(part);
    this.#outages.down(part, faultOf(error).message);
    return true;
  }

  /** The observation of a warehouse that can be used is proven by being written. */
  #parts(isRedisUp: boolean): Observation {
    const lasting = this.#outages.lasting();
    const sinceMs = ({ part, forMs }: (typeof lasting)[number]): number => this.#since.get(part) ?? Date.now() - forMs;
    this.#since = new Map(lasting.map((each) => [each.part, sinceMs(each)]));
    const used = new Map<NeededPart, { readonly sinceMs: number; readonly reason: string } | undefined>();
    for (const part of ['redis', 'warehouse'] as const) {
      const outage = lasting.find((each) => each.part === part);
      if (outage === undefined) {
        if (part === 'warehouse' || isRedisUp) used.set(part, undefined);
      } else if (outage.forMs >= leastDownMs) used.set(part, { sinceMs: sinceMs(outage), reason: outage.reason });
    }
    return observeOutages(hostname(), used);
  }

  async #service(isAlerted: boolean): Promise<readonly Observation[]> {
    const { serviceHold } = await this.#app.queue('lasting');
    const hold = await serviceHold.read();
    const found = await serviceHold.readOutage();
    const isAnswered = hold === undefined && this.#mustAsk(found, isAlerted) ? await this.#ask() : undefined;
    const outage = isAnswered === undefined ? found : await serviceHold.readOutage();
    const { key } = serviceIdentityOf(this.#app.config);
    const seen = observeService(key, { hold, outage }, this.#app.config.alerts.maxHoldMs);
    // Nobody tries a service while nothing is queued: that no request failed does not tell that it is up.
    return isAlerted && outage === undefined && isAnswered !== true
      ? seen.filter(({ kind }) => kind !== 'service-down')
      : seen;
  }

  /** Whether it stands as down, and no work has tried it although one request may. */
  #mustAsk(outage: ServiceOutage | undefined, isAlerted: boolean): boolean {
    const isUntried = outage !== undefined && outage.forMs >= leastDownMs && outage.nextTryMs === 0;
    return (isUntried || (isAlerted && outage === undefined)) && performance.now() >= this.#nextAskMs;
  }

  /** Whether the service answered, be it with a refusal. */
  async #ask(): Promise<boolean> {
    this.#nextAskMs = performance.now() + askEveryMs;
    try {
      await tryService(this.#app, await knownWell(this.#app, undefined));
      return true;
    } catch (error) {
      return error instanceof PermanentError || error instanceof AccessError || error instanceof RateLimitedError;
    }
  }
}

/** A connection to Redis that is to last waits for it; the other observations do not. */
async function withinPatience<T>(use: () => Promise<T>, part: NeededPart): Promise<T> {
  const given = new AbortController();
  const late = sleep(patienceMs, { ref: false, signal: given.signal }).then((): never => {
    throw new OutageError(part, `${part}-silent`, `no answer within ${roughDurationText(patienceMs)}`);
  });
  try {
    return await Promise.race([use(), late]);
  } finally {
    given.abort();
    late.catch(() => undefined);
  }
}

/** Of the schedules of the ledger as they were read after `atMs`. */
export function observationsOf(
  schedules: readonly StoredSchedule[],
  ticksOf: TickSource,
  atMs: number,
): readonly Observation[] {
  const states = schedules.flatMap((each) => stateOf(each, ticksOf, atMs) ?? []);
  return states.length === 0 ? [] : [observeSchedules(states)];
}

/** Undefined for a schedule of another version, which has processes of its own. */
function stateOf(stored: StoredSchedule, ticksOf: TickSource, atMs: number): ScheduleState | undefined {
  const definition = readSchedule(stored)?.definition;
  if (definition === undefined) return undefined;
  const { name, lastTick, paused, sinceMs } = stored;
  const taken = { sinceMs: Math.max(sinceMs, lastTick?.dueMs ?? 0), nowMs: atMs };
  const overdueMs = overdueTick(ticksOf(definition), taken);
  return { name, job: definition.job, isPaused: paused !== undefined, overdueMs, lastTick };
}
