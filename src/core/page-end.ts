/**
 * Decides which page to ask for next and when all rows have been read, whatever the service does with `page`, `limit` and
 * dates (DESIGN.md section 3), and so that rows that move between the pages lose none that stays (G4; decision 4).
 *
 *   careful   page 0, page 1, and page 2 where 1 was the first page over again: they show the base and what is honoured
 *   chain     each page overlaps the one before (core/paging-chain.ts): the rule for a service that grants limits
 *   passes    all pages twice alike (core/paging-passes.ts): for one that ignores `limit`, or repeats rows
 *   windows   ever shorter windows (core/paging-windows.ts): for one that ignores `page`
 *
 * A profile that fits (core/service-profile.ts) saves the careful beginning; one that does not is noticed, and the read
 * begins again without it.
 *
 * The bound, for p pages as large as the service grants and a service at rest. With a fitting profile p + 1 requests, one
 * more for a well of one or two rows; without one p + 2, and two for each limit refused. Where pages overlap, p of them
 * are about p² / limit more. Where `limit` is ignored or refused: 3 (p + 2) + 3. Where `page` is ignored: 3, and two for
 * each window halved (core/paging-windows.ts). Rows that move cost a few pages more, at most four passes over all of them.
 */
import {
  areSame,
  endOf,
  failWith,
  keysOf,
  type PageAnswer,
  type PageAsk,
  type PageLimit,
  type Paging,
  type PagingEnd,
  type PagingFindings,
} from './paging.ts';
import { join, reachOf, readChain } from './paging-chain.ts';
import { readInPasses } from './paging-passes.ts';
import { leastCut, mayBeCut, readByWindows } from './paging-windows.ts';
import { daysIn, type Window } from './window.ts';

/** What is known of the service beforehand: the part of a profile that a read goes by. */
export interface PagingProfile {
  readonly pageBase: 0 | 1 | 'unknown';
  readonly pagingHonoured: boolean | 'unknown';
  readonly limitHonoured: boolean | 'unknown';
  readonly defaultLimit: number | 'unknown';
}

export interface PagesOptions {
  readonly window: Window;
  /** To be tried in this order; not empty. */
  readonly limits: readonly PageLimit[];
  /** Pages of one pass over the rows. */
  readonly maxPages: number;
  readonly profile?: PagingProfile | undefined;
  /** A limit that is known to be granted: where `page` is ignored, fewer rows than it are all of them. */
  readonly grantedLimit?: number | undefined;
}

export type PagesEnd =
  | {
      readonly kind: 'end';
      readonly found: PagingFindings;
      /** The limit that was granted and, after it, those to fall back on. */
      readonly limits: readonly PageLimit[];
      /** Whether the read went by the profile alone. */
      readonly byProfile: boolean;
    }
  | Extract<PagingEnd, { kind: 'fail' }>;

/** Fewer rows than this leave no page that overlaps another. */
const leastChained = 3;

/** The limits to try for a wanted one: itself (at least 5), the smallest default in wide use, none. */
export function limitsFor(wanted: number): readonly PageLimit[] {
  return wanted > 100 ? [wanted, 100, undefined] : [Math.max(leastCut, wanted), undefined];
}

/**
 * How many pages a read of this window may take before it is held to have no end: four a day, though a page of one row
 * would hold a day already, and a thousand for a service that ignores the dates and sends its whole history.
 */
export function maxPagesFor(asked: Window): number {
  return 1_000 + 4 * daysIn(asked);
}

/** Reads all pages of a window; the rows are all that came with the answers. */
export function* readPages(options: PagesOptions): Paging<PagesEnd> {
  const { limits, profile } = options;
  const quick = profile === undefined ? undefined : yield* readByProfile(profile, options);
  if (quick !== undefined) return quick.kind === 'fail' ? quick : { ...quick, limits, byProfile: true };
  for (const [index, limit] of limits.entries()) {
    const result = yield* readCarefully(limit, options);
    if (result === 'limit-refused') continue;
    return result.kind === 'fail' ? result : { ...result, limits: limits.slice(index), byProfile: false };
  }
  return { kind: 'fail', failure: 'refused' };
}

/** Undefined as soon as an answer is not what the profile foretells. */
function* readByProfile(profile: PagingProfile, options: PagesOptions): Paging<PagingEnd | undefined> {
  const { pageBase, pagingHonoured, limitHonoured, defaultLimit } = profile;
  const limit = options.limits[0];
  if (pageBase === 'unknown' || pagingHonoured !== true || limit === undefined) return undefined;
  if (limitHonoured === false && defaultLimit !== 'unknown') {
    const result = yield* readInPasses({ ...options, limit, fullPage: defaultLimit });
    return result.kind === 'end' ? result : undefined;
  }
  if (limitHonoured !== true) return undefined;
  const answer = yield { page: pageBase, limit, again: 0 };
  if (answer.kind !== 'page') return undefined;
  const first = answer.keys;
  // So few rows cannot show that the pages are counted as they were: the other first page must not have any others.
  if (first.length === 0 || (first.length < leastChained && pageBase === 1)) {
    const other = yield { page: 1 - pageBase, limit, again: 0 };
    if (keysOf(other).some((key) => !first.includes(key))) return undefined;
    if (first.length === 0) return endOf();
  }
  const next = yield askPastFirst(pageBase + 1, first);
  return yield* readOn({ ...options, limit, pageBase, first, exact: true }, next);
}

/** `limit-refused`: no page takes the limit. A refusal after rows have come is for the passes to judge. */
function* readCarefully(limit: PageLimit, options: PagesOptions): Paging<PagingEnd | 'limit-refused'> {
  const zero = yield { page: 0, limit, again: 0 };
  const first = keysOf(zero);
  if (first.length > 0) return yield* readFromPageZero(first, limit, options);
  const one = yield { page: 1, limit, again: 0 };
  if (one.kind === 'refused') return 'limit-refused';
  if (one.kind === 'not-found') return zero.kind === 'page' ? endOf() : failWith('not-found');
  if (one.keys.length === 0) return endOf();
  if (limit === undefined) return yield* readPasses(limit, options);
  const answer = yield askPastFirst(2, one.keys);
  return yield* readOnOrInPasses({ ...options, limit, pageBase: 1, first: one.keys, exact: false }, answer);
}

/** Page 0 has rows: it is the first page, or a first page that also stands below itself. */
function* readFromPageZero(first: readonly string[], limit: PageLimit, options: PagesOptions): Paging<PagingEnd> {
  if (limit === undefined) return yield* readPasses(limit, options);
  const ask = askPastFirst(1, first);
  const one = yield { ...ask, again: ask.limit };
  const head = first.slice(0, ask.limit);
  if (!areSame(keysOf(one), head)) {
    return yield* readOnOrInPasses({ ...options, limit, pageBase: 0, first, exact: false }, one);
  }
  const two = yield { ...ask, page: 2, again: ask.limit };
  if (first.length < leastChained || !areSame(keysOf(two), head)) {
    return yield* readOnOrInPasses({ ...options, limit, pageBase: 1, first, exact: false }, two);
  }
  const found = { pagingHonoured: false, limitHonoured: head.length < first.length };
  return yield* readUnpaged(first, found, limit, options);
}

interface FirstPage extends PagesOptions {
  readonly limit: number;
  readonly pageBase: 0 | 1;
  readonly first: readonly string[];
  /** Whether the second page must begin just where the arithmetic says; else any joint will do. */
  readonly exact: boolean;
}

/** Goes on with the answer to askPastFirst; where nothing came after the first page, that counts as a pass. */
function* readOnOrInPasses(page: FirstPage, answer: PageAnswer): Paging<PagingEnd> {
  const end = yield* readOn(page, answer);
  const isAll = keysOf(answer).length === 0;
  return end ?? (yield* readPasses(page.limit, page, isAll ? page.first : undefined));
}

/** Undefined where the pages cannot be joined. */
function* readOn(page: FirstPage, answer: PageAnswer): Paging<PagingEnd | undefined> {
  const { first, pageBase, exact, maxPages, limit } = page;
  const found: PagingFindings = { pageBase, pagingHonoured: true, limitHonoured: true };
  const keys = keysOf(answer);
  if (answer.kind === 'refused') return undefined;
  if (first.length < leastChained) return keys.every((key) => first.includes(key)) ? endOf() : undefined;
  const start = first.length - 1;
  const joined = join(reachOf(first), start, keys);
  if (joined === undefined || keys.length > start || (exact && keys[0] !== first[start])) return undefined;
  if (joined.fresh === 0 && keys.length < start) return endOf(found);
  const result = yield* readChain({ pageBase, maxLimit: first.length, maxPages, reach: joined.reach });
  if (result === 'without-end') return failWith(result);
  if (result === 'doubtful') return undefined;
  return endOf(first.length < limit ? { ...found, grantedLimit: first.length } : found);
}

/** The page that begins with the last row of the first page; where there is none such, the one after the first. */
function askPastFirst(page: number, first: readonly string[]): PageAsk & { readonly limit: number } {
  const shared = first.length < leastChained ? 0 : 1;
  return { page, limit: first.length - shared, again: shared };
}

/** After a chain that could not be joined: pages that come twice alike show that it was not for rows that move. */
function* readPasses(limit: PageLimit, options: PagesOptions, before?: readonly string[]): Paging<PagingEnd> {
  const result = yield* readInPasses({ ...options, limit, before });
  if (result.kind === 'same-page') return yield* readUnpaged(result.keys, { limitHonoured: false }, limit, options);
  return result.kind === 'end' && limit !== undefined ? endOf({ limitHonoured: false }) : result;
}

/**
 * Every page is the first. Where dates make no answer shorter either, nothing shows whether it was cut: then the rows are
 * taken for all of a service that pays no heed to the limit either, and simply sends what it has; else the read fails.
 */
function* readUnpaged(
  keys: readonly string[],
  found: PagingFindings,
  limit: PageLimit,
  options: PagesOptions,
): Paging<PagingEnd> {
  const { window, maxPages, grantedLimit } = options;
  const isGranted = limit !== undefined && limit === grantedLimit;
  if (!mayBeCut(keys) || (isGranted && keys.length < limit)) return endOf(found);
  const result = yield* readByWindows({ window, limit, keys }, maxPages);
  if (result !== 'undated') return result.kind === 'end' ? endOf(found) : result;
  const pages = yield* readInPasses({ ...options, limit });
  if (pages.kind !== 'same-page') return pages;
  const fewer = yield { page: 1, limit: pages.keys.length - 1, again: Infinity };
  return areSame(keysOf(fewer), pages.keys) ? endOf(found) : failWith('page-ignored');
}
