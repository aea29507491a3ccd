/** The limits towards the service over all processes (G9), and those of memory (G8). */
import type { Evidence, StormEvent, Violation } from '../evidence.ts';
import { disturbancesIn } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { violated } from './tables.ts';

export function checkLimits(evidence: Evidence, rules: CheckRules): readonly Violation[] {
  return [
    ...violationsOfConcurrency(evidence, rules),
    ...[1, 10].flatMap((seconds) => violationsOfRate(evidence, seconds)),
    ...violationsOfHolds(evidence, rules),
    ...violationsOfMemory(evidence),
  ];
}

/** The processes of a worker together stay below their setting. */
function violationsOfMemory({ peakMb = {}, settings: { memoryMb = Infinity } }: Evidence): readonly Violation[] {
  return Object.entries(peakMb).flatMap(([name, peak]) =>
    peak <= memoryMb ? [] : [violated('G8', `${name} had ${Math.round(peak)} MB, and may have ${memoryMb}`)],
  );
}

function violationsOfConcurrency({ service, settings }: Evidence, { extraAtOnce }: CheckRules): readonly Violation[] {
  const most = settings.concurrency + extraAtOnce;
  const { mostAtOnce, mostAtMs: atMs } = service;
  if (mostAtOnce <= most) return [];
  return [violated('G9', `${mostAtOnce} requests were under way at one time, and ${most} may be`, { atMs })];
}

/**
 * Requests are spread evenly, so that a span of time has no more than its share and one. Those that hold a lease already may
 * arrive together, where a process or the wire stood still: at most as many as may be under way.
 */
function violationsOfRate({ service, settings }: Evidence, seconds: number): readonly Violation[] {
  const most = settings.requestsPerSecond * seconds + 1 + settings.concurrency;
  const arrived = service.requests.map(({ arrivedMs }) => arrivedMs).toSorted((left, right) => left - right);
  const atMs = arrived.find(
    (fromMs, index) => (arrived[index + Math.floor(most)] ?? Infinity) < fromMs + seconds * 1_000,
  );
  if (atMs === undefined) return [];
  return [violated('G9', `more than ${most} requests came within ${seconds} s`, { atMs })];
}

/**
 * Nothing is sent while the service asks all to wait, but for what was admitted in the instant before. A person may release a
 * hold; a hold that the storm kept from coming through is known to nobody.
 */
function violationsOfHolds(evidence: Evidence, { holdGraceMs }: CheckRules): readonly Violation[] {
  const releases = evidence.calls
    .filter(({ words }) => /service.*release/.test(words.join(' ')))
    .map(({ atMs }) => atMs);
  return evidence.service.holds.flatMap((hold) => {
    const fromMs = hold.fromMs + holdGraceMs;
    const untilMs = Math.min(hold.untilMs, ...releases.filter((atMs) => atMs >= hold.fromMs));
    const beside = disturbancesIn(evidence, { fromMs: hold.fromMs - holdGraceMs, toMs: fromMs });
    if (beside.some(keepsBack)) return [];
    const wiped = disturbancesIn(evidence, { fromMs: hold.fromMs, toMs: untilMs }).some(({ kind }) =>
      kind.includes('wipe'),
    );
    const early = evidence.service.requests.filter(({ arrivedMs }) => arrivedMs > fromMs && arrivedMs < untilMs);
    const [first] = early;
    if (first === undefined || wiped) return [];
    const what = `${early.length} requests came while the service asked all to wait`;
    return [violated('G9', what, { atMs: first.arrivedMs, hold, requests: early.slice(0, 5).map(({ no }) => no) })];
  });
}

/** Whether a hold that was answered meanwhile may have come to nobody, or not to the queue: who asked died, or the wire was away. */
function keepsBack({ kind, at }: StormEvent): boolean {
  if (kind.startsWith('bytes-')) return at === 'service' || at === 'redis';
  return /^(?:kill|stop|term|failpoint|redis|failover|takeover|outage)/.test(kind);
}
