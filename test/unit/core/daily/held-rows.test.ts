import { expect, it } from 'vitest';
import { charsPerRow, heldRowsOf } from '../../../../src/core/daily/reading.ts';
import { dailyRows, reading, row, unreadable } from '../../../support/warehouse-batches.ts';

it('a reading is held as its rows, its records in quarantine, and what their texts take', () => {
  expect(heldRowsOf(reading([]))).toBe(0);
  expect(heldRowsOf(reading(dailyRows(7)))).toBe(7);
  const extras = JSON.stringify({ remark: 'x'.repeat(4 * charsPerRow) });
  expect(heldRowsOf(reading([{ ...row(1, '2024-01-01'), extras }]))).toBe(1 + 4);
  const quarantined = [unreadable({ raw: 'x'.repeat(10 * charsPerRow) })];
  expect(heldRowsOf(reading(dailyRows(2), { quarantined }))).toBe(2 + 1 + 10);
});
