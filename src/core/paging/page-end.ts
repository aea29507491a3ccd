/**
 * The page-end rule: which page to request next, and when all rows have been read, however the service treats `page`,
 * `limit` and dates (docs/design.md section 3). Rows that move between pages never lose a row that stays (G4; decision
 * 7).
 *
 *   careful   page 0, page 1, and page 2 when 1 repeats the first page: shows the page base and what is honoured
 *   chain     each page overlaps the one before (./chain-and-passes.ts): for a service that grants limits
 *   passes    all pages twice alike: for a service that ignores `limit`, or repeats rows
 *   windows   ever shorter windows: for a service that ignores `page`
 *
 * A matching profile (./service-profile.ts) saves the careful start. When an answer contradicts the profile, the read
 * starts again without it. Where the caller trusts the profile, a first page that is shorter than the service is known to
 * fill it ends the read, unverified: one request (decision 12).
 *
 * Bound on requests, for p pages as large as the service grants and a service at rest. With a matching profile p + 1,
 * and one more for a well of one or two rows; without a profile p + 2, and two for each limit refused. Where pages
 * overlap, p of them are about p² / limit more. Where `limit` is ignored or refused: 3 (p + 2) + 3. Where `page` is
 * ignored: 3, and two for each window halved. Rows that move cost a few pages more, at most four passes
 * over all of them.
 */
import { daysIn, type Window } from '../time/window.ts';
import {
  areSame,
  endOf,
  failWith,
  farPage,
  join,
  keysOf,
  leastCut,
  mayBeCut,
  type PageAnswer,
  type PageAsk,
  type PageLimit,
  type Paging,
  type PagingEnd,
  type PagingFindings,
  reachOf,
  readByWindows,
  readChain,
  readInPasses,
  type RowKey,
} from './chain-and-passes.ts';
import { knownPageRows, type ServiceProfile } from './service-profile.ts';

/** The part of a service profile that a read uses. */
export type PagingProfile = Pick<
  ServiceProfile,
  'pageBase' | 'pastLast' | 'pagingHonoured' | 'limitHonoured' | 'defaultLimit' | 'maxLimit' | 'largestPage'
>;

/**
 * Leave to end a read where the profile alone says so. A first page with fewer rows than `leastRows` does not end it: rows
 * that are known to lie in the requested range did not come.
 */
export interface TrustedEnd {
  readonly leastRows: number;
}

interface PagesOptions {
  readonly window: Window;
  /** Limits to try, in this order; not empty. */
  readonly limits: readonly PageLimit[];
  /** Most pages of one pass over the rows. */
  readonly maxPages: number;
  readonly profile?: PagingProfile | undefined;
  /** Undefined for a read that has to be verified. */
  readonly trustedEnd?: TrustedEnd | undefined;
  /** A limit that the service is known to grant: when `page` is ignored, fewer rows than this are all rows. */
  readonly grantedLimit?: number | undefined;
}

export type PagesEnd =
  | {
      readonly kind: 'end';
      readonly found: PagingFindings;
      /** The granted limit, then the limits to fall back on. */
      readonly limits: readonly PageLimit[];
      /** False when the first page ended the read, and the profile alone says that it may. */
      readonly isVerified: boolean;
    }
  | ReturnType<typeof failWith>;

/** Fewer rows than this allow no overlapping page. */
const leastChained = 3;

/** Fewer rows than this fill a page that is two rows shorter: it would not show the end. */
const leastShortened = 5;

/** The limits to try for a wanted one: the limit itself (at least 5), the smallest default in wide use, no limit. */
export function limitsFor(wanted: number): readonly PageLimit[] {
  return wanted > 100 ? [wanted, 100, undefined] : [Math.max(leastCut, wanted), undefined];
}

/**
 * Most pages of a read before it fails as endless: four for each day of the window (a page of one row would already
 * hold a day), and a thousand for a service that ignores the dates and sends its whole history.
 */
export function maxPagesFor(asked: Window): number {
  return 1_000 + 4 * daysIn(asked);
}

/**
 * Most pages of a read that has shown `days` different days: a page for each quarter of an hour, and some more. A service
 * that gives its records new ids with each answer shows few days by many pages.
 */
export function mostPagesOf(days: number): number {
  return 1_000 + 100 * days;
}

/** Reads all pages of a window. The rows of the window are the rows of all answers. */
export function readPages(options: PagesOptions): Paging<PagesEnd> {
  return withProvenEnd(readToEnd(options), options.profile);
}

function* readToEnd(options: PagesOptions): Paging<PagesEnd> {
  const { limits, profile } = options;
  const quick = profile === undefined ? undefined : yield* readByProfile(profile, options);
  if (quick === 'trusted') return { kind: 'end', found: {}, limits, isVerified: false };
  if (quick !== undefined) return verifiedEnd(quick, limits);
  for (const [index, limit] of limits.entries()) {
    const result = yield* readCarefully(limit, options);
    if (result !== 'limit-refused') return verifiedEnd(result, limits.slice(index));
  }
  return failWith('refused');
}

function verifiedEnd(end: PagingEnd, limits: readonly PageLimit[]): PagesEnd {
  return end.kind === 'fail' ? end : { ...end, limits, isVerified: true };
}

/** Undefined as soon as an answer contradicts the profile. */
function* readByProfile(profile: PagingProfile, options: PagesOptions): Paging<PagingEnd | 'trusted' | undefined> {
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
  if (isEndTrusted(first.length, limit, profile, options.trustedEnd)) return 'trusted';
  // So few rows do not confirm the page base: the other first page must not have other rows.
  if (first.length === 0 || (first.length < leastChained && pageBase === 1)) {
    const other = yield { page: 1 - pageBase, limit, again: 0 };
    if (keysOf(other).some((key) => !first.includes(key))) return undefined;
    if (first.length === 0) return endOf();
  }
  const ask = askPastFirst(pageBase + 1, first);
  return yield* readOn({ ...options, limit, pageBase, first, start: ask.limit, exact: true }, yield ask);
}

/**
 * Whether a first page can only be the last one, if the service is what the profile says: page and limit honoured, the
 * first page known, and more rows sent on one page before.
 */
function isEndTrusted(rows: number, limit: number, profile: PagingProfile, trusted: TrustedEnd | undefined): boolean {
  return trusted !== undefined && rows >= trusted.leastRows && rows < Math.min(limit, knownPageRows(profile));
}

/** `limit-refused`: every page refuses the limit. A refusal after rows have come is left to the passes. */
function* readCarefully(limit: PageLimit, options: PagesOptions): Paging<PagingEnd | 'limit-refused'> {
  const zero = yield { page: 0, limit, again: 0 };
  const first = keysOf(zero);
  if (first.length > 0) return yield* readFromPageZero(first, limit, options);
  const one = yield { page: 1, limit, again: 0 };
  if (one.kind === 'refused') return 'limit-refused';
  if (one.kind === 'not-found') {
    // Of a service that begins with page 1, an empty page 0 says nothing.
    return zero.kind === 'page' && options.profile?.pageBase !== 1 ? endOf() : failWith('not-found');
  }
  if (one.keys.length === 0) return endOf();
  if (limit === undefined) return yield* readPasses(limit, options);
  const ask = askPastFirst(2, one.keys);
  const answer = yield ask;
  const page = { ...options, limit, pageBase: 1, first: one.keys, start: ask.limit, exact: false } as const;
  return yield* readOnOrInPasses(page, answer);
}

/** Page 0 has rows: it is the first page, or the service also answers page 0 with page 1. */
function* readFromPageZero(first: readonly RowKey[], limit: PageLimit, options: PagesOptions): Paging<PagingEnd> {
  if (limit === undefined) return yield* readPasses(limit, options);
  const ask = askPastFirst(1, first);
  const one = yield { ...ask, again: ask.limit };
  const head = first.slice(0, ask.limit);
  if (!areSame(keysOf(one), head)) {
    return yield* readOnOrInPasses({ ...options, limit, pageBase: 0, first, start: ask.limit, exact: false }, one);
  }
  // Another limit: where pages are honoured, as many rows that come before each request do not make all pages alike.
  const start = first.length < leastShortened ? ask.limit : ask.limit - 1;
  const two = yield { page: 2, limit: start, again: start };
  if (first.length < leastChained || !areSame(keysOf(two), first.slice(0, start))) {
    return yield* readOnOrInPasses({ ...options, limit, pageBase: 1, first, start, exact: false }, two);
  }
  const found = { pagingHonoured: false, limitHonoured: head.length < first.length };
  return yield* readUnpaged(first, found, limit, options);
}

interface FirstPage extends PagesOptions {
  readonly limit: number;
  readonly pageBase: 0 | 1;
  readonly first: readonly RowKey[];
  /** Position at which the second page was asked to begin, and its limit: rows of the first page from there on come again. */
  readonly start: number;
  /** Whether the second page must begin exactly at the computed row; otherwise any overlap is accepted. */
  readonly exact: boolean;
}

/** Continues with the answer to `askPastFirst`. A first page that nothing follows counts as a pass. */
function* readOnOrInPasses(page: FirstPage, answer: PageAnswer): Paging<PagingEnd> {
  const end = yield* readOn(page, answer);
  const isAll = keysOf(answer).length === 0;
  return end ?? (yield* readPasses(page.limit, page, isAll ? page.first : undefined));
}

/** Undefined when the pages cannot be joined. */
function* readOn(page: FirstPage, answer: PageAnswer): Paging<PagingEnd | undefined> {
  const { first, start, pageBase, exact, maxPages, limit } = page;
  const keys = keysOf(answer);
  if (answer.kind === 'refused') return undefined;
  if (first.length < leastChained) return keys.every((key) => first.includes(key)) ? endOf() : undefined;
  // A page that begins with an earlier row repeats rows of the page before: it shows nothing of the limit.
  const isExact = keys[0] === first[start];
  const honoured = { pagingHonoured: true, ...(isExact && { limitHonoured: true }) };
  const found: PagingFindings = { pageBase, ...honoured, pageRows: first.length };
  const joined = join(reachOf(first), start, keys);
  // Rows that have left since the first page move the rest forward: its last row, and rows behind it, may be on no page.
  const hasMissed = keys.length === 0;
  if (!hasMissed) {
    if (joined === undefined || keys.length > start || (exact && !isExact)) return undefined;
    if (joined.fresh === 0 && keys.length < start) return endOf(found);
  }
  const reach = joined?.reach ?? reachOf(first);
  const result = yield* readChain({ pageBase, maxLimit: first.length, maxPages, reach, hasMissed });
  if (result === 'without-end') return failWith(result);
  if (result === 'broken') return undefined;
  return endOf(first.length < limit ? { ...found, grantedLimit: first.length } : found);
}

/** The page that begins with the last row of the first page, or the page after the first when no such page exists. */
function askPastFirst(page: number, first: readonly RowKey[]): PageAsk & { readonly limit: number } {
  const shared = first.length < leastChained ? 0 : 1;
  return { page, limit: first.length - shared, again: shared };
}

/** Passes after a failed chain: two equal passes show that moving rows did not cause the failure. */
function* readPasses(limit: PageLimit, options: PagesOptions, before?: readonly RowKey[]): Paging<PagingEnd> {
  const result = yield* readInPasses({ ...options, limit, before });
  if (result.kind === 'same-page') return yield* readUnpaged(result.keys, { limitHonoured: false }, limit, options);
  return result.kind === 'end' && limit !== undefined ? endOf({ limitHonoured: false }) : result;
}

/**
 * Reads a service that answers every page with the first. When dates do not shorten the answer either, nothing shows
 * whether it was cut: the rows are all rows if the service ignores the limit as well, and simply sends what it has;
 * otherwise the read fails.
 */
function* readUnpaged(
  keys: readonly RowKey[],
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
  const fewer = yield { page: 0, limit: pages.keys.length - 1, again: Infinity };
  return areSame(keysOf(fewer), pages.keys) ? endOf(found) : failWith('page-ignored');
}

/**
 * Drives `reading`. A 404 behind the first page ends it only at a service that answers so past its last page
 * (docs/design.md section 6): from any other one it is a page that did not come, and the rows behind it would be taken for
 * gone (G4), so that the read fails as `unproven-end`. What the profile does not tell, the read sees for itself, once and
 * by two requests: a page that no well reaches must be a 404 too, and the first page must still be one.
 */
function* withProvenEnd(reading: Paging<PagesEnd>, known: PagingProfile | undefined): Paging<PagesEnd> {
  let firstPage: number | undefined = known?.pageBase === 'unknown' ? undefined : known?.pageBase;
  let hasCome = false;
  let isProven = known?.pastLast === 'not-found';
  let step = reading.next();
  while (step.done !== true) {
    const ask = step.value;
    const answer = yield ask;
    if (!isProven && hasCome && isBehind(ask, answer, firstPage)) {
      const isUnknown = known === undefined || known.pastLast === 'unknown';
      isProven = isUnknown && (yield* seeEnd(firstPage ?? 0, ask));
      if (!isProven) return failWith('unproven-end');
    }
    if (answer.kind === 'page') {
      hasCome = true;
      firstPage ??= ask.page;
    }
    step = reading.next(answer);
  }
  return step.value;
}

/** A narrower window may be empty where the whole one is not: a 404 for it is no end of pages. */
function isBehind({ page, window }: PageAsk, { kind }: PageAnswer, firstPage: number | undefined): boolean {
  return kind === 'not-found' && window === undefined && firstPage !== undefined && page > firstPage;
}

function* seeEnd(firstPage: number, { limit }: PageAsk): Paging<boolean> {
  const far = yield { page: farPage, limit, again: Infinity };
  if (far.kind !== 'not-found') return false;
  const first = yield { page: firstPage, limit, again: Infinity };
  return first.kind === 'page';
}
