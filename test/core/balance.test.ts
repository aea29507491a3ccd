import { expect, it } from 'vitest';
import { balanceExport } from '../../src/core/balance.ts';

const counts = { read: 21, inserted: 1, updated: 2, unchanged: 3, repeated: 4, outsideWindow: 5, quarantined: 6 };

it('G2: an export balances when every record that was read is accounted for, and says so in figures', () => {
  expect(balanceExport(counts)).toEqual({
    balanced: true,
    statement: '21 read = 1 inserted + 2 updated + 3 unchanged + 4 repeated + 5 outsideWindow + 6 quarantined',
  });
});

it('G2: one record that is lost or told twice unbalances it', () => {
  expect(balanceExport({ ...counts, read: 22 }).balanced).toBe(false);
  expect(balanceExport({ ...counts, repeated: 5 }).balanced).toBe(false);
  expect(balanceExport({ ...counts, read: 22 }).statement).toContain('≠');
});

it('counts that are not part of the sum do not matter to it', () => {
  expect(balanceExport({ ...counts, removed: 9, defaulted: 2, requests: 40 }).balanced).toBe(true);
});

it('a run that read nothing balances', () => {
  expect(balanceExport({}).balanced).toBe(true);
});
