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
import {
  defaultLimitOf,
  describeAnswer,
  type Finding,
  finding,
  probeBelow,
  type ProbeFindings,
  probeLargest,
  probePages,
  probePastLast,
  type ProbeRow,
  type Probing,
  rowsOf,
  unknown,
} from './probe-numbering.ts';
import type { BoundKind, PageBase, RowOrder, Unknown } from './service-profile.ts';

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
  const found = { pageBase, belowFirst, pastLast, pagingHonoured, limitHonoured, defaultLimit };
  return { ...found, ...largest, ...bounds, ...order };
}

// Probes the rows: their order, whether it is stable, and whether the bounds of a range are inclusive.

/** The order of rows by date, with its evidence. */
function orderOf(rows: readonly ProbeRow[]): Finding<RowOrder> {
  const instants = rows.map(({ instantMs }) => instantMs).filter((at) => at !== undefined);
  if (new Set(instants).size < 3) return unknown('fewer than three dates came');
  const steps = instants.slice(1).map((at, index) => at - (instants[index] ?? at));
  const among = `among ${instants.length} rows`;
  if (steps.every((step) => step >= 0)) return finding('ascending', `no date is before the one above it ${among}`);
  if (steps.every((step) => step <= 0)) return finding('descending', `no date is after the one above it ${among}`);
  return finding('none', `dates rise and fall ${among}`);
}

/** Whether two answers to the first page have their rows in the same order, as far as both go. */
function stabilityOf(first: readonly ProbeRow[], again: readonly ProbeRow[]): Finding<boolean> {
  const shared = Math.min(first.length, again.length);
  if (shared < 2) return unknown('the first page did not come twice with two rows');
  const isSame = first.slice(0, shared).every(({ key }, index) => key === again[index]?.key);
  return finding(isSame, `${shared} rows came twice, in ${isSame ? 'the same order' : 'another order'}`);
}

/** Two dates of rows with a row between them and rows on both sides; undefined for fewer than five distinct dates. */
function datesOf(
  rows: readonly ProbeRow[],
): { readonly startMs: number; readonly middleMs: number; readonly endMs: number } | undefined {
  const instants = [...new Set(rows.map(({ instantMs }) => instantMs))].filter((at) => at !== undefined);
  const [, startMs, middleMs, endMs, last] = instants.toSorted((left, right) => left - right);
  if (startMs === undefined || middleMs === undefined || endMs === undefined || last === undefined) return undefined;
  return { startMs, middleMs, endMs };
}

function* probeBounds(
  rows: readonly ProbeRow[],
  pageBase: PageBase | Unknown,
  granted: number | undefined,
): Probing<Pick<ProbeFindings, 'startBound' | 'endBound'>> {
  const dates = datesOf(rows);
  if (dates === undefined) {
    const because = 'the well has fewer than five dates to tell the bounds by';
    return { startBound: unknown(because), endBound: unknown(because) };
  }
  const { startMs, middleMs, endMs } = dates;
  const answer = yield {
    startMs,
    endMs,
    ...(pageBase === 'unknown' ? {} : { page: pageBase }),
    ...(granted === undefined ? {} : { limit: granted }),
  };
  const came = new Set(rowsOf(answer).map(({ instantMs }) => instantMs));
  if (!came.has(middleMs)) {
    const because = `a range between two rows: ${describeAnswer(answer)}, without the row in between`;
    return { startBound: unknown(because), endBound: unknown(because) };
  }
  const instants = [...came].filter((instantMs) => instantMs !== undefined);
  const [firstMs, lastMs] = [Math.min(...instants), Math.max(...instants)];
  return {
    startBound: boundOf('the start', firstMs < startMs && 'before', came.has(startMs)),
    endBound: boundOf('the end', lastMs > endMs && 'after', came.has(endMs)),
  };
}

function boundOf(bound: string, passed: string | false, hasBound: boolean): Finding<BoundKind> {
  if (passed !== false) return finding('ignored', `rows came from ${passed} ${bound} of the range`);
  return hasBound
    ? finding('inclusive', `the row dated exactly at ${bound} of the range came`)
    : finding('exclusive', `the row dated exactly at ${bound} of the range did not come`);
}
