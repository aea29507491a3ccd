/** Units of fields, of the volumes that are made of them, and of the columns of a query. */
import { describe, expect, test } from 'vitest';
import {
  dailyUnits,
  headWithUnit,
  isUnit,
  measuredFields,
  monthlyUnits,
  unitsOfQuery,
  withUnit,
} from '../../../../src/core/daily/units.ts';

describe('units', () => {
  test('are those of services of this kind for every number, unless an operator says otherwise', () => {
    const units = dailyUnits({ oilRate: 'm3/d', choke: 'unknown' });
    expect(Object.keys(units)).toHaveLength(measuredFields.length);
    expect(units).toMatchObject({ oil_rate: 'm3/d', gas_rate: 'Mscf/d', choke: 'unknown', pcp_torque: 'lbf-ft' });
    expect(units).toMatchObject({ esp_vibration: 'unknown', downtime_hours: 'h', wellhead_temperature: 'degF' });
    expect(units['downtime_code']).toBeUndefined();
  });

  test.each([
    ['bbl/d', 'bbl'],
    ['m3 / day', 'm3'],
    ['1000 m3/d', '1000 m3'],
    ['m3/h', 'm3/h x d'],
    ['BOPD', 'BOPD x d'],
    ['/d', '/d x d'],
    ['unknown', 'unknown'],
  ])('of a volume follow those of its rate: %s', (rate, volume) => {
    expect(monthlyUnits(dailyUnits({ oilRate: rate }))['oil']).toBe(volume);
  });

  test('are one line that can be read', () => {
    expect(['bbl/d', '1/64 in', '°C', 'm³/d', 'x'.repeat(40)].map(isUnit)).toEqual(Array(5).fill(true));
    const none = ['', ' ', 'bbl/d ', 'a\nb', 'a\tb', 'a\u0000', 'a\u202eb', 'a\u2028b', '\ud800', 'x'.repeat(41)];
    expect(none.filter(isUnit)).toEqual([]);
  });

  test('stand beside a name, and are said to be unknown', () => {
    expect(withUnit('oil', 'bbl')).toBe('oil (bbl)');
    expect(withUnit('choke', 'unknown')).toBe('choke (unit unknown)');
    expect(withUnit('uwi', undefined)).toBe('uwi');
    expect(headWithUnit('oil_rate', { oil_rate: 'bbl/d' })).toBe('oil_rate [bbl/d]');
    expect(headWithUnit('constructor', { oil_rate: 'bbl/d' })).toBe('constructor');
  });

  test('of a query are those of daily production, and of months where it names them', () => {
    const daily = dailyUnits({});
    expect(unitsOfQuery('SELECT oil FROM daily_production', daily)['oil']).toBeUndefined();
    expect(unitsOfQuery('FROM Monthly_Production', daily)).toMatchObject({ oil: 'bbl', oil_rate: 'bbl/d' });
  });
});
