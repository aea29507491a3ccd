/** The daily production of the Volve field, looked at day by day: what stands here is odd in the data. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { grouped } from '../../../../src/core/base/lists.ts';
import { type CheckedRecord, findingsOf } from '../../../support/checked-wells.ts';

const volveFile = path.resolve('../shared/data/volve_daily_production.ndjson');
const lack = existsSync(volveFile) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';

test('of the 15,634 days of the Volve field checks have 81 findings', ({ skip }) => {
  skip(lack !== undefined, lack);
  const lines = readFileSync(volveFile, 'utf8').trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as CheckedRecord);
  const wells = grouped(records, (record) => String(record['uwi']));
  const counts: Record<string, Record<string, number>> = {};
  for (const own of wells.values()) {
    for (const { check, field } of findingsOf(own)) {
      const fields = (counts[check] ??= {});
      fields[field] = (fields[field] ?? 0) + 1;
    }
  }
  expect(counts).toEqual({
    // All seven days with oil at a tubing pressure of 0; casing pressures of F-12 that died in November 2009.
    'maybe-missing-zero': { tubing_pressure: 7, casing_pressure: 16 },
    // -1 on each last Sunday of October.
    'hours-out-of-bounds': { downtime_hours: 20 },
    // The one day with oil, and two with some gas and water.
    'production-while-down': { oil_rate: 1, gas_rate: 2 },
    // A day of 23.4 hours down with the oil of a whole one, and one of 9 hours with more than before.
    'rate-or-volume': { oil_rate: 2 },
    negative: { water_rate: 4 },
    // Among them days on which all wells had a third more water, or a quarter less gas: the allocation.
    jump: { oil_rate: 11, water_rate: 12, gas_rate: 1, gas_oil_ratio: 3, water_cut: 2 },
  });
});
