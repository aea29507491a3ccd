/** Probes the page limit: the largest limit that a service grants, and its answer to a larger one. */
import { counted } from '../../base/text.ts';
import { finding, rowsOf, unknown, type Finding, type ProbeFindings, type ProbeRow, type Probing } from './answers.ts';
import type { PageFindings } from './pages.ts';
import type { PageBase } from '../service-profile.ts';

const largeLimit = 10_000;
/** Limit that the probe of the pages has shown to be granted. */
const leastLimit = 2;
/** Limits that services commonly grant, between the small and the large one. */
const usualLimits = [10, 20, 50, 100, 200, 250, 500, 1_000, 2_000, 5_000] as const;

type LimitFindings = Pick<ProbeFindings, 'maxLimit' | 'largestPage' | 'overMaxLimit'>;

export interface LargestFindings extends LimitFindings {
  /** The longest run of rows, from the first on, in one answer. */
  readonly rows: readonly ProbeRow[];
  /** The first page when it was requested a second time; undefined otherwise. */
  readonly again: readonly ProbeRow[] | undefined;
  /** A limit that the service is known to grant. */
  readonly granted: number | undefined;
}

export function* probeLargest(
  { pageBase, limitHonoured }: PageFindings,
  plain: readonly ProbeRow[],
): Probing<LargestFindings> {
  const base = pageBase.value;
  if (base === 'unknown' || limitHonoured.value !== true) {
    const because = limitHonoured.value === false ? 'the limit is ignored' : 'too little is known of pages and limits';
    return {
      maxLimit: unknown(because),
      largestPage: unknown(because),
      overMaxLimit: unknown(because),
      rows: plain,
      again: undefined,
      granted: undefined,
    };
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
  const overMaxLimit = finding<'clamped' | 'refused'>('clamped', because);
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
    overMaxLimit: finding<'clamped' | 'refused'>('refused', because),
    rows,
    again,
    granted: largest,
  };
}

export function defaultLimitOf(
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
