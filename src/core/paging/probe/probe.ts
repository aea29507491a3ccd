/**
 * Probe of a service: a dozen requests about one well show how it numbers pages, limits, bounds and orders rows
 * (docs/design.md section 3). A generator without input or output, like core/paging/page.ts. A property that the well
 * cannot show is `unknown`, with the reason.
 *
 *   no parameters        the first page, and how many rows it has
 *   pages 0, 1, 2 of 2   which is the first; whether page and limit are honoured
 *   page -1, page 10^6   the answers below and past the pages
 *   limit 10 000         the largest limit: clamped, or refused and then searched for
 *   two rows' own dates  whether the bounds are inclusive
 */
import type { ProbeFindings, ProbeRow, Probing } from './answers.ts';
import { defaultLimitOf, probeLargest } from './limits.ts';
import { probeBelow, probePages, probePastLast } from './pages.ts';
import { orderOf, probeBounds, stabilityOf } from './rows.ts';

/** Most requests of a probe, retries apart. */
export const mostProbeRequests = 12;

/**
 * Yields the requests of a probe and returns its findings. `plain` holds the rows of a request without parameters: the
 * first page, not empty.
 */
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
