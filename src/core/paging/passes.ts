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
import { askedWindow, DAY_MS, halvesOf, type Window } from '../time/window.ts';
import { areSame, endOf, failWith, keysOf, type PageLimit, type Paging, type PagingEnd, type RowKey } from './page.ts';

const mostPasses = 4;

interface PassOptions {
  readonly limit: PageLimit;
  readonly maxPages: number;
  /** Rows of the only page that came before; they count as a pass. */
  readonly before?: readonly RowKey[] | undefined;
  /** Rows on a full page, when known: one page with fewer rows needs no second pass. */
  readonly fullPage?: number | undefined;
}

/** Pages 0 to 3 are all the same page, with these rows: the service may ignore `page`. */
interface SamePage {
  readonly kind: 'same-page';
  readonly keys: readonly RowKey[];
}

interface Pass {
  readonly kind: 'rows';
  readonly keys: readonly RowKey[];
  readonly pages: number;
}

export function* readInPasses(options: PassOptions): Paging<PagingEnd | SamePage> {
  let { before } = options;
  let again = before === undefined ? 0 : Infinity;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const result = yield* readPass(options, again);
    if (result.kind !== 'rows') return result;
    if (before !== undefined && areSame(before, result.keys)) return endOf();
    if (result.pages <= 1 && result.keys.length < (options.fullPage ?? 0)) return endOf();
    before = result.keys;
    again = Infinity;
  }
  return failWith('unstable');
}

function* readPass(
  { limit, maxPages }: PassOptions,
  again: number,
): Paging<Pass | SamePage | ReturnType<typeof failWith>> {
  const zero = yield { page: 0, limit, again };
  const one = yield { page: 1, limit, again };
  const first = keysOf(zero);
  const second = keysOf(one);
  if (one.kind === 'refused') return failWith('refused');
  if (one.kind === 'not-found' && zero.kind !== 'page') return failWith('not-found');
  const seen = new Set([...first, ...second]);
  if (second.length === 0) return rows(seen, 1);
  let pages = first.length === 0 || areSame(first, second) ? 1 : 2;
  let wasStale = false;
  for (let page = 2; page < maxPages; page += 1) {
    const answer = yield { page, limit, again };
    if (answer.kind === 'refused') return failWith('refused');
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
  return failWith('without-end');
}

function rows(seen: ReadonlySet<RowKey>, pages: number): Pass {
  return { kind: 'rows', keys: [...seen], pages };
}

// Reading by windows, for a service that ignores `page`: the window is halved until each answer is shorter than a
// previous one, and so cannot have been cut. Every answer is a view of one moment, so a row is missed only if its date
// changes. All requests are for page 0, which has rows whenever this rule is used: should rows that move have made a
// service look as if it ignored `page`, each answer still begins with the first row of its window.

/**
 * Fewest rows at which a service may cut an answer (an assumption): a day, requested with one more on both sides, has
 * at most four midnights.
 */
export const leastCut = 5;

interface WholeAnswer {
  /** Half-open; the requested range is wider (`askedWindow`). */
  readonly window: Window;
  readonly limit: PageLimit;
  /** Rows of the answer for the whole window. */
  readonly keys: readonly RowKey[];
}

/** Whether the service may have more rows than these. */
export function mayBeCut(keys: readonly RowKey[]): boolean {
  return keys.length >= leastCut;
}

/**
 * Reads the rows that the whole answer may lack. `undated` means that a narrower window did not shorten the answer and
 * that no narrower window returned a new row: the whole answer has all rows, or the service always cuts them off.
 *
 * A window is halved only while an answer for it is as long as the whole answer: about 4 log2(days) requests for each
 * full answer in the window, and 2 log2(days) before a service that ignores dates ends the read.
 */
export function* readByWindows(whole: WholeAnswer, maxPages: number): Paging<PagingEnd | 'undated'> {
  const { limit, keys } = whole;
  const inWhole = new Set(keys);
  const open: Window[] = [whole.window];
  let isCut = false;
  for (let asks = 0; asks < maxPages; asks += 2) {
    const window = open.shift();
    if (window === undefined) return endOf();
    const long: Array<{ readonly half: Window; readonly isBeyond: boolean }> = [];
    for (const half of halvesOf(window)) {
      const answer = yield { page: 0, limit, window: askedWindow(half), again: Infinity };
      if (answer.kind === 'refused') return failWith('refused');
      const came = keysOf(answer);
      isCut ||= came.some((key) => !inWhole.has(key));
      if (came.length >= keys.length) long.push({ half, isBeyond: answer.kind === 'page' && answer.isBeyond === true });
    }
    for (const { half, isBeyond } of long) {
      if (isBeyond || half.toMs - half.fromMs <= DAY_MS) return isCut ? failWith('page-ignored') : 'undated';
      open.push(half);
    }
  }
  return failWith('without-end');
}
