/** Decides by the pages of a well how a service numbers them, what lies below and past them, and whether page and limit are heeded. */
import {
  counted,
  finding,
  rowsOf,
  unknown,
  wordsOf,
  type Finding,
  type ProbeAnswer,
  type ProbeFindings,
  type ProbeRow,
  type Probing,
} from './paging-probe-answers.ts';
import type { OffPages, PageBase } from './service-profile.ts';

const smallLimit = 2;
const farPage = 1_000_000;

export interface PageFindings {
  readonly pageBase: Finding<PageBase>;
  readonly pagingHonoured: Finding<boolean>;
  readonly limitHonoured: Finding<boolean>;
  /** What page 0 answered. */
  readonly zero: ProbeAnswer;
  /** Every row of the numbered pages. */
  readonly seen: readonly ProbeRow[];
  /** The first page, asked for by its number. */
  readonly firstAgain: readonly ProbeRow[];
}

export function* probePages(plain: readonly ProbeRow[]): Probing<PageFindings> {
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
  const two: ProbeAnswer = needsThird
    ? yield { page: 2, ...(limit === undefined ? {} : { limit }) }
    : { kind: 'not-found' };
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
  if (most > limit) return finding(false, `${most} rows came where ${limit} were asked for`);
  if (plain.length <= limit) return unknown(`the well sends ${counted(plain.length)} even without a limit`);
  if (most === limit)
    return finding(true, `${limit} rows came where ${limit} were asked for, and more without a limit`);
  return unknown(`${counted(most)} came where ${limit} were asked for`);
}

function pagingFindings(
  answers: readonly [ProbeAnswer, ProbeAnswer, ProbeAnswer],
  plain: readonly ProbeRow[],
  isLimited: boolean,
): Pick<PageFindings, 'pageBase' | 'pagingHonoured'> {
  const [zero, one, two] = answers;
  const [zeroIsFirst, oneIsFirst, twoIsFirst] = answers.map((answer) => beginsLike(answer, plain));
  const both = (pageBase: Finding<PageBase>, pagingHonoured: Finding<boolean>) => ({ pageBase, pagingHonoured });
  const heeded = finding(true, 'another page begins with another row');
  if (rowsOf(zero).length === 0 && oneIsFirst === true)
    return both(
      finding<PageBase>(1, `page 1 begins with the first row; page 0: ${wordsOf(zero)}`),
      finding(true, `page 0: ${wordsOf(zero)}`),
    );
  if (zeroIsFirst !== true) {
    const because = `page 0: ${wordsOf(zero)}; page 1: ${wordsOf(one)}; neither begins with the first row`;
    return both(unknown(because), unknown(because));
  }
  if (plain.length <= smallLimit) {
    const because = `the well sends only ${counted(plain.length)}: too few to tell its pages apart`;
    return both(unknown(because), unknown(because));
  }
  if (oneIsFirst !== true)
    return both(finding<PageBase>(0, 'page 0 begins with the first row, page 1 does not'), heeded);
  if (twoIsFirst !== true && two.kind === 'page' && two.rows.length > 0)
    return both(finding<PageBase>(1, 'pages 0 and 1 both begin with the first row, page 2 does not'), heeded);
  const because = `pages 0 and 1 are alike; page 2: ${wordsOf(two)}`;
  return isLimited && twoIsFirst === true
    ? both(unknown('every page is the first one'), finding(false, 'pages 0, 1 and 2 all begin with the first row'))
    : both(unknown(because), unknown(because));
}

export function* probeBelow({ pageBase, zero }: PageFindings): Probing<ProbeFindings['belowFirst']> {
  if (pageBase.value === 'unknown') return unknown('the first page is not known');
  const page = pageBase.value - 1;
  const answer = page === 0 ? zero : yield { page, limit: smallLimit };
  return offPage(answer, 'first-page', `page ${page}: ${wordsOf(answer)}`);
}

export function* probePastLast({ pageBase, pagingHonoured }: PageFindings): Probing<ProbeFindings['pastLast']> {
  if (pageBase.value === 'unknown' || pagingHonoured.value !== true)
    return unknown('no page is known to be past the last');
  const answer = yield { page: farPage, limit: smallLimit };
  return offPage(answer, 'last-page', `page ${farPage}: ${wordsOf(answer)}`);
}

function offPage<Shown extends string>(answer: ProbeAnswer, shown: Shown, because: string): Finding<OffPages | Shown> {
  if (answer.kind !== 'page') return finding<OffPages | Shown>(answer.kind, because);
  return finding<OffPages | Shown>(answer.rows.length === 0 ? 'empty' : shown, because);
}

function beginsLike(answer: ProbeAnswer, plain: readonly ProbeRow[]): boolean {
  const [first] = rowsOf(answer);
  return first !== undefined && first.key === plain[0]?.key;
}
