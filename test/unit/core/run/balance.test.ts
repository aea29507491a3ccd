import { describe, expect, it } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import { balanceOf, balanceOfCounts } from '../../../../src/core/run/balance.ts';

const counts = { read: 21, inserted: 1, updated: 2, unchanged: 3, repeated: 4, outsideWindow: 5, quarantined: 6 };

it('G2: an export balances when every record read is counted, and shows the figures', () => {
  expect(balanceOfCounts(dailyProduction, counts)).toEqual({
    balanced: true,
    statement: '21 read = 1 inserted + 2 updated + 3 unchanged + 4 repeated + 5 outsideWindow + 6 quarantined',
  });
});

it('G2: one record lost or counted twice unbalances an export', () => {
  expect(balanceOfCounts(dailyProduction, { ...counts, read: 22 }).balanced).toBe(false);
  expect(balanceOfCounts(dailyProduction, { ...counts, repeated: 5 }).balanced).toBe(false);
  expect(balanceOfCounts(dailyProduction, { ...counts, read: 22 }).statement).toContain('≠');
});

it('counts that are not part of the sum do not matter to it', () => {
  expect(balanceOfCounts(dailyProduction, { ...counts, removed: 9, defaulted: 2, requests: 40 }).balanced).toBe(true);
});

it('a run that read nothing balances', () => {
  expect(balanceOfCounts(dailyProduction, {}).balanced).toBe(true);
});

describe('the rows of the windows of an export', () => {
  const units = { total: 2, done: 2, held: 0, failed: 0, cancelled: 0 };
  const stock = { rowsBefore: 120, removed: 20, rowsAfter: 101, rowsAdrift: 0 };

  it('G2: removed rows are in a sum with the rows before and after', () => {
    expect(balanceOf(dailyProduction, { ...counts, ...stock }, units)).toMatchObject({
      balanced: true,
      statement: expect.stringMatching(/ quarantined; 120 rows before \+ 1 inserted - 20 removed = 101 rows after$/),
    });
  });

  it('G2: a merge that removed other rows than it counted unbalances an export, also where two windows cancel out', () => {
    const lost = balanceOf(dailyProduction, { ...counts, ...stock, rowsAfter: 99, rowsAdrift: 2 }, units);
    expect(lost).toMatchObject({ balanced: false, statement: expect.stringContaining('≠ 99 rows after') });
    const swapped = balanceOf(dailyProduction, { ...counts, ...stock, rowsAdrift: 4 }, units);
    expect(swapped).toMatchObject({
      balanced: false,
      statement: expect.stringContaining('4 rows in the wrong window'),
    });
  });

  it('units of an earlier version, which did not count them, balance', () => {
    expect(balanceOf(dailyProduction, { ...counts, removed: 7 }, units).balanced).toBe(true);
  });
});
