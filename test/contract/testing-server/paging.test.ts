import { describe, expect, it } from 'vitest';
import type { TestingServerSetup } from '../../../src/testing-server/testing-server.ts';
import { ratesOn, startWithTenDays } from '../../support/testing-server-requests.ts';

/** Expects for each query the oil rates (1 to 10, by day) of its page, or a status. */
async function expectPages(
  setup: TestingServerSetup,
  expected: readonly (readonly [Record<string, string | number>, number[] | number])[],
): Promise<void> {
  await using server = await startWithTenDays(setup);
  for (const [query, rates] of expected)
    expect({ query, rates: await ratesOn(server, query) }).toEqual({ query, rates });
}

const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

describe('pages', () => {
  it('pages are numbered from 1, have the default limit, and the last is short', () =>
    expectPages({}, [
      [{}, [1, 2, 3]],
      [{ page: 1 }, [1, 2, 3]],
      [{ page: 4 }, [10]],
      [{ page: 2, limit: 4 }, [5, 6, 7, 8]],
    ]));

  it('pages are numbered from 0 with pageBase 0', () =>
    expectPages({ pageBase: 0 }, [
      [{}, [1, 2, 3]],
      [{ page: 0 }, [1, 2, 3]],
      [{ page: 1 }, [4, 5, 6]],
      [{ page: -1 }, 400],
    ]));

  it.each([
    ['bad-request', 400],
    ['not-found', 404],
    ['empty', []],
    ['first-page', [1, 2, 3]],
  ] as const)('a page below the first is answered by belowBase %s', (belowBase, answer) =>
    expectPages({ belowBase }, [[{ page: 0 }, answer as number[] | number]]),
  );

  it.each([
    ['empty', []],
    ['not-found', 404],
    ['last-page', [10]],
  ] as const)('a page past the last is answered by pastEnd %s', (pastEnd, answer) =>
    expectPages({ pastEnd }, [
      [{ page: 5 }, answer as number[] | number],
      [{ page: 1, startDate: '2030-01-01T00:00:00Z' }, []],
    ]),
  );

  it('every page is the first one when paging is ignored, cut by the limit', () =>
    expectPages({ paging: 'ignored' }, [
      [{ page: 3 }, [1, 2, 3]],
      [{ page: 3, limit: 5 }, [1, 2, 3, 4, 5]],
    ]));

  it('one answer has every row when paging and limit are ignored', () =>
    expectPages({ paging: 'ignored', limit: 'ignored' }, [[{ page: 3, limit: 2 }, all]]));
});

describe('the limit', () => {
  it('a limit above the largest is clamped', () =>
    expectPages({}, [
      [{ limit: 5 }, [1, 2, 3, 4, 5]],
      [{ limit: 6 }, [1, 2, 3, 4, 5]],
    ]));

  it('a limit above the largest is refused with overLimit bad-request', () =>
    expectPages({ overLimit: 'bad-request' }, [
      [{ limit: 5 }, [1, 2, 3, 4, 5]],
      [{ limit: 6 }, 400],
    ]));

  it('an ignored limit has no effect', () => expectPages({ limit: 'ignored' }, [[{ limit: 5, page: 2 }, [4, 5, 6]]]));
});

describe('the range', () => {
  const range = { startDate: '2024-01-02T00:00:00Z', endDate: '2024-01-04T00:00:00Z' };

  it.each([
    ['inclusive', 'inclusive', [2, 3, 4]],
    ['inclusive', 'exclusive', [2, 3]],
    ['exclusive', 'inclusive', [3, 4]],
    ['exclusive', 'exclusive', [3]],
    ['ignored', 'exclusive', [1, 2, 3]],
    ['exclusive', 'ignored', [3, 4, 5]],
  ] as const)('a range follows startBound %s and endBound %s', (startBound, endBound, rates) =>
    expectPages({ startBound, endBound }, [[range, [...rates]]]),
  );

  it('a range is compared by instant; a date-time without an offset is in UTC', () =>
    expectPages({}, [
      [{ startDate: '2024-01-09T01:00:00+01:00' }, [9, 10]],
      [{ startDate: '2024-01-09T00:00:00' }, [9, 10]],
      [{ startDate: '2024-01-09T00:00:00.001Z' }, [10]],
    ]));
});

describe('the order', () => {
  it('rows are served in descending order on request', () =>
    expectPages({ order: 'descending' }, [[{ page: 2 }, [7, 6, 5]]]));

  it('rows are shuffled on request: each once, in the same order for the same seed', async () => {
    const read = async (seed: number): Promise<number[]> => {
      await using server = await startWithTenDays({ order: 'shuffled', seed });
      const pages = [];
      for (const page of [1, 2, 3, 4]) pages.push(await ratesOn(server, { page }));
      expect(await ratesOn(server, { page: 2 })).toEqual(pages[1]);
      return pages.flat();
    };
    const shuffled = await read(1);
    expect(shuffled).not.toEqual(all);
    expect(shuffled.toSorted((left, right) => left - right)).toEqual(all);
    expect(await read(1)).toEqual(shuffled);
    expect(await read(2)).not.toEqual(shuffled);
  });
});

it('duplicateRate repeats every drawn row on the next page, and loses none', async () => {
  await using server = await startWithTenDays({ duplicateRate: 1 });
  const pages = [];
  for (let page = 1; page <= 7; page += 1) pages.push(await ratesOn(server, { page }));
  expect(pages.slice(0, 4)).toEqual([
    [1, 2, 3],
    [1, 2, 3],
    [4, 5, 6],
    [4, 5, 6],
  ]);
  expect(new Set(pages.flat())).toEqual(new Set(all));
});

it.each([
  { page: 'two' },
  { page: '1.5' },
  { page: '' },
  { page: '2147483648' },
  { limit: 0 },
  { limit: -1 },
  { limit: 'all' },
  { startDate: 'yesterday' },
  { endDate: '2024-01-01' },
  { startDate: '2024-13-01T00:00:00Z' },
])('a query of %j is a bad request', (query) => expectPages({}, [[query, 400]]));
