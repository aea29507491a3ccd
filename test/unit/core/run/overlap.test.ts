/** What --skip-if-running does with the unfinished run that it finds. */
import { expect, test } from 'vitest';
import { decideOverlap, isOutdated } from '../../../../src/core/run/queue-claim.ts';

const stuckAfterMs = 1_800_000;
const [moving, still] = [60_000, 3_600_000];

test.each([
  { isAttended: true, unmovedMs: moving, canWork: true, decision: 'skip' },
  { isAttended: true, unmovedMs: moving, canWork: false, decision: 'skip' },
  { isAttended: true, unmovedMs: still, canWork: true, decision: 'stuck' },
  { isAttended: true, unmovedMs: still, canWork: false, decision: 'stuck' },
  { isAttended: false, unmovedMs: moving, canWork: true, decision: 'go-on' },
  { isAttended: false, unmovedMs: still, canWork: true, decision: 'go-on' },
  { isAttended: false, unmovedMs: moving, canWork: false, decision: 'go-on' },
  { isAttended: false, unmovedMs: still, canWork: false, decision: 'stuck' },
])(
  '$decision where isAttended=$isAttended, unmovedMs=$unmovedMs, canWork=$canWork',
  ({ decision, canWork, ...seen }) => {
    expect(decideOverlap(seen, { stuckAfterMs, canWork })).toBe(decision);
  },
);

const minuteMs = 60_000;

test.each([
  { what: 'an earlier night', requestedAgoMs: 24 * 60 * minuteMs, readsUpToRequest: true, isLate: true },
  { what: 'a moment ago', requestedAgoMs: minuteMs, readsUpToRequest: true, isLate: false },
  {
    what: 'an earlier night, with fixed windows',
    requestedAgoMs: 24 * 60 * minuteMs,
    readsUpToRequest: false,
    isLate: false,
  },
])('a run of $what leaves out what came since: $isLate', ({ requestedAgoMs, readsUpToRequest, isLate }) => {
  const nowMs = 1_800_000_000_000;
  expect(isOutdated({ requestedAtMs: nowMs - requestedAgoMs, readsUpToRequest }, nowMs)).toBe(isLate);
});
