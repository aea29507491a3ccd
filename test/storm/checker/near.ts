/** What happened around a violation, for whoever reads of it. */
import type { Evidence, Violation } from '../evidence.ts';

/** Events, calls, and requests with a fault within `spanMs` of a violation, a line each, in order; none without a time. */
export function near(evidence: Evidence, { atMs }: Violation, spanMs = 5_000): readonly string[] {
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

function signed(seconds: number): string {
  return `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(1)}`;
}
