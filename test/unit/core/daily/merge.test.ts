import { describe, expect, it } from 'vitest';
import {
  isHeld,
  needsVerifiedRead,
  outcomeOfWindow,
  settleBatch,
  type ShrinkGuard,
} from '../../../../src/core/daily/merge.ts';
import { movedWatermarks } from '../../../../src/core/daily/watermark.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { at, dayOf, reading, row, xidOf } from '../../../support/warehouse-batches.ts';

const guard: ShrinkGuard = { maxShare: 0.2, maxRows: 3, allow: false };

describe('the shrink guard', () => {
  it.each([
    { stored: 100, leaving: 21, held: true },
    { stored: 100, leaving: 20, held: false },
    { stored: 4, leaving: 4, held: true },
    { stored: 3, leaving: 3, held: false },
    { stored: 15, leaving: 3, held: false },
    { stored: 0, leaving: 0, held: false },
    { stored: 22_000, leaving: 22_000, held: true },
  ])('G4: a window that loses $leaving of $stored rows is held: $held', ({ stored, leaving, held }) => {
    expect(isHeld({ stored, leaving }, guard)).toBe(held);
    expect(isHeld({ stored, leaving }, { ...guard, allow: true })).toBe(false);
  });

  it('G4: an answer without content removes not one row, unless the operator allows it', () => {
    const counts = { stored: 1, leaving: 1, inserted: 0, updated: 0, unchanged: 0, replaced: 0, otherDay: 0 };
    const batch = { ...reading([]), isWithoutContent: true } as const;
    expect(outcomeOfWindow(reading([]), counts, guard)).toMatchObject({ state: 'done', counts: { removed: 1 } });
    expect(outcomeOfWindow(batch, counts, guard)).toMatchObject({ state: 'held', counts: { removed: 0, heldRows: 1 } });
    expect(outcomeOfWindow(batch, counts, { ...guard, allow: true })).toMatchObject({ counts: { removed: 1 } });
    expect(outcomeOfWindow(batch, { ...counts, stored: 0, leaving: 0 }, guard)).toMatchObject({ state: 'done' });
  });

  it('a held window counts its missing rows as held; an allowed loss counts them as removed', () => {
    const tally = { stored: 10, inserted: 1, updated: 2, unchanged: 3, leaving: 4, replaced: 0, otherDay: 0 };
    const batch = reading([], { notices: ['an extra field: note'] });
    expect(outcomeOfWindow(batch, tally, guard)).toMatchObject({
      state: 'held',
      counts: { inserted: 1, updated: 2, unchanged: 3, removed: 0, heldRows: 4, windows: 1 },
      fault: { code: 'shrink-held' },
      notices: ['an extra field: note'],
    });
    const allowed = outcomeOfWindow(batch, tally, { ...guard, allow: true });
    expect(allowed).toMatchObject({ state: 'done', counts: { removed: 4, heldRows: 0 } });
    expect(allowed).not.toHaveProperty('fault');
  });
});

describe('an unverified read', () => {
  it.each([
    { leaving: 0, replaced: 0, needed: false },
    { leaving: 1, replaced: 0, needed: true },
    { leaving: 0, replaced: 1, needed: true },
  ])('G4: an unverified read that lacks stored rows has to be read again', ({ leaving, replaced, needed }) => {
    expect(needsVerifiedRead({ isVerified: false }, { leaving, replaced })).toBe(needed);
    expect(needsVerifiedRead({ isVerified: true }, { leaving, replaced })).toBe(false);
  });
});

describe('a batch to merge', () => {
  const early = { unit: 0, from: dayOf(1), to: dayOf(5) };
  const late = { unit: 1, from: dayOf(5), to: dayOf(9) };

  it('the windows of a well are in order of time, each xid in the latest window that has it', () => {
    const moved = [row(1, dayOf(2)), row(2, dayOf(3))];
    const settled = settleBatch([reading([row(1, dayOf(6))], late), reading(moved, early)]);
    expect(
      settled.map(({ unit, rows, counts }) => [unit, rowsOf(rows).map(({ xid }) => xid), counts.repeated]),
    ).toEqual([
      [0, [xidOf(2)], 1],
      [1, [xidOf(1)], 0],
    ]);
  });

  it('two wells with equal xids and windows do not affect each other', () => {
    const windows = ['A', 'B'].map((uwi, unit) => reading([row(1, dayOf(1))], { uwi, unit }));
    expect(settleBatch(windows)).toEqual(windows);
  });

  it('adjacent windows of a well are accepted, overlapping ones refused', () => {
    expect(settleBatch([reading([], early), reading([], late)])).toHaveLength(2);
    expect(() => settleBatch([reading([], early), reading([], { ...late, from: dayOf(4) })])).toThrow(/overlap/);
  });
});

describe('the watermarks that a batch moves', () => {
  const window = (from: number, to: number, held = false) => ({
    ...reading([], { uwi: 'A', from: dayOf(from), to: dayOf(to) }),
    held,
  });

  it('G3: a watermark moves to the end of the adjoining windows', () => {
    const moved = movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(3, 8), window(8, 9), window(11, 12)]);
    expect(moved).toEqual(new Map([['A', at(dayOf(9))]]));
  });

  it('G3: a watermark stays below a held window, and a well without one gets none', () => {
    const before = new Map([['A', at(dayOf(5))]]);
    expect(movedWatermarks(before, [window(4, 8, true), window(8, 9)])).toEqual(new Map());
    expect(movedWatermarks(new Map(), [window(1, 8, true), window(8, 9)])).toEqual(new Map());
  });

  it('a watermark that does not move is not among the moved ones', () => {
    expect(movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(1, 5), window(2, 3)])).toEqual(new Map());
  });
});
