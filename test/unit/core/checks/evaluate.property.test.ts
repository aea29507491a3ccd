/** What all checks have in common, over any numbers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate, type Finding, readDays } from '../../../../src/core/checks/evaluate.ts';
import {
  checkNames,
  type CheckSettings,
  indexOfDay,
  noHistory,
  valueAt,
  type WellDays,
} from '../../../../src/core/checks/check.ts';
import type { Measure } from '../../../../src/core/daily/row.ts';
import { checksOf } from '../../../support/check-settings.ts';
import {
  type CheckedRecord,
  daysOf,
  findingsOf,
  rangeOf,
  recordsFrom,
  wellOf,
} from '../../../support/checked-wells.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const { settings } = checksOf();
/** But for those that rest on the whole past of a well. */
const local = { ...settings, names: checkNames.filter((name) => name !== 'rate-or-volume') };

const someNumber = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(0, -0, 1, 100, 101, 300, 628.98, -1, -15, 24, 25, 6) },
  fc.constantFrom(1e308, -1e308, 5e-324, 1e-8),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const numbers = ['oilRate', 'gasRate', 'waterRate', 'tubingPressure', 'casingPressure'];
const optional = [
  'gaugePressure',
  'espFrequency',
  'gasLiftInjectionRate',
  'waterInjectionRate',
  'gasInjectionRate',
  'downtimeHours',
];
const values = fc.record({
  ...Object.fromEntries(numbers.map((name) => [name, someNumber])),
  ...Object.fromEntries(optional.map((name) => [name, fc.option(someNumber)])),
  downtimeCode: fc.option(fc.constantFrom('A', 'B', '', ' ', '__proto__', 'constructor')),
});

/** Days around the year 1, a leap day, a change of the clocks and the year 9999, with gaps. */
const someRecords = fc
  .tuple(
    fc.constantFrom('0001-01-02', '1970-01-01', '2024-02-20', '2024-03-20', '9999-01-01'),
    fc.array(fc.option(values, { freq: 8 }), { maxLength: 120 }),
  )
  .map(([first, list]) => recordsFrom(first, list.length, (index) => list[index] ?? undefined));

const facts = fc.option(
  fc.record({
    type: fc.constantFrom('producer' as const, 'injector' as const, undefined),
    isIdle: fc.boolean(),
    lift: fc.constantFrom('esp' as const, 'gas-lift' as const, undefined),
    fromDay: fc.constantFrom(-1e6, 19_780, 1e6),
  }),
  { nil: undefined },
);

const ordered = (findings: readonly Finding[]): readonly string[] =>
  findings.map((finding) => JSON.stringify(finding)).toSorted();

describe('the checks of a well', () => {
  it('never throw, and find at most one thing a day each, on days that have a row, in numbers that JSON has', () => {
    const property = fc.property(someRecords, facts, fc.nat(40_000), (records, known, today) => {
      const days = daysOf(records);
      const well = wellOf(days, { facts: known, today, timeZone: 'Europe/Oslo' });
      const { findings } = evaluate(well, rangeOf(days), settings);
      const keys = findings.map(({ check, day }) => `${check} ${day}`);
      expect(new Set(keys).size).toBe(keys.length);
      const stored = new Set(days.days.subarray(0, days.length));
      for (const { day, value, expected } of findings) {
        expect(stored.has(day)).toBe(true);
        for (const number of [value, expected]) if (number !== null) expect(Number.isFinite(number)).toBe(true);
      }
      expect(findings.some(({ value, expected }) => Object.is(value, -0) || Object.is(expected, -0))).toBe(false);
    });
    expectForAll(property, 300);
  });

  it('find the same whatever the order of the rows', () => {
    const property = fc.property(someRecords, fc.infiniteStream(fc.nat()), (records, stream) => {
      const shuffled = records
        .map((record) => ({ record, place: stream.next().value ?? 0 }))
        .toSorted((left, right) => left.place - right.place)
        .map(({ record }) => record);
      expect(findingsOf(shuffled)).toEqual(findingsOf(records));
    });
    expectForAll(property, 100);
  });

  it('find the same of each part as of the whole: a change reaches no farther than what is evaluated again', () => {
    const property = fc.property(someRecords, fc.nat(119), fc.nat(9), values, expectSameOfPart(local));
    expectForAll(property, 300);
  });

  it('find the same of each part of a well that flows on most days, of which fewer days are judged again', () => {
    const few = { ...local, jump: { ...local.jump, days: 3, settleDays: 1 }, repeatDays: 5 };
    for (const chosen of [local, few]) {
      const property = fc.property(flowingRecords, fc.nat(119), fc.nat(4), flowing, expectSameOfPart(chosen));
      expectForAll(property, 300);
    }
  });

  it.each([
    { what: 'an old day', count: 400, fault: 99, hasHistory: true },
    { what: 'a day of a well of which no history is kept', count: 60, fault: 57, hasHistory: false },
  ])('find a change of habit on $what again', ({ count, fault, hasHistory }) => {
    const records = recordsFrom('2024-02-20', count, (index) => ({
      oilRate: index === fault ? 50 : 100,
      downtimeHours: index % 3 === 0 ? 12 : 0,
    }));
    const days = daysOf(records);
    const whole = evaluate(wellOf(days), rangeOf(days), settings);
    const faultDay = (days.days[0] ?? 0) + fault;
    const touched = { fromDay: faultDay, toDay: faultDay };
    const read = readDays(touched);
    const part = slice(days, indexOfDay(days, read.fromDay), indexOfDay(days, read.toDay + 1));
    const again = evaluate(wellOf(part, hasHistory ? { history: whole.history } : {}), touched, settings);
    const ofHabit = ({ check }: Finding): boolean => check === 'rate-or-volume';
    expect(again.findings.filter(ofHabit)).toEqual(whole.findings.filter(ofHabit));
    expect(whole.findings.filter(ofHabit).map(({ day }) => day)).toEqual([faultDay]);
  });

  it.each(['jump', 'negative'] as const)('let findings go of %s around a changed day once it is not made', (check) => {
    const days = daysOf(recordsFrom('2024-02-20', 60, () => ({ oilRate: 100 })));
    const lastDay = (days.days[0] ?? 0) + 59;
    const names = settings.names.filter((name) => name !== check);
    const { rangeOf: evaluated } = evaluate(wellOf(days), { fromDay: lastDay, toDay: lastDay }, { ...settings, names });
    expect(evaluated(check)).toEqual({ fromDay: lastDay - 30, toDay: lastDay + 30 });
  });

  it('find no day of the future any more that has come, whatever day is changed', () => {
    const records = recordsFrom('2024-02-20', 40, () => ({ oilRate: 100 }));
    const days = daysOf(records);
    const lastDay = (days.days[0] ?? 0) + 39;
    const { findings, rangeOf: evaluated } = evaluate(
      wellOf(days, { today: lastDay - 1 }),
      { fromDay: lastDay, toDay: lastDay },
      settings,
    );
    expect(findings.filter(({ check }) => check === 'day-identity').map(({ day }) => day)).toEqual([lastDay]);
    expect(evaluated('day-identity').fromDay).toBeLessThan(lastDay - 20);
  });
});

/** A day like the days around, and now and then one that stands out, was down, or has a rate that makes no ratio. */
const flowing = fc
  .tuple(
    fc.oneof(fc.constant(1), fc.double({ min: 0.97, max: 1.03, noNaN: true })),
    fc.oneof(
      { weight: 12, arbitrary: fc.constant({}) },
      fc.constantFrom({ oilRate: 300 }, { gasRate: 5 }, { waterRate: 400 }, { oilRate: 628.98 }, { oilRate: 100 }),
      fc.constantFrom({ downtimeHours: 24 }, { downtimeHours: 10, downtimeCode: 'A' }, { oilRate: 0 }, { gasRate: -1 }),
    ),
  )
  .map(([share, own]) => {
    const rates = { oilRate: 100 * share, gasRate: 9_000 / share, waterRate: 40 * share };
    return { ...rates, tubingPressure: 30, casingPressure: 20, downtimeHours: 0, downtimeCode: null, ...own };
  });

/** From some day on the oil is in another unit, and from some day on the well has gauges. */
const flowingRecords = fc
  .tuple(fc.array(fc.option(flowing, { freq: 40 }), { minLength: 40, maxLength: 120 }), fc.nat(240), fc.nat(240))
  .map(([list, slipFrom, gaugesFrom]) =>
    recordsFrom('2024-02-20', list.length, (index) => {
      const record = list[index];
      if (!record) return undefined;
      const slipped = index < slipFrom ? record : { ...record, oilRate: record.oilRate * 6.289_8 };
      return index < gaugesFrom ? { ...slipped, tubingPressure: 0, casingPressure: 0 } : slipped;
    }),
  );

type Values = Readonly<Record<string, Measure>>;

/** Changes `length` records from `from` on, and evaluates what that touches again beside what stands of the other days. */
function expectSameOfPart(
  chosen: CheckSettings,
): (records: readonly CheckedRecord[], from: number, length: number, other: Values) => void {
  return (records, from, length, other) => {
    fc.pre(records.length > 0);
    const changed = records.map((record, index): CheckedRecord =>
      index >= from && index < from + length ? { ...record, ...other } : record,
    );
    const before = evaluateAll(records, chosen);
    const days = daysOf(changed);
    const touched = {
      fromDay: days.days[from] ?? 1e9,
      toDay: days.days[Math.min(days.length, from + length) - 1] ?? -1e9,
    };
    fc.pre(touched.fromDay <= touched.toDay);
    const read = readDays(touched);
    const part = slice(days, indexOfDay(days, read.fromDay), indexOfDay(days, read.toDay + 1));
    const well = wellOf(part, { history: { ...noHistory, codesKnownTo: 1e6 } });
    const { findings: again, rangeOf: evaluated } = evaluate(well, touched, chosen);
    const kept = before.filter(({ check, day }) => day < evaluated(check).fromDay || day > evaluated(check).toDay);
    expect(ordered([...kept, ...again])).toEqual(ordered(evaluateAll(changed, chosen)));
  };
}

function evaluateAll(records: readonly CheckedRecord[], chosen: CheckSettings): readonly Finding[] {
  const days = daysOf(records);
  return evaluate(wellOf(days, { history: { ...noHistory, codesKnownTo: 1e6 } }), rangeOf(days), chosen).findings;
}

function slice(days: WellDays, from: number, to: number): WellDays {
  return {
    length: to - from,
    days: days.days.subarray(from, to),
    instantsMs: days.instantsMs.subarray(from, to),
    records: days.records?.subarray(from, to),
    values: Object.fromEntries(
      Object.entries(days.values).map(([field, column]) => [
        field,
        column && Float64Array.from({ length: to - from }, (_, index) => valueAt(column, from + index)),
      ]),
    ) as WellDays['values'],
    codes: days.codes?.slice(from, to),
  };
}
