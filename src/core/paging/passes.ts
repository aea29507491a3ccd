/**
 * Reading by passes, for pages that cannot be joined (./chain.ts): one page after another with one limit, from page 0
 * on, repeated until two passes in a row return the same rows in the same order.
 *
 *   page 0 ──> page 1 ──> page 2 ──> page 3 ──> … ──> end of the pass
 *
 * Pages 0 and 1 are always requested: page 0 may lie below the first page, and page 1 may repeat the first page. From
 * page 1 on, an empty page or a 404 ends a pass. From page 2 on, two pages in a row without a new row end it as well: a
 * single one may be a page that the service sent twice. A page shorter than the limit proves nothing. A refusal after
 * rows have come is an error: it may forbid deep pages, or mark the end.
 */
import {
  areSame,
  endOf,
  failWith,
  keysOf,
  type PageLimit,
  type Paging,
  type PagingEnd,
  type PagingFailure,
  type RowKey,
} from './page.ts';

const mostPasses = 4;

export interface PassOptions {
  readonly limit: PageLimit;
  readonly maxPages: number;
  /** Rows of the only page that came before; they count as a pass. */
  readonly before?: readonly RowKey[] | undefined;
  /** Rows on a full page, when known: one page with fewer rows needs no second pass. */
  readonly fullPage?: number | undefined;
}

export type PassesEnd =
  | PagingEnd
  /** Pages 0 to 3 are all the same page, with these rows: the service may ignore `page`. */
  | { readonly kind: 'same-page'; readonly keys: readonly RowKey[] };

type PassEnd =
  | { readonly kind: 'rows'; readonly keys: readonly RowKey[]; readonly pages: number }
  | { readonly kind: 'same-page'; readonly keys: readonly RowKey[] }
  | { readonly kind: 'fail'; readonly failure: PagingFailure };

export function* readInPasses(options: PassOptions): Paging<PassesEnd> {
  let { before } = options;
  let again = before === undefined ? 0 : Infinity;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const result = yield* readPass(options, again);
    if (result.kind === 'fail') return failWith(result.failure);
    if (result.kind === 'same-page') return result;
    if (before !== undefined && areSame(before, result.keys)) return endOf();
    if (result.pages <= 1 && result.keys.length < (options.fullPage ?? 0)) return endOf();
    before = result.keys;
    again = Infinity;
  }
  return failWith('unstable');
}

function* readPass({ limit, maxPages }: PassOptions, again: number): Paging<PassEnd> {
  const zero = yield { page: 0, limit, again };
  const one = yield { page: 1, limit, again };
  const first = keysOf(zero);
  const second = keysOf(one);
  if (one.kind === 'refused') return fail('refused');
  if (one.kind === 'not-found' && zero.kind !== 'page') return fail('not-found');
  const seen = new Set([...first, ...second]);
  if (second.length === 0) return rows(seen, 1);
  let pages = first.length === 0 || areSame(first, second) ? 1 : 2;
  let wasStale = false;
  for (let page = 2; page < maxPages; page += 1) {
    const answer = yield { page, limit, again };
    if (answer.kind === 'refused') return fail('refused');
    const keys = keysOf(answer);
    if (page === 3 && wasStale && [first, second].every((other) => areSame(other, keys))) {
      return { kind: 'same-page', keys };
    }
    const isStale = keys.every((key) => seen.has(key));
    if (keys.length === 0 || (isStale && wasStale)) return rows(seen, pages);
    for (const key of keys) seen.add(key);
    if (!isStale) pages += 1;
    wasStale = isStale;
  }
  return fail('without-end');
}

function rows(seen: ReadonlySet<RowKey>, pages: number): PassEnd {
  return { kind: 'rows', keys: [...seen], pages };
}

function fail(failure: PagingFailure): PassEnd {
  return { kind: 'fail', failure };
}
