import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settleBatch } from '../../../../src/core/daily/merge.ts';
import { movedWatermarks } from '../../../../src/core/daily/watermark.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { dayOf, reading, row } from '../../../support/warehouse-batches.ts';

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
