/** Owns the words of reading pages: what is asked of the service, what it answers, and how a read of all pages ends. */
import type { Window } from './window.ts';

/** Rows to a page; undefined leaves the parameter away. */
export type PageLimit = number | undefined;

export interface PageAsk {
  readonly page: number;
  readonly limit: PageLimit;
  /** Source time to ask for; undefined for the whole of what is read. */
  readonly window?: Window;
  /** How many of the rows that come may be ones asked for again on purpose: no repeating of the service's. */
  readonly again: number;
}

/**
 * What the service answered; `keys` names its rows in their order, an unchanged row always alike. `isBeyond` says that a
 * row is dated more than a day outside of the window that was asked for: whatever zone and bounds the service goes by, it
 * pays no heed to one of the dates.
 */
export type PageAnswer =
  | { readonly kind: 'page'; readonly keys: readonly string[]; readonly isBeyond?: boolean }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused' };

/**
 * `not-found`: the service does not know the well. `refused`: it takes no limit at all, or refused a page after rows had
 * come. `page-ignored`: it answers every page with its first rows, and they may be cut short. `without-end`: new rows on
 * every page. `unstable`: rows moved between the pages for as long as the read had patience.
 */
export type PagingFailure = 'not-found' | 'refused' | 'page-ignored' | 'without-end' | 'unstable';

/** What a read learnt of the service on its way; undefined where it did not have to know. */
export interface PagingFindings {
  readonly pageBase?: 0 | 1;
  readonly pagingHonoured?: boolean;
  readonly limitHonoured?: boolean;
  /** Rows of a first page that was shorter than asked for, where more came after it. */
  readonly grantedLimit?: number;
}

export type PagingEnd =
  | { readonly kind: 'end'; readonly found: PagingFindings }
  | { readonly kind: 'fail'; readonly failure: PagingFailure };

/**
 * A rule of reading, told as a pure conversation: it yields what to ask and is given the answer. Whoever drives it keeps
 * the rows of every answer; when it returns an end, they are all of the rows.
 */
export type Paging<Outcome> = Generator<PageAsk, Outcome, PageAnswer>;

export function endOf(found: PagingFindings = {}): PagingEnd {
  return { kind: 'end', found };
}

export function failWith(failure: PagingFailure): PagingEnd {
  return { kind: 'fail', failure };
}

/** The rows of an answer; none where it is no page. */
export function keysOf(answer: PageAnswer): readonly string[] {
  return answer.kind === 'page' ? answer.keys : [];
}

export function areSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((key, index) => key === right[index]);
}
