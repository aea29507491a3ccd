/** Types of reading pages: the request for a page, the answer, and the end of a read. */
import type { Window } from '../time/window.ts';

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
