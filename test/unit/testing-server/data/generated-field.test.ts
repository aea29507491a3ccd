import { describe, expect, it } from 'vitest';
import { type DailyProduction, dailyProductionSchema } from '../../../../src/service/contract.ts';
import {
  type GeneratedFieldOptions,
  generateField,
  type Lift,
} from '../../../../src/testing-server/data/generated-daily.ts';

const fiveYears: GeneratedFieldOptions = { seed: 11, wells: 20, fromDay: '2019-01-01', toDay: '2024-01-01' };
const field = generateField(fiveYears);
const wells = field.wells.map((well) => ({ well, rows: field.rows(well) }));
const producers = wells.filter(({ well }) => well.lift !== 'water-injector');
const everyRow = wells.flatMap(({ rows }) => rows);

/** Fields that belong to one lift only. */
const liftFieldPattern: Record<Exclude<Lift, 'natural-flow'>, RegExp> = {
  'gas-lift': /^gasLift/,
  esp: /^esp/,
  srp: /^srp/,
  pcp: /^pcp/,
  'water-injector': /^waterInjection/,
};

const steady = (row: DailyProduction): boolean => row.downtimeHours === 0;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const firstYear = (rows: readonly DailyProduction[]) => rows.slice(0, 365).filter(steady);
const lastYear = (rows: readonly DailyProduction[]) => rows.slice(-365).filter(steady);

describe('a generated field', () => {
  it('a generated field is the same for the same seed, and differs for another', () => {
    const rowsBySeed = (seed: number) => {
      const again = generateField({ ...fiveYears, seed, wells: 3 });
      return again.wells.map((well) => [well.uwi, again.rows(well)]);
    };
    expect(rowsBySeed(5)).toEqual(rowsBySeed(5));
    expect(rowsBySeed(5)).not.toEqual(rowsBySeed(6));
  });

  it('a well stays the same when the field has more wells', () => {
    const larger = generateField({ ...fiveYears, wells: 40 });
    expect(larger.wells.slice(0, 20)).toEqual(field.wells);
  });

  it('every well has a unique uwi, some with slashes and spaces, and every row a unique xid', () => {
    const uwis = field.wells.map((well) => well.uwi);
    expect(new Set(uwis).size).toBe(20);
    expect(uwis.some((uwi) => uwi.includes('/') && uwi.includes(' '))).toBe(true);
    expect(new Set(everyRow.map((row) => row.xid)).size).toBe(everyRow.length);
  });

  it('a well has a row for each day from its start to the end of the field, as its row count says', () => {
    for (const { well, rows } of wells) {
      expect(rows).toHaveLength(field.rowCount(well));
      const days = rows.map((row) => Date.parse(row.date) / 86_400_000);
      expect(days.every((day, index) => day === (days[0] ?? 0) + index)).toBe(true);
      expect(rows.at(-1)?.date).toBe('2023-12-31T00:00:00Z');
    }
    expect(wells.some(({ well }) => well.startsAfterDays > 0)).toBe(true);
  });

  it('every generated row follows the contract', () => {
    for (const row of everyRow) expect(dailyProductionSchema.safeParse(row).success).toBe(true);
  });
});

describe('a generated day', () => {
  it('a generated day has no negative number', () => {
    const numbers = everyRow.flatMap((row) => Object.values(row).filter((value) => typeof value === 'number'));
    expect(numbers.filter((value) => !(value >= 0 && Number.isFinite(value)))).toEqual([]);
  });

  it('a day with 24 hours of downtime has no production and a code', () => {
    const shutIn = everyRow.filter((row) => row.downtimeHours === 24);
    expect(shutIn.length).toBeGreaterThan(50);
    for (const row of shutIn) {
      expect([row.oilRate, row.gasRate, row.waterRate, row.waterInjectionRate ?? 0]).toEqual([0, 0, 0, 0]);
      expect(row.downtimeCode).toMatch(/^[A-Z]+$/);
    }
    expect(new Set(shutIn.map((row) => row.downtimeCode))).toContain('WORKOVER');
  });

  it('a day with some downtime has less production', () => {
    for (const { rows } of producers) {
      const ratios = rows.flatMap((row, index) => {
        const before = rows[index - 1];
        const hours = row.downtimeHours ?? 0;
        if (before === undefined || !steady(before) || hours < 12 || hours === 24) return [];
        return [row.oilRate / before.oilRate / (1 - hours / 24)];
      });
      expect(ratios.filter((ratio) => Math.abs(ratio - 1) > 0.15)).toEqual([]);
    }
  });

  it('only wells of a lift have its fields', () => {
    expect(new Set(field.wells.map((well) => well.lift)).size).toBe(6);
    for (const { well, rows } of wells) {
      const names = new Set(rows.flatMap((row) => Object.keys(row)));
      for (const [lift, pattern] of Object.entries(liftFieldPattern)) {
        expect({ lift, on: well.lift, has: [...names].some((name) => pattern.test(name)) }).toEqual({
          lift,
          on: well.lift,
          has: well.lift === lift,
        });
      }
    }
  });

  it('optional fields are absent on some wells and null on some days', () => {
    expect(wells.some(({ rows }) => rows.every((row) => !('choke' in row)))).toBe(true);
    expect(everyRow.some((row) => row.gaugePressure === null)).toBe(true);
    expect(everyRow.some((row) => row.downtimeCode === null)).toBe(true);
  });
});

describe('a generated well over the years', () => {
  it.each([
    ['oil rate declines', (row: DailyProduction) => row.oilRate, -1],
    ['gas by oil rises', (row: DailyProduction) => row.gasRate / row.oilRate, 1],
    ['water cut rises', (row: DailyProduction) => row.waterRate / (row.waterRate + row.oilRate), 1],
    ['tubing pressure declines', (row: DailyProduction) => row.tubingPressure, -1],
    ['casing pressure declines', (row: DailyProduction) => row.casingPressure, -1],
  ])('over the years of a well, its %s', (_, quantity, direction) => {
    for (const { rows } of producers) {
      const change = mean(lastYear(rows).map(quantity)) - mean(firstYear(rows).map(quantity));
      expect(Math.sign(change)).toBe(direction);
    }
  });

  it('an injector takes water and does not produce', () => {
    const injectors = wells.filter(({ well }) => well.lift === 'water-injector');
    expect(injectors.length).toBeGreaterThan(0);
    for (const { rows } of injectors) {
      expect(rows.every((row) => row.oilRate === 0 && row.gasRate === 0 && row.waterRate === 0)).toBe(true);
      expect(mean(rows.map((row) => row.waterInjectionRate ?? 0))).toBeGreaterThan(100);
    }
  });
});

it('a field that ends before it begins is refused', () => {
  expect(() => generateField({ fromDay: '2024-01-01', toDay: '2023-01-01' })).toThrow(
    'must be later than the first day',
  );
});
