/**
 * Reading by overlapping pages (a chain), by passes over all pages, and by ever shorter windows.
 *
 * Chain: no row is lost between two pages, since each page begins with the last rows of the page before. `page` and `limit`
 * request the rows from `page * limit` on, so another limit moves the start of a page:
 *
 *   limit 1000, page 0   [0 ............ 999]
 *   limit  999, page 1                  [999 ............ 1997]
 *   limit  998, page 2                                  [1996 ............ 2993]
 *
 * A page is one answer, hence a view of one moment. Two pages that share a row leave no gap between them in which a row
 * could be missed, whatever was inserted, removed or moved between the two requests: a row that the service held
 * throughout, in the same place among the others, is on one of the two. The last page proves the end in the same way:
 * it begins with the last known row, is shorter than requested, and has no new row.
 */
import { askedWindow, DAY_MS, halvesOf, type Window } from '../time/window.ts';

/** The rows read without a gap from the first row on. */
export interface Reach {
  /** Keys of the last rows, enough to find the start of the next page among them. */
  readonly tail: readonly RowKey[];
  /** Position after the last row, counted from 0. */
  readonly endsAt: number;
  /** Keys of all rows. Grows with every page that is joined. */
  readonly seen: Set<RowKey>;
}

/** Rows of overlap to request, in turn, when a page does not join. */
const stepsBack = [1, 8, 64, 512] as const;
/** Pages per read that may fail to join or have no new row. */
const mostMisses = 6;

/** The reach of the first page alone. */
export function reachOf(keys: readonly RowKey[]): Reach {
  return { tail: keys, endsAt: keys.length, seen: new Set(keys) };
}

/**
 * The page that begins at least `overlap` rows before `endsAt`, ends after it and reaches furthest, among limits up to
 * `maxLimit`; `index` is from 0, whatever the service's page base. Undefined when every limit has a page that ends exactly at `endsAt`, which happens only below a limit of
 * a dozen.
 */
function pageOver(endsAt: number, overlap: number, maxLimit: number) {
  let best: { readonly index: number; readonly limit: number } | undefined;
  let furthest = endsAt;
  for (let limit = maxLimit; limit > 0; limit -= 1) {
    const index = Math.floor((endsAt - overlap) / limit);
    const end = (index + 1) * limit;
    if (index >= 0 && end > furthest) [best, furthest] = [{ index, limit }, end];
  }
  return best;
}

/**
 * Joins a page to a reach; `fresh` counts its new rows. Undefined when the page does not begin within the reach,
 * differs from it where the two overlap, or repeats a known row further on: a service that repeats rows may show a row
 * in the place of its repeat.
 */
export function join(
  reach: Reach,
  start: number,
  keys: readonly RowKey[],
): { readonly reach: Reach; readonly fresh: number } | undefined {
  const [first] = keys;
  const at = first === undefined ? -1 : reach.tail.lastIndexOf(first);
  if (at < 0) return undefined;
  const known = reach.tail.slice(at);
  const fresh = keys.slice(known.length);
  const isOne = keys.every((key, index) => index >= known.length || key === known[index]);
  if (!isOne || fresh.some((key) => reach.seen.has(key))) return undefined;
  for (const key of fresh) reach.seen.add(key);
  const endsAt = start + known.length + fresh.length;
  return { reach: { tail: [...reach.tail, ...fresh], endsAt, seen: reach.seen }, fresh: fresh.length };
}

/**
 * Reads on from `reach`, which holds two joined pages, to the end; or one page, and `hasMissed`, where the page after it was
 * empty. `joined` is the end. `broken`: the pages could not be joined, since the service does not grant limits as requested,
 * repeats rows, or moves them too much. `without-end`: `maxPages` pages did not reach the end.
 */
export function* readChain(options: {
  readonly pageBase: 0 | 1;
  /** Most rows of one page. */
  readonly maxLimit: number;
  readonly maxPages: number;
  readonly reach: Reach;
  readonly hasMissed: boolean;
}): Paging<'joined' | 'broken' | 'without-end'> {
  const { pageBase, maxLimit, maxPages } = options;
  let { reach } = options;
  let step = options.hasMissed ? 1 : 0;
  let misses = step;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const next = pageOver(reach.endsAt, Math.min(stepsBack[step] ?? 1, reach.endsAt), maxLimit);
    if (next === undefined) return 'broken';
    const { index, limit } = next;
    const start = index * limit;
    const answer: PageAnswer = yield { page: pageBase + index, limit, again: reach.endsAt - start };
    const keys = keysOf(answer);
    const joined = join(reach, start, keys);
    if (answer.kind === 'refused' || keys.length > limit) return 'broken';
    if (joined?.fresh === 0 && keys.length < limit) return 'joined';
    if (joined === undefined || joined.fresh === 0) misses += 1;
    step = joined === undefined ? step + 1 : 0;
    if (misses > mostMisses || step === stepsBack.length) return 'broken';
    if (joined !== undefined) reach = { ...joined.reach, tail: joined.reach.tail.slice(-2 * maxLimit) };
  }
  return 'without-end';
}

// Reading by passes, for pages that cannot be joined: one page after another with one limit, from page 0
// on, repeated until two passes in a row return the same rows in the same order.
//
//   page 0 ──> page 1 ──> page 2 ──> page 3 ──> … ──> end of the pass
//
// Pages 0 and 1 are always requested: page 0 may lie below the first page, and page 1 may repeat the first page. From
// page 1 on, an empty page or a 404 ends a pass. From page 2 on, two pages in a row without a new row end it as well: a
// single one may be a page that the service sent twice. A page shorter than the limit proves nothing. A refusal after
// rows have come is an error: it may forbid deep pages, or mark the end.

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

// Types of reading pages: the request for a page, the answer, and the end of a read.

/** Rows of a page; undefined omits the parameter. */
export type PageLimit = number | undefined;

export interface PageAsk {
  readonly page: number;
  readonly limit: PageLimit;
  /** Range to request; undefined for the whole window of the read. */
  readonly window?: Window;
  /**
   * Most rows of the answer that the reader requests again on purpose: they do not count as repeated by the service.
   */
  readonly again: number;
}

/** Stands for a row, and for its date too where that has changed. */
export type RowKey = number | string;

/**
 * The service's answer. `keys` identifies its rows in order; an unchanged row always has the same key. `isBeyond` means
 * that a row is dated more than a day outside the requested window, so the service ignores one of the dates, whatever
 * its zone and bounds.
 */
export type PageAnswer =
  | { readonly kind: 'page'; readonly keys: readonly RowKey[]; readonly isBeyond?: boolean }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused' };

/** A page that no well reaches. */
export const farPage = 1_000_000;

/**
 * `not-found`: the service does not know the well. `refused`: it accepts no limit at all, or refused a page after rows
 * had come. `page-ignored`: it answers every page with its first rows, which may be cut short. `without-end`: new rows
 * on every page. `unstable`: rows moved between the pages in every pass. `unproven-end`: a page behind the first was a
 * 404, which this service is not known to send past its last page.
 */
export type PagingFailure = 'not-found' | 'refused' | 'page-ignored' | 'without-end' | 'unstable' | 'unproven-end';

/** Properties of the service that a read found; undefined when the read did not need them. */
export interface PagingFindings {
  readonly pageBase?: 0 | 1;
  readonly pagingHonoured?: boolean;
  readonly limitHonoured?: boolean;
  /** Rows of a first page that was shorter than requested and not the last. */
  readonly grantedLimit?: number;
  /** Rows of the first page. */
  readonly pageRows?: number;
}

interface PagingFail {
  readonly kind: 'fail';
  readonly failure: PagingFailure;
}

export type PagingEnd = { readonly kind: 'end'; readonly found: PagingFindings } | PagingFail;

/**
 * A rule of reading, without input or output: the generator yields requests and receives answers. Its driver keeps the
 * rows of every answer; when the generator returns an end, these are all rows.
 */
export type Paging<Outcome> = Generator<PageAsk, Outcome, PageAnswer>;

export function endOf(found: PagingFindings = {}): PagingEnd {
  return { kind: 'end', found };
}

export function failWith(failure: PagingFailure): PagingFail {
  return { kind: 'fail', failure };
}

/** Keys of the rows of an answer; none when the answer is not a page. */
export function keysOf(answer: PageAnswer): readonly RowKey[] {
  return answer.kind === 'page' ? answer.keys : [];
}

export function areSame(left: readonly RowKey[], right: readonly RowKey[]): boolean {
  return left.length === right.length && left.every((key, index) => key === right[index]);
}
