/** What --skip-if-running does with the unfinished run that it finds. */
import { expect, test } from 'vitest';
import { decideOverlap } from '../../../../src/core/run/overlap.ts';

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
