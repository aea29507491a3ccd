/** The schedules of a standing worker: written from the configuration at its start, and looked after while it works. */
import { hostname } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { faultOf, outagePartOf, type OutageRecord, PermanentError, UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { decideUnit } from '../../core/run/retry-decision.ts';
import { isFinished } from '../../core/run/run.ts';
import { type DueTick, dueTick } from '../../core/time/schedule-ticks.ts';
import type { NextTick } from '../../queue/port.ts';
import { OutageJournal } from '../../runs/outage-journal.ts';
import { newRunId } from '../../runs/run-service.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule, TakenTick } from '../../warehouse/port/runs.ts';
import { AlertKeeper } from '../alerts/keeper.ts';
import type { App } from '../app.ts';
import { selectionRun } from '../cleanups/plan.ts';
import { requestDailyProduction } from '../exports/daily-production.ts';
import { definitionExport, requestDefinitions } from '../exports/definitions.ts';
import type { JobRequest } from '../runs/start-run.ts';
import { requestVerification } from '../wells/verification.ts';
import { applySchedules, keepInQueue, refusalOf } from './apply-schedules.ts';
import { actorOfTicks, cronTicks, type Schedule, scheduleOf, type TickSource } from './schedule.ts';

interface SchedulerOptions {
  readonly app: App;
  readonly log: Logger;
  readonly outages: OutageRecord;
  readonly alerts: AlertKeeper;
  /** By default those of the crons; tests set others. */
  readonly ticksOf?: TickSource;
  /** Between two looks for ticks that the queue has lost, and for schedules that other hosts have written. */
  readonly pollEveryMs?: number;
}

/** A tick may come to a host whose clock is a little behind that of the host which judged it due. */
const clocksApartMs = 10_000;

export class Scheduler {
  readonly #app: App;
  readonly #log: Logger;
  readonly #outages: OutageRecord;
  readonly #alerts: AlertKeeper;
  readonly #ticksOf: TickSource;
  readonly #pollEveryMs: number;
  #logged: string | undefined;

  constructor({ app, log, outages, alerts, ticksOf = cronTicks, pollEveryMs = 30_000 }: SchedulerOptions) {
    this.#app = app;
    this.#log = log;
    this.#outages = outages;
    this.#alerts = alerts;
    this.#ticksOf = ticksOf;
    this.#pollEveryMs = pollEveryMs;
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
      this.#recordFault(error);
    }
  };

  /** Works until the signal aborts; ends at once where neither the configuration nor the ledger knows a schedule. */
  async keep(signal: AbortSignal): Promise<void> {
    let isApplied = false;
    while (!signal.aborted) {
      try {
        if (!isApplied) await this.#apply();
        isApplied = true;
        if (!(await this.#takeDue())) return;
      } catch (error) {
        if (!signal.aborted && decideUnit(error) !== 'hand-back') this.#recordFault(error);
      }
      await sleep(this.#pollEveryMs, { signal }).catch(() => undefined);
    }
  }

  /** To be called when a command has changed the schedules: their ticks are kept in the queue at once. */
  readNow(): void {
    this.#takeDue().catch((error: unknown) => this.#recordFault(error));
  }

  /** Returns whether there are schedules to look after. */
  async #takeDue(): Promise<boolean> {
    const readAtMs = Date.now();
    const { revision, schedules } = await this.#app.ledger.schedules.read();
    if (revision === undefined) return false;
    await keepInQueue(this.#app, schedules, this.next);
    // Before the ticks are taken, so that one that is late is told of, and then over.
    await this.#alerts.recordSchedules(schedules, this.#ticksOf, readAtMs);
    for (const schedule of schedules) await this.#take(schedule, Date.now());
    return true;
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
      this.#logOnce(`${stored.name}: ${error.message}`);
    }
  }

  #recordFault(error: unknown): void {
    const part = outagePartOf(error);
    if (part !== undefined) this.#outages.down(part, faultOf(error).message);
    else if (decideUnit(error) !== 'hand-back') this.#log.warn({ err: error }, 'schedules could not be looked after');
  }

  #logOnce(words: string): void {
    if (words !== this.#logged) this.#log.warn({ because: words }, 'a schedule cannot be worked');
    this.#logged = words;
  }
}

/**
 * What happens at a tick: a run is started, once, unless its target is busy, the schedule is paused, or the tick was
 * missed (docs/operating.md). Any number of processes may take one tick: the ledger gives it to one of them.
 */
interface TickContext {
  readonly app: App;
  readonly log: Logger;
  readonly ticksOf: TickSource;
}

/**
 * Takes the last tick that is due and was not taken, if there is one. Throws for a part that is away: the tick stays due.
 */
export async function takeTick(schedule: Schedule, context: TickContext, nowMs: number): Promise<void> {
  const { stored, definition } = schedule;
  const { lastTick, sinceMs } = stored;
  if (lastTick?.outcome === 'starting') await start(schedule, lastTick, context, nowMs);
  const since = Math.max(sinceMs, lastTick?.dueMs ?? 0);
  const due = dueTick(context.ticksOf(definition), { sinceMs: since, nowMs, catchUp: definition.catchUp });
  if (due === undefined) return;
  const tick = await decide(schedule, due, context.app, nowMs);
  if (!(await context.app.ledger.schedules.take(stored, tick))) return;
  if (tick.outcome === 'starting') await start(schedule, tick, context, nowMs);
  else logTick(schedule, tick, context.log);
}

async function decide(
  { stored: { paused, lastRunId, lastTick } }: Schedule,
  { dueMs, isMissed }: DueTick,
  { ledger }: App,
  nowMs: number,
): Promise<TakenTick> {
  if (paused !== undefined) return { dueMs, outcome: 'skipped', words: `paused by ${paused.by}` };
  if (isMissed) return { dueMs, outcome: 'missed', words: 'nobody took it in time' };
  // The run of a tick that another process took and died at has just been made.
  const lastId = (lastTick?.outcome === 'starting' ? lastTick.runId : undefined) ?? lastRunId;
  const last = lastId === undefined ? undefined : await ledger.runs.readHead(lastId);
  if (last !== undefined && !isFinished(last.state)) {
    return { dueMs, outcome: 'skipped', words: `its run ${last.runId} has not ended` };
  }
  return { dueMs, outcome: 'starting', runId: newRunId(nowMs) };
}

/** Makes the run of a tick that was taken, also one that another process took and died before. */
async function start(schedule: Schedule, tick: TakenTick, context: TickContext, nowMs: number): Promise<void> {
  const { app, log } = context;
  const settled = await startRun(schedule, tick, app, nowMs).catch((error: unknown): TakenTick => {
    if (!(error instanceof UsageError || error instanceof PermanentError)) throw error;
    return { dueMs: tick.dueMs, outcome: 'failed', words: faultOf(error).message };
  });
  await app.ledger.schedules.settle(schedule.stored.name, settled);
  logTick(schedule, settled, log);
}

async function startRun(schedule: Schedule, tick: TakenTick, app: App, nowMs: number): Promise<TakenTick> {
  const { dueMs, runId = newRunId(nowMs) } = tick;
  const actor = `${actorOfTicks(schedule.stored.name)}${hostname()}`;
  const started = { dueMs, outcome: 'started', runId } as const;
  if ((await app.ledger.runs.readHead(runId)) !== undefined) return started;
  const { job, params, ...details } = await scheduledRequest(schedule, app, { requestedBy: actor, nowMs });
  const runService = await app.runService();
  try {
    const { unfinished } = await runService.startOnce(job, params, { actor, runId, ...details });
    if (unfinished === undefined) return started;
    return { dueMs, outcome: 'skipped', words: `run ${unfinished.runId} for the same work has not ended` };
  } catch (error) {
    // Another process that continues the same tick has made it.
    if ((await app.ledger.runs.readHead(runId)) !== undefined) return started;
    throw error;
  }
}

function logTick({ stored: { name } }: Schedule, { dueMs, outcome, runId, words }: TakenTick, log: Logger): void {
  const fields = {
    schedule: name,
    due: instantText(dueMs),
    ...(runId !== undefined && { runId }),
    ...(words !== undefined && { because: words }),
  };
  if (outcome === 'started') log.info(fields, 'a schedule started a run');
  else if (outcome === 'failed') log.error(fields, 'a schedule could not start its run');
  else log.warn(fields, `a schedule was ${outcome}`);
}

// The run that a schedule asks for, as the commands make it.

interface ScheduledBy {
  readonly requestedBy: string;
  readonly nowMs: number;
}

/**
 * The run of a schedule, for a tick, a command and the API alike: it is kept as one of the schedule. Throws UsageError for
 * names and files that cannot be used. A relative path begins at the folder of the configuration.
 */
export async function scheduledRequest(schedule: Schedule, app: App, by: ScheduledBy): Promise<JobRequest> {
  const { job, params, targets } = await requestOfJob(schedule, app, by);
  return { job, params, ...(targets && { targets }), schedule: schedule.stored.name };
}

async function requestOfJob(
  { stored, definition }: Schedule,
  app: App,
  { requestedBy, nowMs }: ScheduledBy,
): Promise<JobRequest> {
  const stdin = Readable.from([]);
  const placed = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : path.resolve(app.config.folder, file);
  if (definition.job === 'cleanup') return selectionRun(definition.parameters.selection, requestedBy, app);
  if (definition.job === 'export daily-production') {
    const { wells: uwis, wellsFile, lookback: lookbackDays, ...flags } = definition.parameters;
    const input = { ...flags, uwis, wellsFile: placed(wellsFile), lookbackDays };
    return requestDailyProduction(app, input, { stdin, nowMs, schedule: stored.name });
  }
  if (definition.job === 'verify daily-production') {
    const { wells: uwis, ...others } = definition.parameters;
    return requestVerification(app, { uwis, ...others }, { nowMs });
  }
  const exported = definitionExport(({ job }) => job === definition.job);
  const { fromWarehouse, allowShrink, file, ...named } = definition.parameters;
  const names = (named as Partial<Record<string, readonly string[]>>)[exported.member];
  const input = { names, file: placed(file), fromWarehouse, allowShrink };
  return requestDefinitions(app, exported, input, { stdin });
}

const pollEveryMs = 60_000;

/**
 * Tells by alerts of ticks that no worker takes, and sends what waits, until the signal aborts: for a process that works no
 * queue, and lives when all workers are gone.
 */
export async function watchSchedules(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  const alerts = new AlertKeeper(app, log, { role: 'serve', outages: new OutageJournal(log), hasScheduler: true });
  void alerts.keep(signal);
  while (!signal.aborted) {
    try {
      const atMs = Date.now();
      const { schedules } = await app.ledger.schedules.read();
      await alerts.recordSchedules(schedules, cronTicks, atMs);
    } catch (error) {
      log.debug({ because: String(error) }, 'schedules could not be looked at');
    }
    await sleep(pollEveryMs, { signal, ref: false }).catch(() => undefined);
  }
}
