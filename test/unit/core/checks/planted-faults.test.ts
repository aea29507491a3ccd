/** A generated field with 200 planted faults: what the checks find of them, and what else. */
import { expect, test } from 'vitest';
import type { CheckName } from '../../../../src/core/checks/check.ts';
import { dayNumber, dayText } from '../../../../src/core/time/production-day.ts';
import { HOUR_MS } from '../../../../src/core/time/window.ts';
import { generateField } from '../../../../src/testing-server/data/generated-daily.ts';
import { createRandom, type Random, wholeBetween } from '../../../../src/testing-server/data/rows.ts';
import { type CheckedRecord, findingsOf } from '../../../support/checked-wells.ts';

const field = generateField({ seed: 7, wells: 40, fromDay: '2019-01-01', toDay: '2024-01-01' });
const producers = field.wells.filter(({ lift }) => lift !== 'water-injector');

type Records = CheckedRecord[];

/** Writes a fault into the records at an index; false where it does not fit there. */
type Plant = (records: Records, index: number) => boolean;

const at = (records: Records, index: number): CheckedRecord => records[index] ?? { date: '' };
const number = (record: CheckedRecord, name: string): number => Number(record[name] ?? 0);
const isFull = (record: CheckedRecord): boolean => number(record, 'downtimeHours') <= 1;
const around = (records: Records, index: number, days: number): boolean =>
  records.slice(index - days, index + days + 1).every(isFull);

function scale(records: Records, from: number, days: number, names: readonly string[], factor: number): boolean {
  for (const record of records.slice(from, from + days)) {
    for (const name of names) record[name] = Math.round(number(record, name) * factor * 100) / 100;
  }
  return true;
}

const set = (record: CheckedRecord, values: object): boolean => Object.assign(record, values) === record;

const plants: Readonly<Record<CheckName, readonly Plant[]>> = {
  'maybe-missing-zero': [
    (records, index) => isFull(at(records, index)) && set(at(records, index), { tubingPressure: 0 }),
    (records, index) =>
      isFull(at(records, index)) && set(at(records, index), { oilRate: 0, gasRate: 0, waterRate: 0, downtimeHours: 0 }),
  ],
  'hours-out-of-bounds': [
    (records, index) => set(at(records, index), { downtimeHours: -2 }),
    (records, index) => set(at(records, index), { downtimeHours: 30, oilRate: 0, gasRate: 0, waterRate: 0 }),
  ],
  'production-while-down': [
    (records, index) =>
      isFull(at(records, index)) && set(at(records, index), { downtimeHours: 24, downtimeCode: 'TRIP' }),
  ],
  'downtime-reason': [
    (records, index) => {
      const record = at(records, index);
      return number(record, 'downtimeHours') > 2 && set(record, { downtimeCode: null });
    },
    (records, index) =>
      number(at(records, index), 'downtimeHours') === 0 && set(at(records, index), { downtimeCode: 'TRIP' }),
  ],
  'rate-or-volume': [
    (records, index) => {
      const record = at(records, index);
      const hours = number(record, 'downtimeHours');
      if (!(hours >= 8 && hours < 22) || !records.slice(index - 14, index).every(isFull)) return false;
      return scale(records, index, 1, ['oilRate', 'gasRate', 'waterRate'], 24 / (24 - hours));
    },
  ],
  negative: [
    (records, index) => set(at(records, index), { waterRate: -number(at(records, index), 'waterRate') - 1 }),
    (records, index) => set(at(records, index), { casingPressure: -20 }),
  ],
  'stale-repeat': [
    (records, index) => {
      if (!around(records, index, 3)) return false;
      const { oilRate, gasRate, waterRate } = at(records, index);
      return [1, 2, 3].every((next) => set(at(records, index + next), { oilRate, gasRate, waterRate }));
    },
  ],
  jump: [
    (records, index) => around(records, index, 7) && scale(records, index, 1, ['oilRate'], 2),
    (records, index) => around(records, index, 7) && scale(records, index, 1, ['gasRate'], 0.4),
    (records, index) => around(records, index, 7) && scale(records, index, 1, ['waterRate'], 3),
  ],
  'excluded-stream': [(records, index) => set(at(records, index), { waterInjectionRate: 500 })],
  'day-identity': [
    (records, index) => {
      records.splice(index, 0, { ...at(records, index) });
      return true;
    },
    (records, index) => {
      for (const record of records.slice(index)) {
        record.date = new Date(Date.parse(record.date) + 6 * HOUR_MS).toISOString();
      }
      return true;
    },
  ],
  'unit-slip': [
    (records, index) => around(records, index, 7) && scale(records, index, 6, ['oilRate'], 6.2898),
    (records, index) => around(records, index, 7) && scale(records, index, 6, ['gasRate'], 1 / 35.3147),
    (records, index) => around(records, index, 7) && scale(records, index, 6, ['tubingPressure'], 14.5038),
  ],
};

interface Fault {
  readonly check: CheckName;
  readonly uwi: string;
  readonly day: number;
}

/** Faults of all checks in turn, in wells in turn, at least 45 days apart. */
function plant(recordsByWell: ReadonlyMap<string, Records>, count: number, random: Random): readonly Fault[] {
  const checks = Object.keys(plants) as readonly CheckName[];
  const faults: Fault[] = [];
  const taken = new Map<string, number[]>([...recordsByWell.keys()].map((uwi) => [uwi, []]));
  const uwis = [...recordsByWell.keys()];
  for (let tries = 0; faults.length < count; tries += 1) {
    const check = checks[faults.length % checks.length] ?? 'jump';
    const ways = plants[check];
    const uwi = uwis[tries % uwis.length] ?? '';
    const records = recordsByWell.get(uwi) ?? [];
    const index = wholeBetween(random, 60, records.length - 60);
    const day = dayNumber(at(records, index).date.slice(0, 10));
    const isNear = taken.get(uwi)?.some((other) => Math.abs(other - day) < 45);
    const way = ways[Math.floor(faults.length / checks.length) % ways.length];
    if (isNear === true || way?.(records, index) !== true) continue;
    taken.get(uwi)?.push(day);
    faults.push({ check, uwi, day });
  }
  return faults;
}

const facts = { type: 'producer', fromDay: 0 } as const;

function recordsOf(): ReadonlyMap<string, Records> {
  return new Map(producers.map((well) => [well.uwi, field.rows(well).map((row) => ({ ...row }) as CheckedRecord)]));
}

/** By check. A finding within days of a fault is of it, whichever check found it. */
function tally(recordsByWell: ReadonlyMap<string, Records>, faults: readonly Fault[]) {
  const found = new Set<Fault>();
  const others: string[] = [];
  for (const [uwi, records] of recordsByWell) {
    const own = faults.filter((fault) => fault.uwi === uwi);
    for (const { check, day } of findingsOf(records, { facts })) {
      const near = own.filter((fault) => Math.abs(fault.day - day) <= 7);
      for (const fault of near) if (fault.check === check) found.add(fault);
      if (near.length === 0) others.push(`${check} ${uwi} ${dayText(day)}`);
    }
  }
  const count = (list: Iterable<{ readonly check: CheckName } | string>) => {
    const counts: Partial<Record<string, number>> = {};
    for (const each of list) {
      const name = typeof each === 'string' ? (each.split(' ')[0] ?? '') : each.check;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  return { found: count(found), missed: count(faults.filter((fault) => !found.has(fault))), false: count(others) };
}

test('of 200 planted faults 197 are found, and nothing else', () => {
  const recordsByWell = recordsOf();
  const faults = plant(recordsByWell, 200, createRandom('faults'));
  expect(tally(recordsByWell, faults)).toEqual({
    found: {
      'maybe-missing-zero': 19,
      'hours-out-of-bounds': 19,
      'production-while-down': 18,
      'downtime-reason': 17,
      'rate-or-volume': 17,
      negative: 18,
      'stale-repeat': 18,
      jump: 18,
      'excluded-stream': 18,
      'day-identity': 18,
      'unit-slip': 17,
    },
    missed: { 'downtime-reason': 1, 'rate-or-volume': 1, 'unit-slip': 1 },
    false: {},
  });
});

test('in the field as it was generated nothing is found', () => {
  const recordsByWell = recordsOf();
  const days = [...recordsByWell.values()].reduce((sum, { length }) => sum + length, 0);
  expect({ days, ...tally(recordsByWell, []) }).toEqual({ days: 64_146, found: {}, missed: {}, false: {} });
});
