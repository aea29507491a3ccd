/** Each check by its own law: what it finds, and what looks like it and is right. */
import { describe, expect, it } from 'vitest';
import type { Measure } from '../../../../src/core/daily/row.ts';
import { findingsOf, named, recordsFrom } from '../../../support/checked-wells.ts';

type Values = Readonly<Record<string, Measure>>;

const steady = (index: number): Values => ({
  oilRate: 100 + (index % 7) / 10,
  gasRate: 9_000 + (index % 5),
  waterRate: 30 + (index % 3) / 10,
  tubingPressure: 300 + (index % 4),
  casingPressure: 200 + (index % 6),
});

/** Sixty days of 2024 of a steady well, but for what is changed; undefined leaves a day out. */
function field(
  changed: Readonly<Record<number, Values | undefined>> | ((index: number) => Values),
  firstDay = '2024-01-01',
) {
  return recordsFrom(firstDay, 60, (index) => {
    if (typeof changed === 'function') return { ...steady(index), ...changed(index) };
    return index in changed ? changed[index] && { ...steady(index), ...changed[index] } : steady(index);
  });
}

const found = (...given: Parameters<typeof field>): readonly string[] => named(findingsOf(field(...given)));
const day = (index: number): string => new Date(Date.UTC(2024, 0, 1 + index)).toISOString().slice(0, 10);

describe('maybe-missing-zero', () => {
  it('is a pressure or all rates at 0, where the days before had another value', () => {
    expect(found({ 30: { tubingPressure: 0 } })).toEqual([`maybe-missing-zero ${day(30)} tubing_pressure`]);
    const none = { oilRate: 0, gasRate: 0, waterRate: 0 };
    expect(found({ 30: none })).toEqual([`maybe-missing-zero ${day(30)} oil_rate`]);
    expect(found({ 30: { ...none, downtimeHours: 24 } })).toEqual([]);
  });

  it('is no zero of a well that has no gauge, nor of a gauge that begins to report', () => {
    expect(found(() => ({ casingPressure: 0 }))).toEqual([]);
    expect(found((index) => (index < 40 ? { casingPressure: 0 } : {}))).toEqual([]);
  });

  it('is a gauge that died until it is known to be dead', () => {
    const dead = found((index) => (index < 30 ? {} : { casingPressure: 0 }));
    expect(dead.length).toBeGreaterThan(10);
    expect(dead.length).toBeLessThan(20);
  });
});

describe('hours-out-of-bounds and production-while-down', () => {
  it('know the days of 23 and 25 hours of a zone', () => {
    const hours = (downtimeHours: number) => () => ({ downtimeHours, oilRate: 0, gasRate: 0, waterRate: 0 });
    const inOslo = (downtimeHours: number) =>
      named(findingsOf(field(hours(downtimeHours), '2024-03-10'), { timeZone: 'Europe/Oslo' }), 'hours-out-of-bounds');
    // Wells of Volve that were shut in on the last Sunday of March have 24 hours of downtime, and those on for an hour 23.
    expect(inOslo(24)).toEqual([]);
    expect(inOslo(24.005)).toEqual([]);
    expect(inOslo(25)).toHaveLength(60);
    const onForAnHour = field({ 21: { downtimeHours: 23 } }, '2024-03-10');
    expect(named(findingsOf(onForAnHour, { timeZone: 'Europe/Oslo' }))).toEqual([]);
    const autumn = findingsOf(field(hours(25), '2024-10-10'), { timeZone: 'Europe/Oslo' });
    expect(named(autumn, 'hours-out-of-bounds')).not.toContain('hours-out-of-bounds 2024-10-27 downtime_hours');
    expect(named(autumn, 'hours-out-of-bounds')).toHaveLength(59);
  });

  it('are negative hours, and rates of a day that was down as a whole', () => {
    expect(found({ 30: { downtimeHours: -1 } })).toEqual([`hours-out-of-bounds ${day(30)} downtime_hours`]);
    expect(found({ 30: { downtimeHours: 24 } })).toEqual([`production-while-down ${day(30)} oil_rate`]);
    expect(found({ 30: { downtimeHours: 23.9 } })).toEqual([]);
  });

  it('take a well for idle from the day on which its record says so', () => {
    const facts = { isIdle: true, fromDay: Date.UTC(2024, 0, 56) / 86_400_000 };
    expect(named(findingsOf(field({}), { facts }))).toEqual(
      [55, 56, 57, 58, 59].map((index) => `production-while-down ${day(index)} oil_rate`),
    );
  });
});

describe('downtime-reason', () => {
  const coded = (index: number): Values => (index % 5 === 0 ? { downtimeHours: 3, downtimeCode: 'TRIP' } : {});

  it('is an hour without a code, and a code without hours, of a well that has both together', () => {
    const bare = found((index) => (index === 30 ? { downtimeHours: 3 } : coded(index)));
    expect(bare).toEqual([`downtime-reason ${day(30)} downtime_code`]);
    const idle = found((index) => (index === 31 ? { downtimeCode: 'TRIP' } : coded(index)));
    expect(idle).toEqual([`downtime-reason ${day(31)} downtime_hours`]);
  });

  it('is no hour of a well that never has codes, and no code of one that has one on every day', () => {
    expect(found((index) => (index % 5 === 0 ? { downtimeHours: 3 } : {}))).toEqual([]);
    expect(found((index) => ({ downtimeCode: 'NONE', ...coded(index) }))).toEqual([]);
  });
});

describe('rate-or-volume', () => {
  const partial =
    (isOperated: (index: number) => boolean) =>
    (index: number): Values => {
      if (index < 15 || index % 6 !== 0) return {};
      const share = isOperated(index) ? 1 : 0.5;
      return { downtimeHours: 12, oilRate: 100 * share, gasRate: 9_000 * share, waterRate: 30 * share };
    };

  it('is the day on which a well changes from the one to the other', () => {
    expect(found(partial(() => false))).toEqual([]);
    expect(found(partial(() => true))).toEqual([]);
    expect(found(partial((index) => index === 54))).toEqual([`rate-or-volume ${day(54)} oil_rate`]);
    expect(found(partial((index) => index !== 54))).toEqual([`rate-or-volume ${day(54)} oil_rate`]);
  });
});

describe('negative', () => {
  it('is a rate below 0, and a pressure below a vacuum; -0 is 0', () => {
    expect(found({ 30: { waterRate: -0.1 } })).toEqual([`negative ${day(30)} water_rate`]);
    expect(found({ 30: { gaugePressure: -14.7 } })).toEqual([]);
    expect(found({ 30: { gaugePressure: -14.8 } })).toEqual([`negative ${day(30)} gauge_pressure`]);
    expect(found((index) => ({ waterInjectionRate: index === 3 ? -0 : null }))).toEqual([]);
  });
});

describe('stale-repeat', () => {
  it('is the same rates for three days or more, but for the first of them', () => {
    expect(found({ 31: steady(30) })).toEqual([]);
    expect(found({ 31: steady(30), 32: steady(30) })).toEqual(
      [31, 32].map((index) => `stale-repeat ${day(index)} oil_rate`),
    );
    expect(found({ 31: steady(30), 32: undefined, 33: steady(30) })).toEqual([]);
  });

  it('is no run of zeros', () => {
    const down = () => ({ oilRate: 0, gasRate: 0, waterRate: 0, downtimeHours: 24 });
    expect(found(down)).toEqual([]);
  });
});

describe('jump', () => {
  it('is one day unlike those around, of a rate or of a ratio', () => {
    expect(found({ 30: { oilRate: 160 } })).toEqual([`jump ${day(30)} oil_rate`]);
    expect(found({ 30: { gasRate: 3_000 } })).toEqual([`jump ${day(30)} gas_rate`]);
    expect(found({ 30: { oilRate: 120 } })).toEqual([]);
  });

  it('waits for the next settled day: a change that lasts never was one', () => {
    const changed = (index: number): Values => (index < 30 ? {} : { oilRate: 160 });
    const upTo = (last: number, change: Parameters<typeof field>[0]) =>
      named(findingsOf(field(change).slice(0, last + 1)));
    expect([30, 31, 32, 40].flatMap((last) => upTo(last, changed))).toEqual([]);
    const spike = { 30: { oilRate: 160 }, 31: { downtimeHours: 24, oilRate: 0, gasRate: 0, waterRate: 0 } };
    expect(upTo(34, spike)).toEqual([]);
    expect(upTo(35, spike)).toEqual([`jump ${day(30)} oil_rate`]);
  });

  it('is no lasting change, no well that comes back, and no water of a dry well', () => {
    expect(found((index) => (index < 30 ? {} : { oilRate: 160 + (index % 7) / 10 }))).toEqual([]);
    const back = {
      30: { downtimeHours: 24, oilRate: 0, gasRate: 0, waterRate: 0 },
      31: { oilRate: 20 },
      32: { oilRate: 60 },
    };
    expect(found(back)).toEqual([]);
    expect(found((index) => ({ waterRate: index === 30 ? 0.9 : 0.3 + (index % 3) / 100 }))).toEqual([]);
  });
});

describe('excluded-stream', () => {
  const by = (facts: object, values: Values) =>
    named(findingsOf(field({ 30: values }), { facts: { fromDay: 0, ...facts } }));

  it('follows the type and the lift of the record, and finds nothing without one', () => {
    expect(found({ 30: { waterInjectionRate: 5 } })).toEqual([]);
    const injection = [`excluded-stream ${day(30)} water_injection_rate`];
    expect(by({ type: 'producer' }, { waterInjectionRate: 5 })).toEqual(injection);
    expect(by({ lift: 'esp' }, { espFrequency: 0 })).toEqual([`excluded-stream ${day(30)} esp_frequency`]);
    expect(by({ type: 'injector' }, {})).toHaveLength(60);
    expect(by({ lift: 'gas-lift' }, { gasLiftInjectionRate: 4 })).toHaveLength(59);
  });
});

describe('day-identity', () => {
  it('is two records of a day, and a day that has not come', () => {
    const records = field({});
    const twice = [...records, ...records.slice(30, 31)];
    expect(named(findingsOf(twice))).toEqual([`day-identity ${day(30)} record`]);
    const often = Array.from({ length: 65_537 }, () => records[30] ?? records[0]).flatMap((each) => each ?? []);
    expect(named(findingsOf(often))).toEqual([`day-identity ${day(30)} record`]);
    const today = Date.UTC(2024, 0, 59) / 86_400_000;
    expect(named(findingsOf(records, { today }))).toEqual([`day-identity ${day(59)} date`]);
  });

  it('is a change of the hour of date, once, and not that of the clocks', () => {
    const later = (from: number, to: number, hours: number) =>
      field({}).map((record, index) => {
        const atMs = Date.parse(record.date) + (index >= from && index < to ? hours * 3_600_000 : 0);
        return { ...record, date: new Date(atMs).toISOString() };
      });
    expect(named(findingsOf(later(30, 60, 6)))).toEqual([`day-identity ${day(30)} date`]);
    expect(named(findingsOf(later(30, 31, 6)))).toEqual([`day-identity ${day(30)} date`]);
    expect(named(findingsOf(later(30, 60, 1)))).toEqual([]);
  });
});

describe('unit-slip', () => {
  it('is a lasting shift by the ratio of two units, on its first day and back', () => {
    const slipped = (from: number, to: number, factor: number) => (index: number) =>
      index >= from && index < to
        ? { oilRate: (100 + (index % 7) / 10) * factor, gasRate: 9_000 + index }
        : { gasRate: 9_000 + index };
    expect(named(findingsOf(field(slipped(30, 60, 6.2898))), 'unit-slip')).toEqual([`unit-slip ${day(30)} oil_rate`]);
    expect(named(findingsOf(field(slipped(30, 40, 1 / 6.2898))), 'unit-slip')).toEqual(
      [30, 40].map((index) => `unit-slip ${day(index)} oil_rate`),
    );
    expect(named(findingsOf(field(slipped(30, 60, 6))), 'unit-slip')).toEqual([]);
    expect(named(findingsOf(field(slipped(30, 32, 6.2898))), 'unit-slip')).toEqual([]);
  });

  it('is found of a rate that scatters, whichever its first days are', () => {
    const scatter = [0, 0.02, -0.02, 0.01, -0.01, 0.03, -0.03];
    const firstDays = [0.04, 0.045, 0.035];
    const slips = named(
      findingsOf(
        field((index) => {
          const own = index >= 30 && index < 33 ? (firstDays[index - 30] ?? 0) : (scatter[index % 7] ?? 0);
          return { oilRate: (100 * (1 + own)) / (index >= 30 && index < 36 ? 6.2898 : 1) };
        }),
      ),
      'unit-slip',
    );
    expect(slips).toContain(`unit-slip ${day(30)} oil_rate`);
  });
});
