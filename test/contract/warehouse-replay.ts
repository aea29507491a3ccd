/** G1 and G2 over any history of readings: the warehouse against a few lines of what it ought to be. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { balanceExport } from '../../src/core/balance.ts';
import type { WindowBatch } from '../../src/core/merge.ts';
import { ask, dayOf, guard, load, reading, row, xidOf } from '../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../support/warehouse-under-test.ts';

const days = 8;
const allowAll = { ...guard, allow: true };

/** A reading of some days of one of two wells: on each day no record, or one with a value and one of two xids. */
const someReading = fc
  .record({
    uwi: fc.constantFrom('A', 'B'),
    from: fc.integer({ min: 1, max: days }),
    length: fc.integer({ min: 1, max: days }),
    records: fc.array(fc.option(fc.record({ oilRate: fc.integer({ min: 0, max: 2 }), second: fc.boolean() })), {
      minLength: days,
      maxLength: days,
    }),
  })
  .map(({ uwi, from, length, records }) => {
    const to = Math.min(from + length, days + 1);
    const rows = records.flatMap((record, index) => {
      const day = index + 1;
      if (record === null || day < from || day >= to) return [];
      return [row(record.second ? 100 + day : day, dayOf(day), { oilRate: record.oilRate })];
    });
    return reading(rows, { uwi, from: dayOf(from), to: dayOf(to) });
  });

type Stored = Map<string, readonly [uwi: string, xid: string, day: string, oilRate: number]>;

/** What a window makes of the warehouse, said without any merge: its days hold what was read, and nothing else. */
function replace(stored: Stored, { uwi, window, rows }: WindowBatch): void {
  for (const [key, [well, , day]] of stored) {
    const dayMs = Date.parse(day);
    if (well === uwi && dayMs >= window.fromMs && dayMs < window.toMs) stored.delete(key);
  }
  for (const { xid, day, measures } of rows) stored.set(`${uwi} ${day}`, [uwi, xid, day, Number(measures[0])]);
}

export function describeReplay(open: OpenWarehouse): void {
  describe('any history of readings', () => {
    it('G1, G2: ends as if the last reading of each day had come once, and every record is accounted for', async () => {
      const property = fc.asyncProperty(
        fc.array(someReading, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat(2)),
        async (readings, replays) => {
          const { warehouse, dispose } = await open();
          try {
            const expected: Stored = new Map();
            for (const window of readings) {
              for (let times = 0; times <= (replays.next().value ?? 0); times += 1) {
                const [outcome] = await load(warehouse, [window], allowAll);
                expect(outcome && balanceExport(outcome.counts)).toMatchObject({ balanced: true });
                if (times > 0) expect(outcome?.counts).toMatchObject({ inserted: 0, updated: 0, removed: 0 });
              }
              replace(expected, window);
            }
            const stored = await ask(
              warehouse,
              'SELECT uwi, CAST(xid AS VARCHAR), production_day, CAST(oil_rate AS INTEGER) FROM daily_production ORDER BY 1, 3',
            );
            const inOrder = [...expected.values()].toSorted((left, right) =>
              `${left[0]} ${left[2]}`.localeCompare(`${right[0]} ${right[2]}`),
            );
            expect(stored).toEqual(inOrder);
          } finally {
            await dispose();
          }
        },
      );
      await fc.assert(property, { numRuns: Number(process.env['WELLSYNC_TEST_RUNS'] ?? 15) });
    });

    it('G1: the same batch committed by two at once is merged once', async () => {
      const { warehouse, another, dispose } = await open();
      try {
        const windows = [reading([row(1, dayOf(1))])];
        const outcomes = await Promise.all([warehouse, another()].map((each) => load(each, windows)));
        const sums = outcomes.flat().map(({ counts }) => `${counts['inserted']} new, ${counts['unchanged']} same`);
        expect(new Set(sums)).toEqual(new Set(['0 new, 1 same', '1 new, 0 same']));
        expect(await ask(warehouse, 'SELECT CAST(xid AS VARCHAR) FROM daily_production')).toEqual([[xidOf(1)]]);
      } finally {
        await dispose();
      }
    });
  });
}
