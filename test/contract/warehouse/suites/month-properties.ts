/**
 * The view of months, against a plain computation over the rows, the quarantine and the coverage, a day at a time; against
 * the survey of coverage; and against what it was before, for whoever asks what was known then.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rateBases, type RateBasis } from '../../../../src/core/daily/units.ts';
import { dayNumber, dayText } from '../../../../src/core/time/production-day.ts';
import type { MonthOfWell } from '../../../../src/warehouse/port/wells.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { allOf, ask, at, dayOf, guard, load, reading, row, unreadable } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

export function describeMonthHistory(open: OpenWarehouse): void {
  it('months are what the rows, the quarantine and the coverage say, and days are as the survey counts them', async () => {
    const property = fc.asyncProperty(readings, fc.constantFrom(...rateBases), async (read, basis) => {
      const { warehouse, dispose } = await open();
      try {
        await warehouse.months.keepRateBasis(basis);
        await loadAll(warehouse, read);
        const months = await warehouse.months.months({}, allOf);
        expect(rounded(months)).toEqual(rounded(await plainMonths(warehouse, basis)));
        expect(daysOf(months)).toEqual(daysOf(await surveyed(warehouse)));
      } finally {
        await dispose();
      }
    });
    await expectForAllAsync(property, 10);
  });

  it('what was known of a month at a time is what the view said then', async () => {
    const [before, after] = [at('2024-06-01'), at('2024-06-03')];
    const property = fc.asyncProperty(readings, readings, async (first, second) => {
      const { warehouse, dispose } = await open();
      try {
        await loadAll(warehouse, first, before);
        const then = await warehouse.months.months({}, allOf);
        await loadAll(warehouse, second, after);
        const now = await warehouse.months.months({ knownAtMs: at('2024-06-02') }, allOf);
        const known = now.map(({ uwi, month, asKnown }) => ({ uwi, month, ...asKnown }));
        expect(volumesOf(known)).toEqual(volumesOf(then));
      } finally {
        await dispose();
      }
    });
    await expectForAllAsync(property, 6);
  });
}

const rate = fc.oneof(fc.integer({ min: -5, max: 500 }), fc.constantFrom(-0, 0.1, 5e-324));
const aDay = fc.record({
  day: fc.integer({ min: 1, max: 95 }),
  values: fc.record({
    oilRate: rate,
    waterInjectionRate: fc.option(rate),
    downtimeHours: fc.option(fc.constantFrom(-5, -0, 0, 3.5, 12, 24, 30, 1e308)),
    downtimeCode: fc.option(fc.constantFrom('', 'A', 'B "x"')),
  }),
  isBroken: fc.boolean(),
});
const aReading = fc
  .record({
    uwi: fc.constantFrom('A', 'B'),
    from: fc.integer({ min: 1, max: 90 }),
    length: fc.integer({ min: 1, max: 60 }),
    isVerified: fc.boolean(),
    days: fc.array(aDay, { maxLength: 12 }),
  })
  .map(({ uwi: of, from, length, isVerified, days }) => {
    const within = days.filter(({ day }) => day >= from && day < from + length);
    const rows = within
      .filter(({ isBroken }) => !isBroken)
      .map(({ day, values }, index) => row(day * 10 + (index % 2), dayOf(day), values));
    const distinct = [...new Map(rows.map((each) => [each.xid, each])).values()];
    const quarantined = within
      .filter(({ isBroken }) => isBroken)
      .map(({ day }) => unreadable({ xid: 5_000 + day, day: dayOf(day) }));
    return reading(distinct, { uwi: of, from: dayOf(from), to: dayOf(from + length), isVerified, quarantined });
  });

const readings = fc.array(aReading, { minLength: 1, maxLength: 4 });

async function loadAll(warehouse: WarehouseHandle, read: ReadonlyArray<ReturnType<typeof reading>>, atMs?: number) {
  for (const each of read) await load(warehouse, [each], { ...guard, allow: true }, atMs);
}

type Cell = string | number | null;

/** The months as the tables say, a day at a time. */
async function plainMonths(warehouse: WarehouseHandle, basis: RateBasis): Promise<Iterable<MonthOfWell>> {
  const rows = (await ask(
    warehouse,
    'SELECT uwi, production_day, oil_rate, gas_rate, water_rate, water_injection_rate, gas_injection_rate, downtime_hours, downtime_code FROM production_day',
  )) as ReadonlyArray<readonly Cell[]>;
  const broken = (await ask(warehouse, 'SELECT uwi, production_day FROM quarantine')) as ReadonlyArray<readonly Cell[]>;
  const covered = (await ask(warehouse, 'SELECT uwi, from_day, to_day FROM coverage')) as ReadonlyArray<
    readonly string[]
  >;
  const keyOf = (of: Cell | undefined, day: Cell | undefined): string => `${of} ${day}`;
  const byDay = new Map(rows.map((each) => [keyOf(each[0], each[1]), each]));
  const quarantined = new Set(broken.map(([of, day]) => keyOf(of ?? null, day ?? null)));
  const known = [...byDay.keys(), ...quarantined];
  const months = new Map<string, MonthOfWell>();
  const add = (key: string, change: (month: MonthOfWell) => Partial<MonthOfWell>): void => {
    const [of = '', day = ''] = key.split(' ');
    const month = `${day.slice(0, 7)}-01`;
    const none = { oil: null, gas: null, water: null, waterInjected: null, gasInjected: null, downtimeHours: null };
    const old = months.get(`${of} ${month}`) ?? {
      uwi: of,
      month,
      daysPresent: 0,
      daysMissing: 0,
      daysQuarantined: 0,
      hoursOn: null,
      ...none,
      downtimeByCode: null,
    };
    months.set(`${of} ${month}`, { ...old, ...change(old) });
  };
  for (const key of quarantined) add(key, ({ daysQuarantined }) => ({ daysQuarantined: daysQuarantined + 1 }));
  for (const [key, values] of byDay) {
    const [oil, gas, water, waterInjected, gasInjected, down] = values.slice(2, 8) as (number | null)[];
    const hoursDown = down === null || down === undefined ? null : Math.min(24, Math.max(0, down));
    const on = 24 - (hoursDown ?? 0);
    const volume = (of: number | null | undefined): number | null =>
      of === null || of === undefined
        ? null
        : Math.min(1e290, Math.max(-1e290, of)) * (basis === 'operated-day' ? on / 24 : 1);
    const plus = (sum: number | null, of: number | null): number | null => (of === null ? sum : (sum ?? 0) + of);
    const code = String(values[8] ?? '');
    add(key, (month) => ({
      daysPresent: month.daysPresent + (quarantined.has(key) ? 0 : 1),
      hoursOn: (month.hoursOn ?? 0) + on,
      oil: plus(month.oil, volume(oil)),
      gas: plus(month.gas, volume(gas)),
      water: plus(month.water, volume(water)),
      waterInjected: plus(month.waterInjected, volume(waterInjected)),
      gasInjected: plus(month.gasInjected, volume(gasInjected)),
      downtimeHours: plus(month.downtimeHours, hoursDown),
      downtimeByCode: {
        ...month.downtimeByCode,
        ...((hoursDown ?? 0) > 0 ? { [code]: (month.downtimeByCode?.[code] ?? 0) + (hoursDown ?? 0) } : {}),
      },
    }));
  }
  for (const [of = '', from = '', to = ''] of covered) {
    const first = known
      .filter((key) => key.startsWith(`${of} `))
      .toSorted()[0]
      ?.slice(of.length + 1);
    if (first === undefined) continue;
    for (let day = dayNumber(from); day < dayNumber(to); day += 1) {
      const key = keyOf(of, dayText(day));
      if (dayText(day) < first || byDay.has(key) || quarantined.has(key)) continue;
      add(key, ({ daysMissing }) => ({ daysMissing: daysMissing + 1 }));
    }
  }
  return months.values();
}

/** Sums in another order differ in their last digits. */
function rounded(months: Iterable<MonthOfWell>): unknown {
  const round = (value: unknown): unknown => (typeof value === 'number' ? Math.round(value * 1e6) + 0 : value);
  return inOrder(
    [...months].map(({ downtimeByCode, ...month }) => ({
      ...Object.fromEntries(Object.entries(month).map(([name, value]) => [name, round(value)])),
      uwi: month.uwi,
      month: month.month,
      downtimeByCode,
    })),
  );
}

type Days = Pick<MonthOfWell, 'uwi' | 'month' | 'daysPresent' | 'daysMissing' | 'daysQuarantined'>;

function daysOf(months: readonly Days[]): unknown {
  return inOrder(
    months
      .filter((each) => each.daysPresent + each.daysMissing + each.daysQuarantined > 0)
      .map(({ uwi, month, daysPresent, daysMissing, daysQuarantined }) => ({
        uwi,
        month,
        daysPresent,
        daysMissing,
        daysQuarantined,
      })),
  );
}

/** As `wellsync coverage` counts the days. */
async function surveyed(warehouse: WarehouseHandle): Promise<readonly Days[]> {
  const cells = await warehouse.coverage.survey({ toDay: dayNumber('2026-01-01') }, (survey) =>
    survey.cells(['A', 'B']),
  );
  return cells.map(({ uwi, month, present, missing, quarantined }) => ({
    uwi,
    month,
    daysPresent: present,
    daysMissing: missing,
    daysQuarantined: quarantined,
  }));
}

type KnownVolumes = Pick<MonthOfWell, 'uwi' | 'month'> & Partial<Pick<MonthOfWell, 'oil' | 'gas' | 'water'>>;

/** Of the months with a row. */
function volumesOf(months: readonly KnownVolumes[]): unknown {
  const round = (value: number | null | undefined): number => Math.round((value ?? 0) * 1e6) + 0;
  return inOrder(
    months
      .filter(({ oil }) => oil !== null)
      .map(({ uwi, month, oil, gas, water }) => ({
        uwi,
        month,
        oil: round(oil),
        gas: round(gas),
        water: round(water),
      })),
  );
}

function inOrder<Of extends Pick<MonthOfWell, 'uwi' | 'month'>>(months: readonly Of[]): readonly Of[] {
  return months.toSorted((left, right) => (`${left.uwi} ${left.month}` < `${right.uwi} ${right.month}` ? -1 : 1));
}
