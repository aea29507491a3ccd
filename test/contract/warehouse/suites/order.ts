/** The order of daily production in storage: what putting it in order changes, and what never. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { contentOf, inOrder, putInOrder } from '../../../support/storage-order.ts';
import { bySuite } from '../../../support/suite-size.ts';
import { dayOf, guard, load, reading, row, unreadable } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const days = 10;
const wells = ['A', 'B', 'C'];

/** A night: of each well a window with some of its days, among them records that change, move and leave. */
const someNight = fc.array(
  fc.record({
    from: fc.integer({ min: 1, max: days }),
    length: fc.integer({ min: 1, max: days }),
    values: fc.array(fc.option(fc.integer({ min: 0, max: 2 })), { minLength: days, maxLength: days }),
    isQuarantined: fc.boolean(),
  }),
  { minLength: 1, maxLength: wells.length },
);

const windowsOf = (night: typeof someNight extends fc.Arbitrary<infer Night> ? Night : never) =>
  night.map(({ from, length, values, isQuarantined }, unit) => {
    const to = Math.min(from + length, days + 1);
    const rows = values.flatMap((value, index) => {
      const isRead = value !== null && index + 1 >= from && index + 1 < to;
      return isRead ? [row(100 * unit + index + value, dayOf(index + 1), { oilRate: value })] : [];
    });
    const distinct = rows.filter(({ xid }, index) => rows.findIndex((each) => each.xid === xid) === index);
    const quarantined = isQuarantined ? [unreadable({ day: dayOf(from) })] : [];
    return reading(distinct, { unit, uwi: wells[unit] ?? '', from: dayOf(from), to: dayOf(to), quarantined });
  });

export function describeOrder(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('the order of daily production', () => {
    it('G1: no row, version, quarantined record or coverage changes by it, and the same reads change nothing after it', async () => {
      const property = fc.asyncProperty(fc.array(someNight, { minLength: 1, maxLength: 5 }), async (nights) => {
        const { warehouse, dispose } = await open();
        try {
          for (const night of nights) await load(warehouse, windowsOf(night), { ...guard, allow: true });
          const before = await contentOf(warehouse);
          const { looseRows } = await warehouse.ledger.order.measure();
          expect(await putInOrder(warehouse)).toBe(looseRows);
          expect(await warehouse.ledger.order.measure()).toMatchObject(inOrder);
          expect(await contentOf(warehouse)).toEqual(before);
          for (const { counts } of await load(warehouse, windowsOf(nights.at(-1) ?? []), { ...guard, allow: true })) {
            expect(counts).toMatchObject({ inserted: 0, updated: 0, removed: 0, rowsAdrift: 0 });
          }
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, bySuite(2, 4));
    });

    it('has the rows of a commit by well and date, where few of its windows have any', async () => {
      const { warehouse } = test();
      const windows = Array.from({ length: 300 }, (_, unit) => {
        const fewDays = Array.from({ length: unit % 100 === 0 ? 3 : 0 }, (_none, day) => day + 1);
        const rows = fewDays.map((day) => row(1_000 * unit + day, dayOf(day)));
        return reading(rows, { unit, uwi: `well ${unit}`, to: dayOf(60) });
      });
      await load(warehouse, windows);
      expect(await warehouse.ledger.order.measure()).toEqual({ ...inOrder, rows: 9, wells: 3 });
    });
  });
}
