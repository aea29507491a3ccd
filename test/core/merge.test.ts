/** The decisions of a merge, by example. */
import { describe, expect, it } from 'vitest';
import { isHeld, movedWatermarks, outcomeOfWindow, settleBatch, type ShrinkGuard } from '../../src/core/merge.ts';
import { at, dayOf, reading, row, xidOf } from '../support/warehouse-batches.ts';

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
  ])('G4: $leaving of $stored rows leaving are held: $held', ({ stored, leaving, held }) => {
    expect(isHeld({ stored, leaving }, guard)).toBe(held);
    expect(isHeld({ stored, leaving }, { ...guard, allow: true })).toBe(false);
  });

  it('counts what would have gone as held, and as removed what has', () => {
    const tally = { stored: 10, inserted: 1, updated: 2, unchanged: 3, leaving: 4, otherDay: 0 };
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

describe('a batch that is to be merged', () => {
  const early = { unit: 0, from: dayOf(1), to: dayOf(5) };
  const late = { unit: 1, from: dayOf(5), to: dayOf(9) };

  it('has the windows of a well in order of time, and each xid in the latest that shows it', () => {
    const moved = [row(1, dayOf(2)), row(2, dayOf(3))];
    const settled = settleBatch([reading([row(1, dayOf(6))], late), reading(moved, early)]);
    expect(settled.map(({ unit, rows, counts }) => [unit, rows.map(({ xid }) => xid), counts.repeated])).toEqual([
      [0, [xidOf(2)], 1],
      [1, [xidOf(1)], 0],
    ]);
  });

  it('leaves wells apart, though they share xids and windows', () => {
    const windows = ['A', 'B'].map((uwi, unit) => reading([row(1, dayOf(1))], { uwi, unit }));
    expect(settleBatch(windows)).toEqual(windows);
  });

  it('takes windows that touch, and refuses ones that overlap', () => {
    expect(settleBatch([reading([], early), reading([], late)])).toHaveLength(2);
    expect(() => settleBatch([reading([], early), reading([], { ...late, from: dayOf(4) })])).toThrow(/overlap/);
  });
});

describe('the watermarks that a batch moves', () => {
  const window = (from: number, to: number, held = false) => ({
    ...reading([], { uwi: 'A', from: dayOf(from), to: dayOf(to) }),
    held,
  });

  it('G3: go to the end of what joins on', () => {
    const moved = movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(3, 8), window(8, 9), window(11, 12)]);
    expect(moved).toEqual(new Map([['A', at(dayOf(9))]]));
  });

  it('G3: stay below a held window, also where there was none before', () => {
    const before = new Map([['A', at(dayOf(5))]]);
    expect(movedWatermarks(before, [window(4, 8, true), window(8, 9)])).toEqual(new Map());
    expect(movedWatermarks(new Map(), [window(1, 8, true), window(8, 9)])).toEqual(new Map());
  });

  it('are those that move, and no others', () => {
    expect(movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(1, 5), window(2, 3)])).toEqual(new Map());
  });
});
