import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isHeld, outcomeOfWindow, settleBatch } from '../../../../src/core/daily/merge.ts';
import { movedWatermarks } from '../../../../src/core/daily/watermark.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { dayOf, reading, row } from '../../../support/warehouse-batches.ts';

const someGuard = fc.record({
  maxShare: fc.double({ min: 0, max: 1, noNaN: true }),
  maxRows: fc.nat(50),
  allow: fc.boolean(),
});
const someTally = fc
  .record({
    stored: fc.nat(500),
    inserted: fc.nat(50),
    updated: fc.nat(50),
    unchanged: fc.nat(50),
    leaving: fc.nat(500),
    replaced: fc.nat(50),
    otherDay: fc.nat(50),
  })
  .map((tally) => ({ ...tally, leaving: Math.min(tally.leaving, tally.stored) }));

/** Consecutive windows of one well, some of them held. */
const someWindows = fc
  .array(fc.record({ days: fc.integer({ min: 1, max: 5 }), gap: fc.nat(1), held: fc.boolean() }))
  .map((parts) => {
    let fromMs = 0;
    return parts.map(({ days, gap, held }) => {
      const window = { fromMs: fromMs + gap * DAY_MS, toMs: fromMs + (gap + days) * DAY_MS };
      fromMs = window.toMs;
      return { uwi: 'A', window, mode: 'incremental' as const, held };
    });
  });

describe('the decisions of a merge', () => {
  it('G4: missing rows are either removed or held, and a wider guard never holds more', () => {
    const property = fc.property(someTally, someGuard, (tally, guard) => {
      const { counts } = outcomeOfWindow(reading([]), tally, guard);
      expect([counts['removed'], counts['heldRows']].toSorted((left = 0, right = 0) => left - right)).toEqual([
        0,
        tally.leaving,
      ]);
      if (!isHeld(tally, guard)) expect(isHeld(tally, { ...guard, maxRows: guard.maxRows + 1 })).toBe(false);
    });
    fc.assert(property);
  });

  it('G3: a watermark moves only over durable windows without a gap', () => {
    const property = fc.property(someWindows, fc.nat(10), (windows, currentDay) => {
      const currentMs = currentDay * DAY_MS;
      const afterMs = movedWatermarks(new Map([['A', currentMs]]), windows).get('A') ?? currentMs;
      expect(afterMs).toBeGreaterThanOrEqual(currentMs);
      for (let ms = currentMs; ms < afterMs; ms += DAY_MS) {
        const owner = windows.find(({ window }) => ms >= window.fromMs && ms < window.toMs);
        expect(owner).toMatchObject({ held: false });
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
