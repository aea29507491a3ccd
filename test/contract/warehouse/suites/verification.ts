/** What a verification reads of the warehouse: the stored rows of windows, and whether a commit came in between. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import type { Measure } from '../../../../src/core/daily/row.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import { type ComparisonCounts, WindowComparison } from '../../../../src/core/verify/comparison.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import type { DatedRow } from '../../../support/daily-rows.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { bySuite } from '../../../support/suite-size.ts';
import {
  ask,
  dailyRows,
  dayOf,
  guard,
  loadOne,
  planned,
  reading,
  row,
  unreadable,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';

/** The comparison of a reading with what is stored, as the job makes it. */
async function compared({ dailyProduction }: WarehouseHandle, window: WindowBatch): Promise<ComparisonCounts> {
  return dailyProduction.compareStored([window], async (stored) => {
    const standing = await stored.standing(window.quarantined.map((record) => ({ ...record, uwi: window.uwi })));
    const held = await stored.heldMonths();
    const broken = window.quarantined.map((record, index) => ({ ...record, standing: standing[index] }));
    const comparison = new WindowComparison(
      { ...window, broken, isUnknown: false },
      (ms) => Math.floor(ms / DAY_MS),
      stored.forms,
    );
    for await (const each of stored.rows()) comparison.addStored(each);
    const wanted = comparison.unmatchedXids.map((xid) => ({ windowNo: 0, xid }));
    for (const each of await stored.rowsByXid(wanted)) comparison.addMoved(each);
    return comparison.result({ watermarkDay: 1e6, knownDays: [] }, held.get(window.uwi) ?? new Set()).counts;
  });
}

/** Values that engines might keep otherwise than JavaScript does. */
const someValues = fc.record(
  {
    oilRate: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, 0.1, 1e-300, 1.7e308)),
    choke: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    downtimeCode: fc.oneof(
      fc.constantFrom('', ' ', 'A', 'a', 'Å', '\\', '\t', '𝄞', 'NULL'),
      fc.string({ unit: 'grapheme' }),
    ),
    isDualFlow: fc.boolean(),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Readonly<Record<string, Measure>>>;
const someExtras = fc.constantFrom(null, '{"a":1}', '{"a":1.0}', '{"a": 1}', '{"b":"\\u0000"}', '{"a":1,"a":1}');
const someRow = fc.record({
  xid: fc.integer({ min: 1, max: 12 }),
  day: fc.integer({ min: 1, max: 12 }),
  values: someValues,
  extras: someExtras,
});
const someRows = fc.uniqueArray(someRow, { selector: ({ xid }) => xid, maxLength: 10 });

function rowsOf(
  rows: ReadonlyArray<{ xid: number; day: number; values: Readonly<Record<string, Measure>>; extras: string | null }>,
): readonly DatedRow[] {
  return rows.map(({ xid, day, values, extras }) => row(xid, dayOf(day), values, extras));
}

function loading(rows: readonly DatedRow[]): WindowBatch {
  return reading(rows, { from: '2023-12-01', to: '2024-03-01' });
}

export function describeVerification(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('a comparison with what is stored', () => {
    it('counts as the merge of the same read does, whatever the values, and finds what was committed the same', async () => {
      const property = fc.asyncProperty(someRows, someRows, fc.nat(12), async (before, after, firstDay) => {
        const { warehouse, dispose } = await open();
        try {
          await loadOne(warehouse, loading(rowsOf(before)));
          const from = dayOf(firstDay + 1);
          const window = reading(
            rowsOf(after).filter(({ day }) => day >= from),
            { from, to: '2024-03-01' },
          );
          const found = await compared(warehouse, window);
          const { counts } = (await loadOne(warehouse, window, { ...guard, allow: true })) satisfies UnitOutcome;
          const { same, differing, missingHere, missingThere } = found;
          expect({ same, differing, missingHere, missingThere }).toEqual({
            same: counts['unchanged'],
            differing: counts['updated'],
            missingHere: counts['inserted'],
            missingThere: counts['removed'],
          });
          expect(await compared(warehouse, window)).toMatchObject({
            same: window.rows.length,
            differing: 0,
            missingHere: 0,
            missingThere: 0,
          });
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, bySuite(3, 12));
    });

    it('tells what stands in quarantine by its content, what was accepted, and what is held', async () => {
      const { warehouse } = test();
      const broken = unreadable({ xid: 5, day: dayOf(5), raw: '{"oilRate":"5"}' });
      const other = unreadable({ day: dayOf(6), raw: '{"oilRate":"6"}' });
      const rows = dailyRows(20).filter((_, index) => index !== 4 && index !== 5);
      await loadOne(warehouse, reading(rows, { quarantined: [broken, other] }));
      const { alerts } = warehouse.ledger;
      const { alerts: opened } = await alerts.list({ limit: 9, nowMs: 0, kinds: ['record-quarantined'] });
      const ids = opened.flatMap(({ id, summary }) => (summary.startsWith(dayOf(5)) ? [id] : []));
      expect(await alerts.accept({ ids, by: 'a person', because: 'a test', atMs: 0 })).toHaveLength(1);
      const again = reading(rows, { quarantined: [broken, other] });
      expect(await compared(warehouse, again)).toMatchObject({ same: 18, accepted: 1, quarantined: 1, missingHere: 0 });
      const changed = reading(rows, { quarantined: [{ ...broken, raw: '{"oilRate":"7"}' }, other] });
      expect(await compared(warehouse, changed)).toMatchObject({ accepted: 0, quarantined: 1, missingHere: 1 });
      const few = reading(rows.slice(0, 8));
      expect(await loadOne(warehouse, few)).toMatchObject({ state: 'held' });
      expect(await compared(warehouse, few)).toMatchObject({ same: 8, held: 10, missingThere: 0 });
    });

    it('has nothing of a well without a key, and each window of several of its own', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(10)));
      const windows = ['Z', uwi, uwi].map((name, unit) => ({
        uwi: name,
        window: reading([], { from: dayOf(1 + 3 * unit), to: dayOf(4 + 3 * unit) }).window,
      }));
      const days = await warehouse.dailyProduction.compareStored(windows, async (stored) => {
        const found: (readonly [number, number | null])[] = [];
        for await (const { windowNo, day } of stored.rows()) found.push([windowNo, day]);
        return found.toSorted(([, left], [, right]) => Number(left) - Number(right));
      });
      const first = Date.parse('2024-01-01') / DAY_MS;
      expect(days).toEqual([4, 5, 6, 7, 8, 9].map((day) => [day < 7 ? 1 : 2, first + day - 1]));
    });
  });

  describe('the stamp of a window', () => {
    const stampOf = async (from = '2024-01-01'): Promise<string | undefined> => {
      const { window } = reading([], { from });
      return (await test().warehouse.dailyProduction.stamps([{ uwi, window }]))[0];
    };

    it('is another one after each commit that changes a row, the quarantine or a hold, and no other', async () => {
      const { warehouse } = test();
      const stamps = [await stampOf()];
      const broken = unreadable({ xid: 30, day: dayOf(30) });
      const rows = dailyRows(20);
      const changes = [
        reading(rows),
        reading([row(1, dayOf(1), { oilRate: 99 }), ...rows.slice(1)]),
        reading(rows.slice(0, 19)),
        reading(rows.slice(0, 19), { quarantined: [broken] }),
        reading(rows.slice(0, 19), { quarantined: [{ ...broken, raw: '{"oilRate":[]}' }] }),
        reading(rows.slice(0, 8)),
        reading(rows),
      ];
      for (const [index, window] of changes.entries()) {
        await loadOne(warehouse, window, guard, Date.parse('2024-06-01') + index);
        stamps.push(await stampOf());
      }
      expect(new Set(stamps).size).toBe(stamps.length);
      await loadOne(warehouse, reading(rows));
      expect(await stampOf()).toBe(stamps.at(-1));
      const later = await stampOf('2024-01-15');
      await loadOne(warehouse, reading([row(1, dayOf(1), { oilRate: 98 }), ...rows.slice(1)]));
      expect(await stampOf('2024-01-15')).toBe(later);
    });
  });

  it('what a verification finds of units is read with their totals, and forgotten when they are opened again', async () => {
    const { warehouse } = test();
    const { runs } = warehouse.ledger;
    const windows = [0, 1, 2].map((unit) => reading([], { unit, uwi: `W${unit}` }));
    const runId = await planned(warehouse, windows);
    const difference = { uwi: 'W0', day: null, kind: 'missing-there', field: null, here: 'x', there: null } as const;
    await runs.settle(runId, [
      { unit: 0, state: 'unknown', counts: {}, finding: { differences: [difference] } },
      { unit: 1, state: 'done', counts: {}, finding: { days: { fromDay: 5, toDay: 7 }, differences: [] } },
      { unit: 2, state: 'done', counts: {}, finding: { days: { fromDay: 3, toDay: 4 }, differences: [] } },
    ]);
    expect((await runs.totals(runId)).found).toEqual({
      units: 3,
      datedUnits: 2,
      days: { fromDay: 3, toDay: 7 },
      first: [
        { target: 'W1', days: { fromDay: 5, toDay: 7 }, differences: [] },
        { target: 'W2', days: { fromDay: 3, toDay: 4 }, differences: [] },
        { target: 'W0', differences: [difference] },
      ],
    });
    expect(await ask(warehouse, 'SELECT count(*) FROM run_unit WHERE finding IS NOT NULL')).toEqual([[3]]);
  });
}
