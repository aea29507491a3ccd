/** Work that stands still (G7): in the quiet time, and after a kill with nothing else away. */
import type { Evidence, StormEvent, Violation } from '../evidence.ts';
import { dailyUnits, disturbancesIn, isKill, isUnderWay, type Ledger } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { violated } from './tables.ts';

export function checkPauses(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  return [
    ...violationsOfCalm(evidence, ledger, rules),
    ...violationsOfEnds(evidence, ledger, rules),
    ...violationsOfKills(evidence, ledger, rules),
  ];
}

/** When something went on: requests, and ends of runs. In order. */
function marksOf({ service }: Evidence, { runs }: Ledger): readonly number[] {
  const ofRequests = service.requests.map(({ arrivedMs }) => arrivedMs);
  const ofRuns = [...runs.values()].flatMap(({ finishedMs = [] }) => finishedMs);
  return [...ofRequests, ...ofRuns].toSorted((left, right) => left - right);
}

/** How much of a time the service asked for, that nobody sends. */
function heldMs({ service }: Evidence, fromMs: number, toMs: number): number {
  return service.holds.reduce((sum, hold) => {
    return sum + Math.max(0, Math.min(toMs, hold.untilMs) - Math.max(fromMs, hold.fromMs));
  }, 0);
}

/** While a run has not ended, something goes on within a minute. */
function violationsOfCalm(evidence: Evidence, ledger: Ledger, { longestPauseMs }: CheckRules): readonly Violation[] {
  const { calmMs, endedMs } = evidence;
  const marks = marksOf(evidence, ledger).filter((atMs) => atMs > calmMs && atMs < endedMs);
  const bounds = [calmMs, ...marks, endedMs];
  return bounds.slice(1).flatMap((toMs, index) => {
    const fromMs = bounds[index] ?? calmMs;
    const waitedMs = toMs - fromMs - heldMs(evidence, fromMs, toMs);
    const waiting = [...ledger.runs.values()].filter(({ requestedMs, finishedMs = Infinity }) => {
      return requestedMs <= fromMs && finishedMs >= toMs;
    });
    if (waitedMs <= longestPauseMs || waiting.length === 0) return [];
    const what = `nothing went on for ${Math.round(waitedMs / 1_000)} s of the quiet time, and runs had not ended`;
    return [violated('G7', what, { atMs: fromMs, runIds: waiting.map(({ id }) => id) })];
  });
}

/**
 * Each run that was under way ends in the quiet time, and each one that was killed in it. Beside it the ticks of a schedule go on, so that one that stands still is
 * seen by its own end alone.
 */
function violationsOfEnds(evidence: Evidence, { runs }: Ledger, { calmEndMs }: CheckRules): readonly Violation[] {
  const { calmMs, endedMs } = evidence;
  const killedMs = evidence.events.find(({ detail }) => detail?.['isAtWork'] === true)?.atMs ?? -Infinity;
  return [...runs.values()].flatMap(({ id, requestedMs, finishedMs = endedMs }) => {
    const isKilled = requestedMs <= killedMs && finishedMs >= killedMs;
    if (requestedMs >= calmMs && !isKilled) return [];
    const fromMs = requestedMs < calmMs ? calmMs : killedMs;
    const tookMs = finishedMs - fromMs - heldMs(evidence, fromMs, finishedMs);
    if (tookMs <= calmEndMs) return [];
    const what = `run ${id} took ${Math.round(tookMs / 1_000)} s of the quiet time to end`;
    return [violated('G7', what, { atMs: fromMs, runId: id })];
  });
}

/** Kills of several processes, so near to each other, are one. */
const oneKillMs = 1_000;

/** In which a request may arrive that was sent before the kill. */
const underWayMs = 200;

/** A kill within work, and how long until something went on. */
export interface Recovery {
  readonly kill: StormEvent;
  /** From the kill to the next request that was sent after it; undefined where none came. */
  readonly nextMs: number | undefined;
  /** What else was away meanwhile: `processes`, or the names of servers, each once. */
  readonly away: readonly string[];
}

/** The kills that fell into unfinished work. A time that the service asked for is no time of a recovery. */
export function recoveriesOf(evidence: Evidence, ledger: Ledger): readonly Recovery[] {
  const arrived = evidence.service.requests.toSorted((left, right) => left.arrivedMs - right.arrivedMs);
  const kills = evidence.events.filter(isKill).toSorted((left, right) => left.atMs - right.atMs);
  const apart = kills.filter(({ atMs }, index) => atMs - (kills[index - 1]?.atMs ?? -Infinity) > oneKillMs);
  return apart.flatMap((kill) => {
    const { atMs } = kill;
    const working = [...ledger.runs.values()].filter((run) => isUnderWay(run, atMs));
    if (working.length === 0) return [];
    // Whether a killed export goes on, requests for others do not say.
    const next = arrived.find(({ arrivedMs, endpoint }) => {
      return arrivedMs > atMs + underWayMs && (endpoint === 'daily' || kill.detail?.['isAtWork'] === undefined);
    })?.arrivedMs;
    const endMs = next ?? evidence.endedMs;
    const nextMs = next === undefined ? undefined : next - atMs - heldMs(evidence, atMs, next);
    const others = disturbancesIn(evidence, { fromMs: atMs, toMs: endMs }, kill).filter((event) => {
      return !isKill(event) || Math.abs(event.atMs - atMs) > oneKillMs;
    });
    return [{ kill, nextMs, away: [...new Set(others.map(awayOf))].toSorted() }];
  });
}

const ofProcesses: ReadonlySet<string> = new Set(['kill', 'stop', 'term', 'failpoint']);

function awayOf({ kind, at }: StormEvent): string {
  return ofProcesses.has(kind) ? 'processes' : at;
}

/** Work continues by itself within a minute; and the kill at work met some. */
function violationsOfKills(evidence: Evidence, ledger: Ledger, { longestPauseMs }: CheckRules): readonly Violation[] {
  const marks = marksOf(evidence, ledger);
  const atWork = evidence.events.find(({ detail }) => detail?.['isAtWork'] !== undefined);
  const isMissed =
    atWork !== undefined &&
    !dailyUnits(ledger).some(
      ({ run }) => run.requestedMs <= atWork.atMs && (run.finishedMs ?? Infinity) >= atWork.atMs,
    );
  const missed = isMissed ? [violated('storm', 'the kill of the quiet time met no export', { atMs: atWork.atMs })] : [];
  const late = recoveriesOf(evidence, ledger).flatMap(({ kill, away, nextMs }) => {
    const fromMs = kill.untilMs ?? kill.atMs;
    const mark = marks.find((atMs) => atMs > kill.atMs + underWayMs) ?? evidence.endedMs;
    const next = kill.detail?.['isAtWork'] === undefined ? mark : kill.atMs + (nextMs ?? Infinity);
    const waitedMs = Math.min(next, evidence.endedMs) - fromMs - heldMs(evidence, fromMs, next);
    if (away.length > 0 || waitedMs <= longestPauseMs) return [];
    const what = `nothing went on for ${Math.round(waitedMs / 1_000)} s after ${kill.at} was killed, with nothing else away`;
    return [violated('G7', what, { atMs: kill.atMs })];
  });
  return [...missed, ...late];
}
