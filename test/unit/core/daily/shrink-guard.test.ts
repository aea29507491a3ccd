import { describe, expect, it, test } from 'vitest';
import {
  daysOfMonth,
  decideLeaving,
  exceeds,
  type HeldMonth,
  holdAfter,
  type LeavingMonth,
  mayLeave,
  type MonthBefore,
  type ShrinkGuard,
} from '../../../../src/core/daily/shrink-guard.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';

const guard: ShrinkGuard = { maxShare: 0.2, maxRows: 3, allow: false };
const rules = { guard, runId: 'R' };
const january = dayNumber('2024-01-01');
const february = dayNumber('2024-02-01');

function lacks(month: number, rows: number): LeavingMonth {
  return { month, released: undefined, others: { rows, firstDay: month, lastDay: month + rows - 1 } };
}

function hold(month: number, rows: number, release?: HeldMonth['release']): HeldMonth {
  return { month, rows, firstDay: month, lastDay: month + rows - 1, release };
}

const month =
  (stored: number, lost = 0) =>
  (): MonthBefore => ({ stored, lost });

describe('the shrink guard', () => {
  it.each([
    { stored: 100, leaving: 21, held: true },
    { stored: 100, leaving: 20, held: false },
    { stored: 4, leaving: 4, held: true },
    { stored: 3, leaving: 3, held: false },
    { stored: 15, leaving: 3, held: false },
    { stored: 0, leaving: 0, held: false },
    { stored: 22_000, leaving: 22_000, held: true },
  ])('G4: $leaving of $stored rows are too many: $held', ({ stored, leaving, held }) => {
    expect(exceeds(stored, leaving, guard)).toBe(held);
    expect(exceeds(stored, leaving, { ...guard, allow: true })).toBe(false);
  });
});

describe('rows that a read lacks', () => {
  it('G4: a window that loses too much keeps all of its months', () => {
    const window = { stored: 60, leaving: [lacks(january, 12), lacks(february, 1)] };
    const { removed, held, heldDays } = decideLeaving(window, new Map(), month(31), rules);
    expect(removed).toBe(0);
    expect(held.map((each) => [each.month, each.rows])).toEqual([
      [january, 12],
      [february, 1],
    ]);
    expect(heldDays).toEqual([daysOfMonth(january), daysOfMonth(february)]);
  });

  it('G4: a month is held at any depth: 50 rows of 3,000 are 1.7 % of the window, and two months', () => {
    const window = { stored: 3_000, leaving: [lacks(january, 31), lacks(february, 19)] };
    expect(decideLeaving(window, new Map(), month(31), rules)).toMatchObject({ removed: 0 });
  });

  it('G4: three rows a night do not pass: what left the month before counts', () => {
    const window = { stored: 300, leaving: [lacks(january, 3)] };
    const nights = [0, 3, 6].map((lost) => decideLeaving(window, new Map(), month(31 - lost, lost), rules).removed);
    expect(nights).toEqual([3, 3, 0]);
  });

  it('the other months of a window lose their rows', () => {
    const window = { stored: 3_000, leaving: [lacks(january, 31), lacks(february, 2)] };
    expect(decideLeaving(window, new Map(), month(31), rules)).toMatchObject({
      removed: 2,
      held: [{ month: january, rows: 31 }],
    });
  });

  it('G4: an answer without content removes not one row, unless the operator allows it', () => {
    const window = { stored: 1, leaving: [lacks(january, 1)], isWithoutContent: true } as const;
    expect(decideLeaving(window, new Map(), month(1), rules)).toMatchObject({ removed: 0 });
    const allowed = { ...rules, guard: { ...guard, allow: true } };
    expect(decideLeaving(window, new Map(), month(1), allowed)).toMatchObject({ removed: 1, held: [] });
  });

  it('G4: a month with a hold loses nothing, whatever the window, and does not count for the others', () => {
    const holds = new Map([[january, hold(january, 31)]]);
    const window = { stored: 60, leaving: [lacks(january, 31), lacks(february, 2)] };
    const { removed, held } = decideLeaving(window, holds, month(31), rules);
    expect([removed, held.map((each) => each.month)]).toEqual([2, [january]]);
  });
});

test('rows may leave of months without a hold, by their release, and where the operator allows it', () => {
  const released = { runId: 'R', rows: 4, firstDay: january, lastDay: january + 3 };
  const leaving = [lacks(january, 4), lacks(february, 2)];
  const standing = new Map([[january, hold(january, 4)]]);
  expect(mayLeave(leaving, new Map(), rules)).toBe(6);
  expect(mayLeave(leaving, standing, rules)).toBe(2);
  expect(mayLeave(leaving, standing, { ...rules, guard: { ...guard, allow: true } })).toBe(6);
  const byRelease = new Map([[january, hold(january, 4, released)]]);
  expect([mayLeave(leaving, byRelease, rules), mayLeave(leaving, byRelease, { ...rules, runId: 'S' })]).toEqual([6, 2]);
});

test('what is missing beyond a hold is read for sure, and then held as well', () => {
  const standing = new Map([[january, hold(january, 4)]]);
  expect(mayLeave([lacks(january, 6)], standing, rules)).toBe(2);
  const later = {
    month: january,
    released: undefined,
    others: { rows: 2, firstDay: january + 2, lastDay: january + 9 },
  };
  expect(mayLeave([later], standing, rules)).toBe(1);
  const seen = {
    held: later.others,
    removed: 0,
    days: { fromDay: january + 2, toDay: january + 20 },
    isVerified: true,
  };
  const before = { ...hold(january, 4), isNew: false };
  expect(holdAfter(january, before, seen, 'run')).toMatchObject({ rows: 5, firstDay: january, lastDay: january + 9 });
});

describe('a release', () => {
  const shown = { runId: 'R', rows: 10, firstDay: january, lastDay: january + 9 };
  const holds = new Map([[january, hold(january, 10, shown)]]);
  const days = { firstDay: january, lastDay: january + 9 };

  it('lets the rows go that were shown, and no other run does', () => {
    const window = { stored: 31, leaving: [{ month: january, released: { rows: 10, ...days }, others: undefined }] };
    expect(decideLeaving(window, holds, month(31), rules)).toEqual({ removed: 10, held: [], heldDays: [] });
    expect(decideLeaving(window, holds, month(31), { ...rules, runId: 'other' })).toMatchObject({ removed: 0 });
  });

  it('G4: holds what is missing beyond the days that were shown, however little', () => {
    const others = { rows: 1, firstDay: january + 20, lastDay: january + 20 };
    const window = { stored: 31, leaving: [{ month: january, released: { rows: 10, ...days }, others }] };
    const { removed, held, heldDays } = decideLeaving(window, holds, month(31), rules);
    expect([removed, held]).toEqual([10, [{ month: january, ...others }]]);
    expect(heldDays).toEqual([{ fromDay: january + 10, toDay: february }]);
  });

  it('G4: removes nothing where more rows are missing of those days than were shown', () => {
    const window = { stored: 31, leaving: [{ month: january, released: { rows: 11, ...days }, others: undefined }] };
    expect(decideLeaving(window, holds, month(31), rules)).toMatchObject({ removed: 0, held: [{ rows: 11 }] });
  });
});

describe('a hold after a read', () => {
  const before = { ...hold(january, 10), isNew: false };
  const whole = { fromDay: january, toDay: february };
  const part = { fromDay: january + 5, toDay: february };
  const missing = { rows: 4, firstDay: january + 5, lastDay: january + 8 };

  it.each([
    { name: 'ends when its rows are back', days: whole, held: undefined, removed: 0, rows: undefined },
    { name: 'stands after a read of a part of its days', days: part, held: undefined, removed: 0, rows: 10 },
    { name: 'stands after a read of no whole day', days: undefined, held: undefined, removed: 0, rows: 10 },
    { name: 'has the rows that are still missing', days: whole, held: missing, removed: 0, rows: 4 },
    { name: 'loses none to a read of a part', days: part, held: missing, removed: 0, rows: 10 },
    { name: 'ends when its rows were removed', days: whole, held: undefined, removed: 10, rows: undefined },
    { name: 'has the rows that an allowed read of a part left', days: part, held: undefined, removed: 4, rows: 6 },
  ])('$name', ({ days, held, removed, rows }) => {
    expect(holdAfter(january, before, { held, removed, days, isVerified: true }, 'R')?.rows).toBe(rows);
  });

  it('G4: an unverified read that lacks rows changes no hold', () => {
    expect(holdAfter(january, before, { held: missing, removed: 0, days: whole, isVerified: false }, 'R')).toBe(before);
  });

  it('is another one where all of its rows are back and other days are missing', () => {
    const others = { rows: 2, firstDay: january + 20, lastDay: january + 21 };
    const seen = { held: others, removed: 0, days: whole, isVerified: true };
    expect(holdAfter(january, before, seen, 'R')).toMatchObject({ ...others, isNew: true, release: undefined });
  });

  it('begins with the rows that stay, and again with what a release leaves', () => {
    const seen = { held: missing, removed: 0, days: whole, isVerified: true };
    expect(holdAfter(january, undefined, seen, 'R')).toMatchObject({ rows: 4, isNew: true });
    const released = { ...before, release: { ...missing, runId: 'R' } };
    expect(holdAfter(january, released, seen, 'R')).toMatchObject({ rows: 4, isNew: true, release: undefined });
    expect(holdAfter(january, released, seen, 'other')).toMatchObject({ rows: 4, isNew: false });
  });
});
