/** G1 and G2 over any history of readings: the warehouse against a model of a few lines. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { ask, dayOf, guard, load, reading, row, xidOf } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

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

/** The model of a window's effect, without a merge: its days hold exactly the rows that were read. */
function replace(stored: Stored, { uwi, window, rows }: WindowBatch): void {
  for (const [key, [well, , day]] of stored) {
    const dayMs = Date.parse(day);
    if (well === uwi && dayMs >= window.fromMs && dayMs < window.toMs) stored.delete(key);
  }
  for (const { xid, day, measures } of rowsOf(rows)) stored.set(`${uwi} ${day}`, [uwi, xid, day, Number(measures[0])]);
}

/** Wells whose last day is not that of their rows. */
const wrongLastDays = `SELECT w.uwi, last_day FROM watermark w
  WHERE last_day IS DISTINCT FROM (SELECT max(production_day) FROM daily_production d WHERE d.uwi = w.uwi)`;

export function describeReplay(open: OpenWarehouse): void {
  describe('any history of readings', () => {
    it('G1, G2: any history of reads ends as if the last read of each day had come once, with every record counted', async () => {
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
                expect(outcome && balanceOfCounts(dailyProduction, outcome.counts)).toMatchObject({ balanced: true });
                expect(outcome?.counts).toMatchObject({ rowsAdrift: 0, rowsAfter: window.rows.length });
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
            expect(await ask(warehouse, wrongLastDays)).toEqual([]);
          } finally {
            await dispose();
          }
        },
      );
      await expectForAllAsync(property, 10);
    });

    it('G1: a batch committed twice at the same time is merged once', async () => {
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
