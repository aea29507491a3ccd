import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needsVerifiedRead, outcomeOfWindow, settleBatch } from '../../../../src/core/daily/merge.ts';
import { movedWatermarks } from '../../../../src/core/daily/watermark.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { at, dayOf, reading, row, xidOf } from '../../../support/warehouse-batches.ts';

/** Windows of one well, in order, some with a gap before them. */
const someWindows = fc.array(fc.record({ days: fc.integer({ min: 1, max: 5 }), gap: fc.nat(1) })).map((parts) => {
  let fromMs = 0;
  return parts.map(({ days, gap }) => {
    const window = { fromMs: fromMs + gap * DAY_MS, toMs: fromMs + (gap + days) * DAY_MS };
    fromMs = window.toMs;
    return { uwi: 'A', window, mode: 'incremental' as const };
  });
});

describe('the decisions of a merge', () => {
  it('G3: a watermark moves only over durable windows without a gap', () => {
    const property = fc.property(someWindows, fc.nat(10), (windows, currentDay) => {
      const currentMs = currentDay * DAY_MS;
      const afterMs = movedWatermarks(new Map([['A', currentMs]]), windows).get('A') ?? currentMs;
      expect(afterMs).toBeGreaterThanOrEqual(currentMs);
      for (let ms = currentMs; ms < afterMs; ms += DAY_MS) {
        const owner = windows.find(({ window }) => ms >= window.fromMs && ms < window.toMs);
        expect(owner).toBeDefined();
      }
    });
    fc.assert(property);
  });

  it('G2: settling a batch loses no record: a row taken from one window counts as repeated there', () => {
    const someRows = fc.uniqueArray(fc.nat(9)).map((xids) => xids.map((xid) => row(xid, dayOf(1))));
    const property = fc.property(fc.array(someRows, { maxLength: 4 }), (lists) => {
      const windows = lists.map((rows, unit) => reading(rows, { unit, from: dayOf(unit + 1), to: dayOf(unit + 2) }));
      const settled = settleBatch(windows);
      for (const { rows, counts } of settled) expect(rows.length + counts.repeated).toBe(counts.read);
      const kept = settled.flatMap(({ rows }) => rowsOf(rows).map(({ xid }) => xid));
      expect(new Set(kept)).toEqual(new Set(windows.flatMap(({ rows }) => rowsOf(rows).map(({ xid }) => xid))));
      expect(new Set(kept).size).toBe(kept.length);
    });
    fc.assert(property);
  });
});

describe('the outcome of a window', () => {
  it('missing rows that stay are counted as held, the others as removed', () => {
    const tally = { stored: 10, inserted: 1, updated: 2, unchanged: 3, leaving: 4, replaced: 0 };
    const batch = reading([], { notices: ['an extra field: note'] });
    const [january, days] = [
      dayNumber('2024-01-01'),
      { firstDay: dayNumber('2024-01-02'), lastDay: dayNumber('2024-01-09') },
    ];
    const held = { removed: 1, held: [{ month: january, rows: 3, ...days }], heldDays: [] };
    expect(outcomeOfWindow(batch, tally, held, 'R')).toMatchObject({
      state: 'held',
      counts: { inserted: 1, updated: 2, unchanged: 3, removed: 1, heldRows: 3, windows: 1 },
      fault: { code: 'rows-held', action: { kind: 'release-rows', runId: 'R' } },
      notices: ['an extra field: note'],
    });
    const done = outcomeOfWindow(batch, tally, { removed: 4, held: [], heldDays: [] }, 'R');
    expect(done).toMatchObject({ state: 'done', counts: { removed: 4, heldRows: 0 } });
    expect(done).not.toHaveProperty('fault');
  });
});

describe('an unverified read', () => {
  it.each([
    { mayLeave: 0, replaced: 0, needed: false },
    { mayLeave: 1, replaced: 0, needed: true },
    { mayLeave: 0, replaced: 1, needed: true },
  ])('G4: an unverified read that lacks stored rows has to be read again', ({ mayLeave, replaced, needed }) => {
    expect(needsVerifiedRead({ isVerified: false }, { mayLeave, replaced })).toBe(needed);
    expect(needsVerifiedRead({ isVerified: true }, { mayLeave, replaced })).toBe(false);
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
  const window = (from: number, to: number) => reading([], { uwi: 'A', from: dayOf(from), to: dayOf(to) });

  it('G3: a watermark moves to the end of the adjoining windows', () => {
    const moved = movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(3, 8), window(8, 9), window(11, 12)]);
    expect(moved).toEqual(new Map([['A', at(dayOf(9))]]));
  });

  it('a watermark that does not move is not among the moved ones', () => {
    expect(movedWatermarks(new Map([['A', at(dayOf(5))]]), [window(1, 5), window(2, 3)])).toEqual(new Map());
  });
});
