/** Numbers by which a storm is judged, where the documents leave room. */
import type { Evidence } from '../evidence.ts';

export interface CheckRules {
  /** Requests that may be under way beside `settings.concurrency`: of commands that a storm without Redis adds. */
  readonly extraAtOnce: number;
  /** How long after a hold began a request may arrive that was admitted in the instant before (G9). */
  readonly holdGraceMs: number;
  /** Work continues within a minute (G7). */
  readonly longestPauseMs: number;
  /** By how much the clocks of two hosts are apart: a time that a worker wrote may be so much before or after. */
  readonly clocksApartMs: number;
  /** In which a tick of the quiet time is taken: a worker asks for lost ones every 30 s. */
  readonly tickWaitMs: number;
  /** In which runs end that were requested before the quiet time: nothing is disturbed in it (G7). */
  readonly calmEndMs: number;
  /** Two clocks of one host, and what a process takes between a time and what it says of it. */
  readonly clockSlackMs: number;
  /** How long after the end of a run a request of it may arrive, that a slow wire held back. */
  readonly lateRequestMs: number;
  /** A request that took longer may have been given up by its client, and have been worked by the service all the same. */
  readonly givenUpAfterMs: number;
  /** How long a message to the receiver of alerts may wait at the end. */
  readonly messageWaitMs: number;
}

const defaultRules: CheckRules = {
  extraAtOnce: 0,
  holdGraceMs: 500,
  longestPauseMs: 60_000,
  tickWaitMs: 45_000,
  calmEndMs: 120_000,
  clocksApartMs: 1,
  clockSlackMs: 1_000,
  lateRequestMs: 2_000,
  givenUpAfterMs: 5_000,
  // Above the minute after which another process takes a message over; short storms are over by then.
  messageWaitMs: 80_000,
};

/** The rules of a storm: with hosts whose clocks are apart, times of two of them are compared by as much less. */
export function rulesOf({ clockOffsetMs = 0 }: Evidence, given: Partial<CheckRules>): CheckRules {
  const offMs = Math.abs(clockOffsetMs);
  const { clocksApartMs, clockSlackMs, lateRequestMs } = defaultRules;
  return {
    ...defaultRules,
    clocksApartMs: clocksApartMs + offMs,
    clockSlackMs: clockSlackMs + offMs,
    lateRequestMs: lateRequestMs + offMs,
    ...given,
  };
}
