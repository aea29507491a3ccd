/**
 * Decides what to ask a service about one well to learn how it pages, limits, bounds and orders, and what its answers
 * mean (DESIGN.md section 3). Told as a pure conversation, like core/paging.ts. What the well cannot tell is `unknown`,
 * with the reason.
 *
 *   no parameters        the first page, and how many rows it has
 *   pages 0, 1, 2 of 2   which is the first; whether page and limit are heeded
 *   page -1, page 10^6   what lies below and past the pages
 *   limit 10 000         the largest limit: clamped, or refused and then searched for
 *   two rows' own dates  whether the bounds are inclusive
 */
import type { ProbeFindings, ProbeRow, Probing } from './paging-probe-answers.ts';
import { defaultLimitOf, probeLargest } from './paging-probe-limits.ts';
import { probeBelow, probePages, probePastLast } from './paging-probe-pages.ts';
import { orderOf, probeBounds, stabilityOf } from './paging-probe-rows.ts';

/** Requests that a probe makes at the most, retries apart. */
export const mostProbeRequests = 12;

/** `plain` is the answer to a question without parameters: the first page, with rows on it. */
export function* probe(plain: readonly ProbeRow[]): Probing<ProbeFindings> {
  const pages = yield* probePages(plain);
  const { pageBase, pagingHonoured, limitHonoured } = pages;
  const belowFirst = yield* probeBelow(pages);
  const pastLast = yield* probePastLast(pages);
  const { rows, granted, again = pages.firstAgain, ...largest } = yield* probeLargest(pages, plain);
  const bounds = yield* probeBounds(rows, pageBase.value, granted);
  const defaultLimit = defaultLimitOf(plain, [...pages.seen, ...rows], pages);
  const order = { order: orderOf(rows), orderStable: stabilityOf(plain, again) };
  return {
    pageBase,
    belowFirst,
    pastLast,
    pagingHonoured,
    limitHonoured,
    defaultLimit,
    ...largest,
    ...bounds,
    ...order,
  };
}
