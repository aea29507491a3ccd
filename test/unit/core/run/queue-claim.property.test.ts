import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { beatTimes, decideOverlap, decideQueue, isOutdated } from '../../../../src/core/run/warehouse-queue.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const id = fc.option(fc.constantFrom('one', 'two'), { nil: undefined });
const age = fc.option(fc.nat(120_000), { nil: undefined });

describe('who may work a warehouse', () => {
  it('G11: the queue that owns it always, another one only without a young beat', () => {
    expectForAll(
      fc.property(id, id, age, (queueId, ownerId, beatAgeMs) => {
        const decision = decideQueue({ queueId, ownerId, beatAgeMs }, beatTimes);
        const isYoung = beatAgeMs !== undefined && beatAgeMs < beatTimes.staleAfterMs;
        if (ownerId === undefined) expect(decision).toEqual({ kind: 'may-take', isTakeover: false });
        else if (ownerId === queueId) expect(decision).toEqual({ kind: 'owner' });
        else if (isYoung) expect(decision).toEqual({ kind: 'wait', waitMs: beatTimes.staleAfterMs - beatAgeMs });
        else expect(decision).toEqual({ kind: 'may-take', isTakeover: beatAgeMs !== undefined });
      }),
    );
  });
});

/** What --skip-if-running does with the unfinished run that it finds. */
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
