import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { cleanup } from '../../../../jobs/cleanup/job.ts';
import { dailyProduction, dailyProductionGaps } from '../../../../jobs/daily-production/settings.ts';
import { describeList, wells } from '../../../../jobs/definitions.ts';
import { recordLists } from '../../../../src/core/definitions/record-list.ts';
import { dryRunCounts, networkPipes } from '../../../../jobs/network-pipes/counts.ts';
import { balanceOf, balanceOfCounts } from '../../../../src/core/run/balance.ts';
import {
  type CountDescription,
  type JobDescription,
  unknownJob,
  wholeOf,
} from '../../../../src/core/run/job-description.ts';
import type { Counts } from '../../../../src/core/run/run.ts';

const noUnits = { total: 0, done: 0, held: 0, failed: 0, cancelled: 0 };
const count = fc.nat(1_000_000);
const partsOf = (described: readonly CountDescription[]): readonly string[] =>
  described.filter(({ inSum }) => inSum === 'part').map(({ name }) => name);

/** A figure for every count that a job describes, and for some others. */
function countsOf(described: readonly CountDescription[]): fc.Arbitrary<Counts> {
  const names = [...described.map(({ name }) => name), 'requests'];
  return fc.dictionary(fc.constantFrom(...names), count);
}

/** Both sides as the statement prints them. */
function sidesOf(statement: string): readonly [left: number, right: number] {
  const [left = '', right = ''] = statement.split(/ [=≠] /);
  const figures = right.split(' + ').map((term) => Number.parseInt(term, 10));
  return [Number.parseInt(left, 10), figures.reduce((sum, each) => sum + each, 0)];
}

describe('the sum of counts', () => {
  const jobs: readonly Pick<JobDescription, 'name' | 'counts'>[] = [
    dailyProduction,
    dailyProductionGaps,
    ...recordLists.map(describeList),
    wells,
    networkPipes,
    { name: 'a dry run', counts: dryRunCounts },
  ];

  test.each(jobs)('G2: $name balances exactly where the parts that the job declares sum to the whole', (job) => {
    const whole = wholeOf(job) ?? '';
    expect(partsOf(job.counts).length).toBeGreaterThan(1);
    fc.assert(
      fc.property(countsOf(job.counts), fc.integer({ min: -2, max: 2 }), (found, off) => {
        const sum = partsOf(job.counts).reduce((total, name) => total + (found[name] ?? 0), 0);
        const counts: Counts = { ...found, [whole]: sum + off };
        const { balanced, statement } = balanceOfCounts(job, counts);
        expect(balanced).toBe(off === 0);
        expect(sidesOf(statement)).toEqual([sum + off, sum]);
        expect(statement.includes('≠')).toBe(off !== 0);
      }),
    );
  });

  test('names every part of the sum, the empty ones too', () => {
    expect(balanceOfCounts(networkPipes, { rows: 3, accepted: 3 }).statement).toBe(
      '3 rows = 3 accepted + 0 superseded + 0 rejectedByUs + 0 rejectedByService + 0 failed',
    );
  });
});

describe('the sum of units', () => {
  test('G2: a job whose counts are of its units balances where they and the units without an outcome sum to all', () => {
    const units = fc.record({ failed: count, cancelled: fc.oneof(fc.constant(0), count) });
    fc.assert(
      fc.property(countsOf(cleanup.counts), units, fc.integer({ min: -2, max: 2 }), (counts, states, off) => {
        const settled = partsOf(cleanup.counts).reduce((total, name) => total + (counts[name] ?? 0), 0);
        const sum = settled + states.failed + states.cancelled;
        const { balanced, statement } = balanceOf(cleanup, counts, { ...noUnits, ...states, total: sum + off });
        expect(balanced).toBe(off === 0);
        expect(sidesOf(statement)).toEqual([sum + off, sum]);
      }),
    );
  });

  test('a job that declares no sum accounts for its units by their states', () => {
    const units = { total: 10, done: 5, held: 2, failed: 2, cancelled: 1 };
    expect(balanceOf(unknownJob('x'), {}, units)).toEqual({
      balanced: true,
      statement: '10 units = 5 done + 2 held + 2 failed + 1 cancelled',
    });
    expect(balanceOf(unknownJob('x'), {}, { ...units, done: 4 }).balanced).toBe(false);
  });
});

const counts = {
  read: 28,
  inserted: 1,
  updated: 2,
  unchanged: 3,
  repeated: 4,
  outsideWindow: 5,
  quarantined: 6,
  accepted: 7,
};

it('G2: an export balances when every record read is counted, and shows the figures', () => {
  expect(balanceOfCounts(dailyProduction, counts)).toEqual({
    balanced: true,
    statement:
      '28 read = 1 inserted + 2 updated + 3 unchanged + 4 repeated + 5 outsideWindow + 6 quarantined + 7 accepted',
  });
});

it('G2: one record lost or counted twice unbalances an export', () => {
  expect(balanceOfCounts(dailyProduction, { ...counts, read: 29 }).balanced).toBe(false);
  expect(balanceOfCounts(dailyProduction, { ...counts, repeated: 5 }).balanced).toBe(false);
  expect(balanceOfCounts(dailyProduction, { ...counts, read: 29 }).statement).toContain('≠');
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
      statement: expect.stringMatching(/ accepted; 120 rows before \+ 1 inserted - 20 removed = 101 rows after$/),
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
