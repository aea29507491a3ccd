import { expect, test } from 'vitest';
import { gasOilRatioOf, liquidOf, ratioUnit, waterCutOf } from '../../../../src/core/daily/units.ts';

test('water cut is of the liquid, and not defined without liquid or of a negative rate', () => {
  expect(waterCutOf(30, 10)).toBe(25);
  expect(waterCutOf(0, 10)).toBe(100);
  for (const [oil, water] of [
    [0, 0],
    [30, -1],
    [-1, 30],
    [null, 1],
    [1, null],
  ] as const)
    expect([oil, water, waterCutOf(oil, water)]).toEqual([oil, water, null]);
});

test('the gas-oil ratio is not defined without oil', () => {
  expect(gasOilRatioOf(4, 10)).toBe(2.5);
  expect(gasOilRatioOf(4, 0)).toBe(0);
  for (const [oil, gas] of [
    [0, 10],
    [-1, 10],
    [4, -1],
    [null, 10],
    [4, null],
  ] as const)
    expect([oil, gas, gasOilRatioOf(oil, gas)]).toEqual([oil, gas, null]);
});

test('liquid is the sum as it was measured, a negative value with it', () => {
  expect([liquidOf(0.1, 0.2), liquidOf(3, -1), liquidOf(null, 1)]).toEqual([0.3, 2, null]);
});

test('the unit of a ratio is that of the amounts, and unknown where one is', () => {
  expect(ratioUnit('Mscf/d', 'bbl/d')).toBe('Mscf/bbl');
  expect(ratioUnit('Sm3/day', 'Sm3/d')).toBe('Sm3/Sm3');
  expect(ratioUnit('m3/h', 'bbl/d')).toBe('(m3/h)/(bbl/d)');
  expect(ratioUnit('unknown', 'bbl/d')).toBe('unknown');
  expect(ratioUnit(undefined, 'bbl/d')).toBe('unknown');
});
