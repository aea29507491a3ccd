/** What happened around a violation, for whoever reads of it. */
import type { Evidence, Violation } from '../evidence.ts';

/**
 * Events, calls, and requests with a fault within `spanMs` of a violation, a line each, in order. Without a time of its own it
 * happened at the last change of its record or well, if at all.
 */
export function near(evidence: Evidence, violation: Violation, spanMs = 5_000): readonly string[] {
  const atMs = violation.atMs ?? lastChangeMs(evidence, violation);
  if (atMs === undefined) return [];
  const events = evidence.events.map(({ atMs: fromMs, untilMs = fromMs, kind, at, detail }) => {
    const lasted = untilMs > fromMs ? ` for ${((untilMs - fromMs) / 1_000).toFixed(1)} s` : '';
    return {
      fromMs,
      untilMs,
      words: `${kind} of ${at}${lasted}${detail === undefined ? '' : ` ${JSON.stringify(detail)}`}`,
    };
  });
  const calls = evidence.calls.map(({ atMs: fromMs, endedMs: untilMs, words, code, runId }) => {
    return {
      fromMs,
      untilMs,
      words: `called ${words.join(' ')}: ${code ?? 'killed'}${runId === undefined ? '' : `, ${runId}`}`,
    };
  });
  const requests = evidence.service.requests.flatMap(
    ({ no, arrivedMs, answeredMs = arrivedMs, endpoint, target, fault, status }) => {
      if (fault === undefined) return [];
      return [
        { fromMs: arrivedMs, untilMs: answeredMs, words: `request ${no} ${endpoint} ${target}: ${fault}, ${status}` },
      ];
    },
  );
  return [...events, ...calls, ...requests]
    .filter(({ fromMs, untilMs }) => fromMs <= atMs + spanMs && untilMs >= atMs - spanMs)
    .toSorted((left, right) => left.fromMs - right.fromMs)
    .map(({ fromMs, words }) => `${signed((fromMs - atMs) / 1_000)} s  ${words}`);
}

function lastChangeMs({ service }: Evidence, { detail = {} }: Violation): number | undefined {
  const { uwi, xid } = detail;
  if (uwi === undefined) return undefined;
  return service.mutations.findLast((each) => each.uwi === uwi && (xid === undefined || each.xid === xid))?.atMs;
}

function signed(seconds: number): string {
  return `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(1)}`;
}
