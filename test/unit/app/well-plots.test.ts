import { describe, expect, test } from 'vitest';
import { plotsOf, unitsOfWell } from '../../../src/app/wells/well-plots.ts';

const units = unitsOfWell({ units: {} });
const shown = (columns: readonly string[], given = units) =>
  plotsOf(columns, given).map(({ title, unit, lines }) => [title, unit, lines.map(({ column }) => column).join(' ')]);

describe('the plots of a well', () => {
  test('have one unit each: oil, water and their sum are one, gas is its own', () => {
    expect(shown(['oil_rate', 'gas_rate', 'water_rate', 'tubing_pressure'])).toEqual([
      ['Liquids', 'bbl/d', 'oil_rate water_rate liquid_rate'],
      ['Gas', 'Mscf/d', 'gas_rate'],
      ['Pressures', 'psig', 'tubing_pressure'],
      ['Water cut', '%', 'water_cut'],
      ['Gas-oil ratio', 'Mscf/bbl', 'gas_oil_ratio'],
    ]);
  });

  test('do not share an axis where an operator gives them other units', () => {
    const others = unitsOfWell({ units: { waterRate: 'm3/d', linePressure: 'bar' } });
    expect(shown(['oil_rate', 'water_rate', 'tubing_pressure', 'line_pressure'], others)).toEqual([
      ['Oil', 'bbl/d', 'oil_rate'],
      ['Water', 'm3/d', 'water_rate'],
      ['Pressures', 'psig', 'tubing_pressure'],
      ['Pressures', 'bar', 'line_pressure'],
    ]);
  });

  test('are of what has a value: an injector has no empty plot of oil', () => {
    expect(shown(['water_injection_rate'])).toEqual([['Water injected', 'bbl/d', 'water_injection_rate']]);
    expect(shown([])).toEqual([['Liquids', 'bbl/d', 'oil_rate water_rate liquid_rate']]);
  });
});
