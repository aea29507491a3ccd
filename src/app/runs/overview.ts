/** What an operator wants to know first: what ran, what needs a person, what comes next. */
import { hasExceptions } from '../../core/run/job-description.ts';
import { isFinished, type RunState } from '../../core/run/run.ts';
import { DAY_MS } from '../../core/time/window.ts';
import type { WorkerCount } from '../../queue/port.ts';
import type { WaitingMessages } from '../../warehouse/port/alerts.ts';
import { type AlertGroup, groupsOf, listAlerts } from '../alerts/alerts.ts';
import type { App } from '../app.ts';
import { listSchedules } from '../schedules/schedule.ts';
import { type HeldBack, notHeldBack, readHeldBack } from '../service/service-requests.ts';
import { needsOfRetry, type RetryNeeds } from './retry.ts';
import { jobDescriptionOf, listRuns, type RunListDocument } from './run-status.ts';

interface NextRun {
  readonly name: string;
  readonly job: string;
  /** ISO 8601. */
  readonly next: string | null;
  readonly isPaused: boolean;
}

const mostNext = 8;

export interface Overview {
  readonly nowMs: number;
  /** The latest runs. */
  readonly list: RunListDocument;
  /** Runs that have not ended, the newest first. */
  readonly underWay: RunListDocument;
  /** Runs requested in the last 24 hours. */
  readonly night: Readonly<Record<'done' | 'exceptions' | 'failed' | 'running' | 'cancelled', number>>;
  /** What needs a person: open alerts by cause, errors first. */
  readonly alerts: readonly AlertGroup[];
  /** By run, what its retry needs; without runs whose retry is confirmed by a number, on their own pages. */
  readonly retries: ReadonlyMap<string, RetryNeeds>;
  /** What a person has acknowledged. */
  readonly acknowledged: readonly AlertGroup[];
  /** Messages that the receiver of alerts does not take. */
  readonly waiting: WaitingMessages;
  readonly heldBack: HeldBack;
  readonly next: readonly NextRun[];
  /** Undefined where Redis does not answer. */
  readonly workers: readonly WorkerCount[] | undefined;
}

const latestRuns = 5;
const mostUnderWay = 10;
/** A night has fewer. */
const mostRunsOfDay = 500;
/** Of one cause there may be thousands. */
const mostAlerts = 5_000;

/** Throws UnreachableError for a warehouse that does not answer; does without Redis. */
export async function overviewOf(app: App, nowMs: number): Promise<Overview> {
  const list = await listRuns(app, { limit: latestRuns });
  const underWay = await listRuns(app, { limit: mostUnderWay, states: ['queued', 'running'] });
  const { runs } = await app.ledger.runs.list({ limit: mostRunsOfDay, sinceMs: nowMs - DAY_MS });
  const night = { done: 0, exceptions: 0, failed: 0, running: 0, cancelled: 0 };
  for (const { state, job: name, settled } of runs) {
    const job = jobDescriptionOf(name, app.jobs);
    night[kindOf(state, settled !== undefined && hasExceptions(settled, job))] += 1;
  }
  const groupsIn = async (state: 'open' | 'acknowledged'): Promise<readonly AlertGroup[]> =>
    groupsOf((await listAlerts(app, { limit: mostAlerts, nowMs, states: [state] })).alerts);
  const [open, acknowledged] = [await groupsIn('open'), await groupsIn('acknowledged')];
  const { heldBack, workers } = await liveOf(app);
  return {
    nowMs,
    list,
    underWay,
    night,
    alerts: open,
    retries: await retriesOf(app, [...open, ...acknowledged]),
    acknowledged,
    waiting: await app.ledger.alerts.outbox.waiting(nowMs),
    heldBack,
    next: await nextOf(app, nowMs),
    workers,
  };
}

function kindOf(state: RunState, isDoneWithExceptions: boolean): keyof Overview['night'] {
  if (!isFinished(state)) return 'running';
  if (state === 'failed') return 'failed';
  if (state !== 'done') return 'cancelled';
  return isDoneWithExceptions ? 'exceptions' : 'done';
}

async function retriesOf(app: App, groups: readonly AlertGroup[]): Promise<ReadonlyMap<string, RetryNeeds>> {
  const retries = new Map<string, RetryNeeds>();
  for (const runId of new Set(groups.flatMap(({ retriedRunId }) => retriedRunId ?? []))) {
    const run = await app.ledger.runs.readHead(runId);
    const needs = run && (await needsOfRetry(app, run));
    if (needs !== undefined && needs.openTargets === undefined) retries.set(runId, needs);
  }
  return retries;
}

/** Whether nobody works at all; undefined where that is not known. */
export function isUnworked({ workers }: Pick<Overview, 'workers'>): boolean | undefined {
  return workers === undefined ? undefined : workers.every(({ workers: count }) => count === 0);
}

/** The schedules whose ticks come first. */
async function nextOf(app: App, nowMs: number): Promise<readonly NextRun[]> {
  const { schedules } = await listSchedules(app, nowMs);
  return schedules
    .map(({ name, job, next, paused }) => ({ name, job, next, isPaused: paused !== null }))
    .toSorted((left, right) => instantOf(left.next) - instantOf(right.next))
    .slice(0, mostNext);
}

function instantOf(next: string | null): number {
  return next === null ? Infinity : Date.parse(next);
}

async function liveOf(app: App): Promise<Pick<Overview, 'heldBack' | 'workers'>> {
  try {
    return { heldBack: await readHeldBack(app), workers: await (await app.queue('prompt')).workers() };
  } catch {
    // The list says that Redis does not answer.
    return { heldBack: notHeldBack, workers: undefined };
  }
}
