/**
 * What happens at a tick: a run is started, once, unless its target is busy, the schedule is paused, or the tick was missed
 * (docs/schedules.md). Any number of processes may take one tick: the ledger gives it to one of them.
 */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { faultOf, PermanentError, UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { isFinished } from '../../core/run/run.ts';
import { type DueTick, dueTick } from '../../core/schedule/due.ts';
import { newRunId } from '../../runs/run-service.ts';
import type { TakenTick } from '../../warehouse/port/schedules.ts';
import type { App } from '../app.ts';
import type { Schedule, TickSource } from './schedule.ts';
import { scheduledRequest } from './scheduled-request.ts';

export interface TickContext {
  readonly app: App;
  readonly log: Logger;
  readonly ticksOf: TickSource;
}

/** The actor of its runs. */
function actorOf({ stored: { name } }: Schedule): string {
  return `schedule/${name}@${hostname()}`;
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
  else tell(schedule, tick, context.log);
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
  tell(schedule, settled, log);
}

async function startRun(schedule: Schedule, tick: TakenTick, app: App, nowMs: number): Promise<TakenTick> {
  const { dueMs, runId = newRunId(nowMs) } = tick;
  const actor = actorOf(schedule);
  const started = { dueMs, outcome: 'started', runId } as const;
  if ((await app.ledger.runs.readHead(runId)) !== undefined) return started;
  const { job, params, targets } = await scheduledRequest(schedule, app, { requestedBy: actor, nowMs });
  const runService = await app.runService();
  try {
    const { unfinished } = await runService.startOnce(job, params, { actor, runId, ...(targets && { targets }) });
    if (unfinished === undefined) return started;
    return { dueMs, outcome: 'skipped', words: `run ${unfinished.runId} for the same work has not ended` };
  } catch (error) {
    // Another process that continues the same tick has made it.
    if ((await app.ledger.runs.readHead(runId)) !== undefined) return started;
    throw error;
  }
}

function tell({ stored: { name } }: Schedule, { dueMs, outcome, runId, words }: TakenTick, log: Logger): void {
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
