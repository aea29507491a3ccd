/**
 * The matrix: the reader of the service against the testing server over real HTTP, in the combinations of undocumented
 * behaviour: in the full suite all of them, or one in seven where only the limit differs; else enough to have each value of
 * each choice several times. Each expects exactly the right rows, and no more requests than the rule promises.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  combinationsOf,
  daysOf,
  expectedDays,
  MatrixCost,
  startMatrix,
  wellSizes,
  type Combination,
  type Matrix,
} from '../../support/export-matrix.ts';
import { bySuite } from '../../support/suite-size.ts';

let matrix: Matrix;
beforeAll(async () => {
  matrix = await startMatrix();
});
afterAll(() => matrix[Symbol.asyncDispose]());

/** Rows that the service sends for a well: requests extend the window by less than a day before it, and a day behind it. */
function rowsSent(size: number, { startBound, endBound }: Combination): number {
  const before = startBound === 'ignored' ? 3 : 0;
  const after = endBound === 'ignored' ? 3 : 1 + Number(endBound !== 'exclusive');
  return before + size + after;
}

function pagesOf(rows: number, pageSize: number): number {
  return Math.max(1, Math.ceil(rows / pageSize));
}

/** Overlapping pages are a few more. */
function overlapsOf(pages: number, pageSize: number): number {
  return Math.ceil(pages ** 2 / pageSize);
}

/** Throws unless each value of each choice occurs. */
function chosen<Each extends object>(all: readonly Each[]): readonly Each[] {
  const step = bySuite(67, 1);
  const some = every(step, all);
  expect(valuesIn(some)).toEqual(valuesIn(all));
  return some;
}

/**
 * In the full suite every combination meets a service that grants the limit, and one in seven meets each of the other
 * services: seven shares no factor with the number of values of any choice, so each value still occurs.
 */
const oneOf = bySuite(1, 7);

function every<Each>(step: number, all: readonly Each[]): readonly Each[] {
  return all.filter((_, index) => index % step === 0);
}

function valuesIn(combinations: readonly object[]): ReadonlySet<string> {
  return new Set(combinations.flatMap((each) => Object.entries(each).map((choice) => JSON.stringify(choice))));
}

describe('G4: an export returns exactly the rows of the window, within the bound on requests, from every kind of service', () => {
  const paged = chosen(
    combinationsOf({
      pageBase: [0, 1] as const,
      belowBase: ['bad-request', 'not-found', 'empty', 'first-page'] as const,
      pastEnd: ['empty', 'not-found', 'last-page'] as const,
      order: ['ascending', 'descending', 'shuffled'] as const,
      bounds: [
        ['inclusive', 'inclusive'],
        ['inclusive', 'exclusive'],
        ['exclusive', 'inclusive'],
        ['exclusive', 'exclusive'],
        ['ignored', 'ignored'],
      ] as const,
      compression: ['none', 'always'] as const,
    }),
  );

  it.each([
    ['grants the limit', { maxLimit: 100 }, 15, 15, 0, 1],
    ['clamps it', { maxLimit: 12 }, 50, 12, 0, oneOf],
    ['refuses it and grants another', { maxLimit: 100, overLimit: 'bad-request' }, 1_000, 100, 1, oneOf],
  ] as const)('%s', async (_name, limits, pageLimit, pageSize, refusals, step) => {
    const careful = new MatrixCost();
    const profiled = new MatrixCost();
    const met = every(step, paged);
    expect(valuesIn(met)).toEqual(valuesIn(paged));
    for (const [index, { bounds, ...paging }] of met.entries()) {
      const [startBound, endBound] = bounds;
      const combination = { ...paging, ...limits, startBound, endBound, defaultLimit: 11 };
      await matrix.become(combination);
      const profile = await matrix.probe();
      for (const size of [60, wellSizes[index % wellSizes.length] ?? 0]) {
        const rows = rowsSent(size, combination);
        const pages = pagesOf(rows, pageSize);
        const overlaps = overlapsOf(pages, pageSize);
        const slow = await matrix.read(size, pageLimit);
        expect.soft(daysOf(slow.reading), words(combination, size)).toEqual(expectedDays(size));
        // No page overlaps so few rows: a 404 behind them has to be proven.
        const proof = rows < 3 ? 1 : 0;
        const some = pages + overlaps + 2 + proof + 2 * refusals;
        expect.soft(slow.requests, words(combination, size)).toBeLessThanOrEqual(some);
        const quick = await matrix.read(size, pageLimit, profile);
        expect.soft(daysOf(quick.reading), words(combination, size)).toEqual(expectedDays(size));
        const few = pages + overlaps + (rows < 3 ? 2 : 1);
        expect.soft(quick.requests, words(combination, size)).toBeLessThanOrEqual(few);
        expect.soft(quick.reading.profileMisfit, words(combination, size)).toBeUndefined();
        careful.add(slow, pages);
        profiled.add(quick, pages);
      }
    }
    console.log(
      `${met.length} combinations\n  without profile: ${careful.words()}\n  with profile:    ${profiled.words()}`,
    );
  });

  it('refuses every limit above its default, where none is sent', async () => {
    const tally = new MatrixCost();
    const met = every(oneOf, paged);
    expect(valuesIn(met)).toEqual(valuesIn(paged));
    for (const { bounds, ...paging } of met) {
      const [startBound, endBound] = bounds;
      const limits = { maxLimit: 11, defaultLimit: 11, overLimit: 'bad-request' } as const;
      const combination = { ...paging, ...limits, startBound, endBound };
      await matrix.become(combination);
      const read = await matrix.read(60, 15);
      const pages = pagesOf(rowsSent(60, combination), 11);
      expect.soft(daysOf(read.reading), words(combination, 60)).toEqual(expectedDays(60));
      expect.soft(read.requests, words(combination, 60)).toBeLessThanOrEqual(3 * (pages + 2) + 3);
      tally.add(read, pages);
    }
    console.log(`refused limits: ${tally.words()}`);
  });

  const odd = chosen(
    combinationsOf({
      pageBase: [0, 1] as const,
      belowBase: ['bad-request', 'first-page'] as const,
      pastEnd: ['empty', 'not-found', 'last-page'] as const,
      order: ['ascending', 'descending', 'shuffled'] as const,
      startBound: ['inclusive', 'exclusive'] as const,
      dateOffset: [null, '+02:00', '-11:30'] as const,
      compression: ['none', 'always'] as const,
    }),
  );

  it.each([
    ['ignores the limit', { limit: 'ignored', defaultLimit: 12 }, (pages: number) => 3 * (pages + 2) + 2],
    ['ignores the page', { paging: 'ignored', maxLimit: 12, defaultLimit: 12 }, () => 3 + 2 * 20],
    ['ignores both and sends all at once', { paging: 'ignored', limit: 'ignored' }, () => 8],
    [
      'repeats rows on the next page',
      { duplicateRate: 0.3, maxLimit: 12, defaultLimit: 12 },
      (pages: number) => 5 * (2 * pages + 3),
    ],
  ] as const)('%s', async (_name, oddity, boundOf) => {
    const tally = new MatrixCost();
    for (const [index, paging] of odd.entries()) {
      const combination: Combination = { ...paging, ...oddity };
      await matrix.become(combination);
      for (const size of [60, wellSizes[index % wellSizes.length] ?? 0]) {
        const read = await matrix.read(size, 50);
        const pages = pagesOf(rowsSent(size, combination), 12);
        expect.soft(daysOf(read.reading), words(combination, size)).toEqual(expectedDays(size));
        expect.soft(read.requests, words(combination, size)).toBeLessThanOrEqual(boundOf(pages));
        tally.add(read, pages);
      }
    }
    console.log(`${odd.length} combinations: ${tally.words()}`);
  });

  it('fails now and then: 429, 503, resets, truncated bodies, web pages', async () => {
    const tally = new MatrixCost();
    const rate = 0.02;
    const faults = { tooManyRequests: rate, unavailable: rate, reset: rate, truncatedBody: rate, htmlPage: rate };
    for (const [seed, paging] of odd.entries()) {
      const combination = { ...paging, maxLimit: 12, defaultLimit: 12, faults, seed, retryAfterSeconds: 0 };
      await matrix.become(combination);
      const read = await matrix.read(60, 50);
      expect.soft(daysOf(read.reading), words(combination, 60)).toEqual(expectedDays(60));
      tally.add(read, pagesOf(rowsSent(60, combination), 12));
    }
    console.log(`with faults: ${tally.words()}`);
  });
});

function words(combination: Combination, size: number): string {
  return `${JSON.stringify(combination)}, ${size} days`;
}
