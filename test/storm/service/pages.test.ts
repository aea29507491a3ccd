import { describe, expect, test } from 'vitest';
import type { RecordBody, ServiceManner } from '../evidence.ts';
import { uwis } from './assets.ts';
import { drawnManner } from './manner.ts';
import { pageOf } from './pages.ts';
import { createRandom } from './random.ts';
import { Truth } from './truth.ts';

const nowMs = Date.parse('2026-09-28T09:30:00Z');

function changedTruth(seed: number): Truth {
  const truth = new Truth(createRandom(seed), () => nowMs);
  for (let count = 0; count < 300; count += 1) truth.mutate();
  return truth;
}

/** Every page up to the first empty one. */
function allPages(truth: Truth, uwi: string, manner: ServiceManner, query: Readonly<Record<string, string>>) {
  const pages: (readonly RecordBody[])[] = [];
  for (let page = manner.pageBase; ; page += 1) {
    const rows = pageOf(truth.rowsOf(uwi), new URLSearchParams({ ...query, page: String(page) }), manner) ?? [];
    if (rows.length === 0) return pages;
    pages.push(rows);
  }
}

const inOrder = (left: string, right: string): number => (left < right ? -1 : 1);
const xids = (rows: readonly RecordBody[]): readonly string[] => rows.map(({ xid }) => String(xid)).toSorted(inOrder);

describe('pages', () => {
  test('of every manner have each record of the truth once, in one order', () => {
    const truths = [1, 2].map(changedTruth);
    for (let seed = 1; seed <= 24; seed += 1) {
      const [manner, uwi] = [drawnManner(createRandom(seed)), uwis[seed % uwis.length] ?? ''];
      const truth = truths[seed % 2] ?? changedTruth(1);
      for (const limit of ['7', '50', '5000']) {
        const pages = allPages(truth, uwi, manner, { limit });
        const size = Math.min(Number(limit), manner.mostRowsPerPage);
        expect(pages.slice(0, -1).every((rows) => rows.length === size)).toBe(true);
        expect(xids(pages.flat())).toEqual(xids(truth.recordsOf(uwi)));
      }
      const dated = allPages(truth, uwi, manner, {})
        .flat()
        .map(({ date }) => Date.parse(String(date)));
      const readable = dated.filter((instantMs) => !Number.isNaN(instantMs));
      const sign = manner.order === 'ascending' ? 1 : -1;
      expect(readable.every((instantMs, at) => at === 0 || sign * (instantMs - (readable[at - 1] ?? 0)) > 0)).toBe(
        true,
      );
    }
  });

  test('manners differ, and some have several pages for a well and some have one', () => {
    const manners = Array.from({ length: 60 }, (_, seed) => drawnManner(createRandom(seed)));
    const several = manners.filter(({ mostRowsPerPage }) => mostRowsPerPage >= 20 && mostRowsPerPage <= 60);
    const one = manners.filter(({ mostRowsPerPage }) => mostRowsPerPage > 500);
    expect(several.length + one.length).toBe(60);
    expect(Math.min(several.length, one.length)).toBeGreaterThan(5);
    expect(
      new Set(manners.map(({ pageBase, order, endIsInclusive }) => `${pageBase} ${order} ${endIsInclusive}`)).size,
    ).toBe(8);
  });

  const manner: ServiceManner = {
    ...drawnManner(createRandom(1)),
    pageBase: 1,
    mostRowsPerPage: 50,
    order: 'ascending',
  };
  const daysOf = (rows: readonly RecordBody[] | undefined) => rows?.map(({ date }) => String(date).slice(0, 10));
  const window = { startDate: '2026-08-03T00:00:00+0000', endDate: '2026-08-05T02:00:00+02:00' };

  test.each([
    [true, ['2026-08-03', '2026-08-04', '2026-08-05']],
    [false, ['2026-08-03', '2026-08-04']],
  ])('filter by instant, the start inclusive, the end as the manner says (%s)', (endIsInclusive, days) => {
    const row = (day: string) => ({ instantMs: Date.parse(day), body: { xid: day, date: `${day}T00:00:00+0000` } });
    const rows = ['2026-08-02', '2026-08-03', '2026-08-04', '2026-08-05', '2026-08-06'].map(row);
    expect(daysOf(pageOf(rows, new URLSearchParams(window), { ...manner, endIsInclusive }))).toEqual(days);
  });

  test('a record whose date cannot be read is the last one of every window, in either order', () => {
    const undated = { instantMs: undefined, body: { xid: 'u', date: 'not known' } };
    const row = { instantMs: Date.parse('2026-08-03'), body: { xid: 'a', date: '2026-08-03T00:00:00Z' } };
    for (const order of ['ascending', 'descending'] as const) {
      const bodies = pageOf([row, undated], new URLSearchParams(window), { ...manner, order });
      expect(bodies?.map(({ xid }) => xid)).toEqual(['a', 'u']);
    }
    const other = { startDate: '2020-01-01T00:00:00Z', endDate: '2020-02-01T00:00:00Z' };
    expect(pageOf([row, undated], new URLSearchParams(other), manner)).toEqual([undated.body]);
  });

  test.each(['page=0', 'page=x', 'limit=0', 'startDate=2026-08-03T00:00:00 0000', 'endDate=soon'])(
    'refuse %s',
    (query) => {
      expect(pageOf([], new URLSearchParams(query), manner)).toBeUndefined();
    },
  );
});
