/**
 * Probe of a service: a dozen requests about one well show how it numbers pages, limits, bounds and orders rows
 * (docs/design.md section 3). A generator without input or output, like core/paging/chain-and-passes.ts. A property that the well
 * cannot show is `unknown`, with the reason.
 *
 *   no parameters        the first page, and how many rows it has
 *   pages 0, 1, 2 of 2   which is the first; whether page and limit are honoured
 *   page -1, page 10^6   the answers below and past the pages
 *   limit 10 000         the largest limit: clamped, or refused and then searched for
 *   two rows' own dates  whether the bounds are inclusive
 */
import type { BoundKind, OffPages, PageBase, RowOrder, ServiceProfile, Unknown } from './service-profile.ts';
import { counted } from '../base/text.ts';
import { farPage } from './chain-and-passes.ts';

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

// Probes the paging: the first page, the answers below and past the pages, and whether page and limit are honoured.

// What a probe asks, gets and finds.

export interface ProbeRow {
  readonly key: string;
  /** Instant of the row; undefined when its date cannot be read. */
  readonly instantMs: number | undefined;
}

export interface ProbeAsk {
  readonly page?: number;
  readonly limit?: number;
  readonly startMs?: number;
  readonly endMs?: number;
}

export type ProbeAnswer =
  | { readonly kind: 'page'; readonly rows: readonly ProbeRow[] }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused' };

type Probing<Outcome> = Generator<ProbeAsk, Outcome, ProbeAnswer>;

/** A value of the profile with its evidence, or the reason why it is unknown. */
export interface Finding<Value> {
  readonly value: Value | Unknown;
  readonly because: string;
}

export type ProbeFindings = {
  readonly [Name in Exclude<keyof ServiceProfile, 'baseUrl' | 'probedAtMs' | 'uwi' | 'evidence'>]: Finding<
    Exclude<ServiceProfile[Name], Unknown>
  >;
};

function rowsOf(answer: ProbeAnswer): readonly ProbeRow[] {
  return answer.kind === 'page' ? answer.rows : [];
}

function describeAnswer(answer: ProbeAnswer): string {
  if (answer.kind === 'not-found') return 'answered 404';
  if (answer.kind === 'refused') return 'refused';
  return answer.rows.length === 0 ? 'empty' : counted(answer.rows.length, 'row');
}

function finding<const Value>(value: Value | Unknown, because: string): Finding<Value> {
  return { value, because };
}

function unknown(because: string): Finding<never> {
  return { value: 'unknown', because };
}

const smallLimit = 2;

interface PageFindings {
  readonly pageBase: Finding<PageBase>;
  readonly pagingHonoured: Finding<boolean>;
  readonly limitHonoured: Finding<boolean>;
  /** Answer to page 0. */
  readonly zero: ProbeAnswer;
  /** Rows of all numbered pages. */
  readonly seen: readonly ProbeRow[];
  /** Rows of the first page, requested by its number. */
  readonly firstAgain: readonly ProbeRow[];
}

function* probePages(plain: readonly ProbeRow[]): Probing<PageFindings> {
  let limit: number | undefined = smallLimit;
  let zero = yield { page: 0, limit };
  let one = yield { page: 1, limit };
  if (zero.kind === 'refused' && one.kind === 'refused') {
    limit = undefined;
    zero = yield { page: 0 };
    one = yield { page: 1 };
  }
  const isFirst = (answer: ProbeAnswer): boolean => beginsLike(answer, plain);
  const needsThird = isFirst(zero) && isFirst(one);
  const two: ProbeAnswer = needsThird ? yield { page: 2, ...(limit && { limit }) } : { kind: 'not-found' };
  const limitHonoured = limitFinding(limit, [zero, one], plain);
  const paging = pagingFindings([zero, one, two], plain, limitHonoured.value === true);
  const firstPage = [zero, one].find(isFirst);
  return {
    ...paging,
    limitHonoured,
    zero,
    seen: [zero, one, two].flatMap(rowsOf),
    firstAgain: firstPage === undefined ? [] : rowsOf(firstPage),
  };
}

function limitFinding(
  limit: number | undefined,
  answers: readonly ProbeAnswer[],
  plain: readonly ProbeRow[],
): Finding<boolean> {
  if (limit === undefined) return finding(false, `a limit of ${smallLimit} is refused on every page`);
  const most = Math.max(...answers.map((answer) => rowsOf(answer).length));
  if (most > limit) return finding(false, `${counted(most, 'row')} came where ${limit} were requested`);
  if (plain.length <= limit) return unknown(`the well sends ${counted(plain.length, 'row')} even without a limit`);
  if (most === limit)
    return finding(true, `${counted(limit, 'row')} came where ${limit} were requested, and more without a limit`);
  return unknown(`${counted(most, 'row')} came where ${limit} were requested`);
}

function pagingFindings(
  answers: readonly [ProbeAnswer, ProbeAnswer, ProbeAnswer],
  plain: readonly ProbeRow[],
  isLimited: boolean,
): Pick<PageFindings, 'pageBase' | 'pagingHonoured'> {
  const [zero, one, two] = answers;
  const [zeroIsFirst, oneIsFirst, twoIsFirst] = answers.map((answer) => beginsLike(answer, plain));
  const both = (pageBase: Finding<PageBase>, pagingHonoured: Finding<boolean>) => ({ pageBase, pagingHonoured });
  const neither = (because: string) => both(unknown(because), unknown(because));
  const honoured = finding(true, 'another page begins with another row');
  if (rowsOf(zero).length === 0 && oneIsFirst === true)
    return both(
      finding(1, `page 1 begins with the first row; page 0: ${describeAnswer(zero)}`),
      finding(true, `page 0: ${describeAnswer(zero)}`),
    );
  if (zeroIsFirst !== true) {
    return neither(
      `page 0: ${describeAnswer(zero)}; page 1: ${describeAnswer(one)}; neither begins with the first row`,
    );
  }
  if (plain.length <= smallLimit) {
    return neither(`the well sends only ${counted(plain.length, 'row')}: too few to tell its pages apart`);
  }
  if (oneIsFirst !== true) return both(finding(0, 'page 0 begins with the first row, page 1 does not'), honoured);
  if (twoIsFirst !== true && two.kind === 'page' && two.rows.length > 0)
    return both(finding(1, 'pages 0 and 1 both begin with the first row, page 2 does not'), honoured);
  return isLimited && twoIsFirst === true
    ? both(unknown('every page is the first one'), finding(false, 'pages 0, 1 and 2 all begin with the first row'))
    : neither(`pages 0 and 1 are alike; page 2: ${describeAnswer(two)}`);
}

function* probeBelow({ pageBase, zero }: PageFindings): Probing<ProbeFindings['belowFirst']> {
  if (pageBase.value === 'unknown') return unknown('the first page is not known');
  const page = pageBase.value - 1;
  const answer = page === 0 ? zero : yield { page, limit: smallLimit };
  return offPage(answer, 'first-page', `page ${page}: ${describeAnswer(answer)}`);
}

function* probePastLast({ pageBase, pagingHonoured }: PageFindings): Probing<ProbeFindings['pastLast']> {
  if (pageBase.value === 'unknown' || pagingHonoured.value !== true)
    return unknown('no page is known to be past the last');
  const answer = yield { page: farPage, limit: smallLimit };
  return offPage(answer, 'last-page', `page ${farPage}: ${describeAnswer(answer)}`);
}

function offPage<Shown extends string>(answer: ProbeAnswer, shown: Shown, because: string): Finding<OffPages | Shown> {
  if (answer.kind !== 'page') return { value: answer.kind, because };
  return { value: answer.rows.length === 0 ? 'empty' : shown, because };
}

function beginsLike(answer: ProbeAnswer, plain: readonly ProbeRow[]): boolean {
  const [first] = rowsOf(answer);
  return first !== undefined && first.key === plain[0]?.key;
}

/** Probes the page limit: the largest limit that a service grants, and its answer to a larger one. */
const largeLimit = 10_000;
/** Limit that the probe of the pages has shown to be granted. */
const leastLimit = 2;
/** Limits that services commonly grant, between the small and the large one. */
const usualLimits = [10, 20, 50, 100, 200, 250, 500, 1_000, 2_000, 5_000] as const;

type LimitFindings = Pick<ProbeFindings, 'maxLimit' | 'largestPage' | 'overMaxLimit'>;

interface LargestFindings extends LimitFindings {
  /** The longest run of rows, from the first on, in one answer. */
  readonly rows: readonly ProbeRow[];
  /** The first page when it was requested a second time; undefined otherwise. */
  readonly again: readonly ProbeRow[] | undefined;
  /** A limit that the service is known to grant. */
  readonly granted: number | undefined;
}

function* probeLargest(
  { pageBase, limitHonoured }: PageFindings,
  plain: readonly ProbeRow[],
): Probing<LargestFindings> {
  const base = pageBase.value;
  if (base === 'unknown' || limitHonoured.value !== true) {
    const because = limitHonoured.value === false ? 'the limit is ignored' : 'too little is known of pages and limits';
    const nothing = { maxLimit: unknown(because), largestPage: unknown(because), overMaxLimit: unknown(because) };
    return { ...nothing, rows: plain, again: undefined, granted: undefined };
  }
  const answer = yield { page: base, limit: largeLimit };
  if (answer.kind !== 'page') return yield* searchLimit(base, plain);
  const { rows } = answer;
  return { ...(yield* limitFindings(base, rows)), rows, again: rows, granted: largeLimit };
}

function* limitFindings(base: PageBase, rows: readonly ProbeRow[]): Probing<LimitFindings> {
  const count = rows.length;
  const largestPage = largestPageOf(count, largeLimit);
  if (count >= largeLimit) {
    const because = `a limit of ${largeLimit} is granted; none above it was tried`;
    return { maxLimit: finding(largeLimit, because), largestPage, overMaxLimit: unknown(because) };
  }
  const beyond = yield { page: base + count, limit: 1 };
  const isCut = rowsOf(beyond).some(({ key }) => rows.every((row) => row.key !== key));
  const came = `${counted(count, 'row')} came where ${largeLimit} were requested`;
  // A page that repeats rows may hide that there are more.
  const because = isCut ? `${came}, and there are more` : `${came}, and no other one was found behind them`;
  if (!isCut) return { maxLimit: unknown(because), largestPage, overMaxLimit: unknown(because) };
  const overMaxLimit = finding('clamped', because);
  return { maxLimit: finding(count, because), largestPage, overMaxLimit };
}

function largestPageOf(count: number, limit: number): Finding<number> {
  const because = `${counted(count, 'row')} came where ${limit} were requested`;
  return count === 0 ? unknown(because) : finding(count, because);
}

/** Binary search among the usual limits. */
function* searchLimit(base: PageBase, plain: readonly ProbeRow[]): Probing<LargestFindings> {
  let granted = -1;
  let refused: number = usualLimits.length;
  let again: readonly ProbeRow[] | undefined;
  while (refused - granted > 1) {
    const middle = Math.floor((granted + refused) / 2);
    const answer = yield { page: base, limit: usualLimits[middle] ?? largeLimit };
    if (answer.kind === 'page') [granted, again] = [middle, answer.rows];
    else refused = middle;
  }
  const largest = usualLimits[granted] ?? leastLimit;
  const because = `a limit of ${largest} is granted, one of ${usualLimits[refused] ?? largeLimit} refused; none between was tried`;
  const rows = again !== undefined && again.length > plain.length ? again : plain;
  return {
    maxLimit: finding(largest, because),
    largestPage: largestPageOf(again?.length ?? 0, largest),
    overMaxLimit: finding('refused', because),
    rows,
    again,
    granted: largest,
  };
}

function defaultLimitOf(
  plain: readonly ProbeRow[],
  others: readonly ProbeRow[],
  { pageBase, pagingHonoured }: PageFindings,
): Finding<number> {
  const known = new Set(plain.map(({ key }) => key));
  if (others.some(({ key }) => !known.has(key)))
    return finding(plain.length, `${counted(plain.length, 'row')} came without a limit, and there are more`);
  if (pagingHonoured.value === false)
    return unknown('every page is the first one: nothing shows whether there are more');
  return unknown(
    pageBase.value === 'unknown'
      ? 'no page could be told from another'
      : `all ${counted(known.size, 'row')} of the well came without a limit`,
  );
}
