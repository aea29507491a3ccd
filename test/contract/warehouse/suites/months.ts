/** Months of wells by their port, against a plain computation over the rows, the quarantine and the coverage. */
import { describe, expect, it } from 'vitest';
import { dayNumber, dayText } from '../../../../src/core/time/production-day.ts';
import type { MonthOfWell, MonthsQuestion } from '../../../../src/warehouse/port/wells.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import {
  allOf,
  ask,
  at,
  dailyRows,
  dayOf,
  guard,
  load,
  loadOne,
  reading,
  row,
  unreadable,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';

function monthsOf(warehouse: WarehouseHandle, question: MonthsQuestion = {}): Promise<readonly MonthOfWell[]> {
  return warehouse.months.months(question, allOf);
}

const nextDay = (day: string): string => dayText(dayNumber(day) + 1);

/** A verified reading of one day with a row. */
const dayWith = (day: string, values: Parameters<typeof row>[2] = {}, xid = 1) =>
  reading([row(xid, day, values)], { from: day, to: nextDay(day) });

export function describeMonths(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  it('sums the days with a row, and counts the others as coverage does', async () => {
    const { warehouse } = test();
    const rows = dailyRows(10).filter(({ day }) => day !== dayOf(4) && day !== dayOf(7));
    await loadOne(warehouse, reading(rows, { to: dayOf(15), quarantined: [unreadable({ xid: 7, day: dayOf(7) })] }));
    const none = { waterInjected: null, gasInjected: null, downtimeHours: null };
    const days = { daysPresent: 8, daysMissing: 5, daysQuarantined: 1 };
    const sums = { hoursOn: 8 * 24, oil: 55 - 4 - 7, gas: 0, water: 0, ...none, downtimeByCode: {} };
    expect(await monthsOf(warehouse)).toEqual([{ uwi, month: '2024-01-01', ...days, ...sums }]);
  });

  it('has nothing where there is no row: a missing day is not zero', async () => {
    const { warehouse } = test();
    await loadOne(warehouse, reading(dailyRows(1), { to: '2024-03-01' }));
    const [january, february] = await monthsOf(warehouse);
    expect(january).toMatchObject({ daysPresent: 1, daysMissing: 30, oil: 1, hoursOn: 24 });
    const empty = { hoursOn: null, oil: null, gas: null, water: null, downtimeHours: null, downtimeByCode: null };
    expect(february).toMatchObject({ month: '2024-02-01', daysPresent: 0, daysMissing: 29, ...empty });
    expect(await monthsOf(warehouse)).toHaveLength(2);
  });

  it('knows no month of a well whose reads brought nothing', async () => {
    const { warehouse } = test();
    await loadOne(warehouse, reading([]));
    expect(await monthsOf(warehouse)).toEqual([]);
    expect(await monthsOf(warehouse, { uwis: [uwi, 'nobody'] })).toEqual([]);
  });

  it.each([
    ['calendar-day', 240 + 120, 24 + 12],
    ['operated-day', 240 + 60, 24 + 12],
  ] as const)('takes a rate of %s as the volume that it means', async (basis, oil, hoursOn) => {
    const { warehouse } = test();
    await warehouse.months.keepRateBasis(basis);
    expect(await warehouse.months.rateBasis()).toBe(basis);
    const rows = [
      row(1, dayOf(1), { oilRate: 240 }),
      row(2, dayOf(2), { oilRate: 120, downtimeHours: 12, downtimeCode: 'PUMP' }),
    ];
    await loadOne(warehouse, reading(rows, { to: dayOf(3) }));
    const downtime = { downtimeHours: 12, downtimeByCode: { PUMP: 12 } };
    expect(await monthsOf(warehouse)).toMatchObject([{ oil, hoursOn, ...downtime }]);
  });

  it('counts days as calendar days until it is said otherwise, and writes the basis only where it is another', async () => {
    const { warehouse } = test();
    expect(await warehouse.months.rateBasis()).toBe('calendar-day');
    for (const basis of ['operated-day', 'operated-day', 'calendar-day'] as const) {
      await warehouse.months.keepRateBasis(basis);
      expect((await warehouse.describe()).rateBasis).toBe(basis);
    }
  });

  it('bounds the hours down of a day to 0 and 24, and keeps them by code, whatever it is', async () => {
    const { warehouse } = test();
    await warehouse.months.keepRateBasis('operated-day');
    const downtimes: ReadonlyArray<readonly [hours: number | null, code: string | null]> = [
      [-5, 'A'],
      [30, 'A'],
      [6, null],
      [2, ''],
      [3, '"\\ ☃'],
      [null, 'A'],
      [0, '__proto__'],
      [1e308, '__proto__'],
      [-0, null],
    ];
    const rows = downtimes.map(([downtimeHours, downtimeCode], index) =>
      row(index + 1, dayOf(index + 1), { oilRate: 24, downtimeHours, downtimeCode }),
    );
    await loadOne(warehouse, reading(rows, { to: dayOf(10) }));
    const [month] = await monthsOf(warehouse);
    const codes = [
      ['', 8],
      ['"\\ ☃', 3],
      ['A', 24],
      ['__proto__', 24],
    ];
    expect(Object.entries(month?.downtimeByCode ?? {})).toEqual(codes);
    expect(month).toMatchObject({ downtimeHours: 59, hoursOn: 9 * 24 - 59, oil: 9 * 24 - 59 });
  });

  it('sums rates at the end of what a number holds, and no -0', async () => {
    const { warehouse } = test();
    await warehouse.months.keepRateBasis('operated-day');
    const rows = [1e308, 1.7e308, -1e308].map((oilRate, index) =>
      row(index + 1, dayOf(index + 1), { oilRate, gasRate: -0, waterInjectionRate: -1e308, downtimeHours: index * 12 }),
    );
    await loadOne(warehouse, reading(rows, { to: dayOf(4) }));
    const [month] = await monthsOf(warehouse);
    expect([month?.oil, month?.waterInjected]).toEqual([1.5e290, -1.5e290]);
    expect(Object.is(month?.gas, 0)).toBe(true);
  });

  it.each(['0001-01-01', '9999-12-30', '2024-02-29', '2024-03-31', '2024-10-27', '1900-02-28'])(
    'has the month of a well with the one row of %s',
    async (day) => {
      const { warehouse } = test();
      await loadOne(warehouse, dayWith(day, { oilRate: 10, gasRate: 2, downtimeHours: 1 }));
      const sums = { hoursOn: 23, oil: 10, gas: 2, water: 0 };
      const days = { daysPresent: 1, daysMissing: 0, daysQuarantined: 0 };
      expect(await monthsOf(warehouse)).toMatchObject([{ uwi, month: `${day.slice(0, 7)}-01`, ...days, ...sums }]);
    },
  );

  it('sums one record of a day with two', async () => {
    const { warehouse } = test();
    const rows = [row(1, dayOf(1), { oilRate: 10 }), row(2, dayOf(1), { oilRate: 20 })];
    await loadOne(warehouse, reading(rows, { to: dayOf(2) }));
    expect(await monthsOf(warehouse)).toMatchObject([{ daysPresent: 1, oil: 20, hoursOn: 24 }]);
  });

  it('gives the months of all wells, of named ones, and page by page, in order', async () => {
    const { warehouse } = test();
    const wells = ['b', 'Ä', 'a', 'B', "o'well"];
    await load(
      warehouse,
      wells.map((each, unit) => reading(dailyRows(40), { uwi: each, unit, to: dayOf(41) })),
    );
    const all = await monthsOf(warehouse);
    const inOrder = ['B', 'a', 'b', "o'well", 'Ä'].flatMap((each) => [`${each} 2024-01-01`, `${each} 2024-02-01`]);
    expect(all.map((each) => `${each.uwi} ${each.month}`)).toEqual(inOrder);
    expect(await monthsOf(warehouse, { uwis: ['b', "o'well", 'b'] })).toEqual(all.slice(4, 8));
    for (const size of [1, 3, 4]) {
      const paged: MonthOfWell[] = [];
      for (let page: readonly MonthOfWell[] = []; ; paged.push(...page)) {
        const last = paged.at(-1);
        page = await monthsOf(warehouse, { limit: size, ...(last === undefined ? {} : { after: last }) });
        if (page.length === 0) break;
      }
      expect(paged).toEqual(all);
    }
  });

  describe('with what was known before', () => {
    const [before, since, after] = ['2024-06-01', '2024-06-02', '2024-06-03'].map(at) as [number, number, number];

    it('has the volumes of then beside those of now', async () => {
      const { warehouse } = test();
      const first = dailyRows(40);
      await load(warehouse, [reading(first, { to: dayOf(41) })], guard, before);
      const second = first.map((each, index) => (index === 2 ? row(3, dayOf(3), { oilRate: 103 }) : each)).slice(0, 39);
      await load(warehouse, [reading([...second, row(70, '2024-03-01')], { to: '2024-03-02' })], guard, after);
      const known = await monthsOf(warehouse, { knownAtMs: since });
      const [january = 0, february = 0] = [
        [0, 31],
        [31, 40],
      ].map(([from, to]) => first.slice(from, to).reduce((sum, _, index) => sum + index + 1 + (from ?? 0), 0));
      expect(known.map(({ month, oil, asKnown }) => [month, oil, asKnown])).toEqual([
        ['2024-01-01', january + 100, { oil: january, gas: 0, water: 0 }],
        ['2024-02-01', february - 40, { oil: february, gas: 0, water: 0 }],
        ['2024-03-01', 0, { oil: null, gas: null, water: null }],
      ]);
      const [sum] = await ask(warehouse, `SELECT sum(oil_rate) FROM daily_production_as_known('2024-06-02 00:00:00Z')`);
      expect(sum).toEqual([january + february]);
      const now = await monthsOf(warehouse, { knownAtMs: after });
      expect(now.map(({ asKnown }) => asKnown?.oil)).toEqual(now.map(({ oil }) => oil));
    });

    it('has a month that was known and is gone', async () => {
      const { warehouse } = test();
      await load(
        warehouse,
        [dayWith('2023-12-31', { oilRate: 5 }, 9), reading(dailyRows(3), { unit: 1, to: dayOf(4) })],
        guard,
        before,
      );
      await load(warehouse, [reading([], { from: '2023-12-31', to: '2024-01-01' })], guard, after);
      const months = await monthsOf(warehouse, { knownAtMs: since });
      expect(months.map(({ month, oil, daysMissing, asKnown }) => [month, oil, daysMissing, asKnown?.oil])).toEqual([
        ['2023-12-01', null, 0, 5],
        ['2024-01-01', 6, 0, 6],
      ]);
    });

    it('takes the record of a day that counted then', async () => {
      const { warehouse } = test();
      const two = (oilRate: number) => [row(1, dayOf(1), { oilRate: 10 }), row(2, dayOf(1), { oilRate })];
      await load(warehouse, [reading(two(20), { to: dayOf(2) })], guard, before);
      await load(warehouse, [reading(two(21), { to: dayOf(2) })], guard, after);
      expect(await monthsOf(warehouse, { knownAtMs: since })).toMatchObject([{ oil: 21, asKnown: { oil: 20 } }]);
    });
  });
}
