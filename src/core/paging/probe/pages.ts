/** Probes the paging: the first page, the answers below and past the pages, and whether page and limit are honoured. */
import { counted } from '../../base/text.ts';
import {
  finding,
  rowsOf,
  unknown,
  describeAnswer,
  type Finding,
  type ProbeAnswer,
  type ProbeFindings,
  type ProbeRow,
  type Probing,
} from './answers.ts';
import { farPage } from '../page.ts';
import type { OffPages, PageBase } from '../service-profile.ts';

const smallLimit = 2;

export interface PageFindings {
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
  const honoured = finding(true, 'another page begins with another row');
  if (rowsOf(zero).length === 0 && oneIsFirst === true)
    return both(
      finding<PageBase>(1, `page 1 begins with the first row; page 0: ${describeAnswer(zero)}`),
      finding(true, `page 0: ${describeAnswer(zero)}`),
    );
  if (zeroIsFirst !== true) {
    const because = `page 0: ${describeAnswer(zero)}; page 1: ${describeAnswer(one)}; neither begins with the first row`;
    return both(unknown(because), unknown(because));
  }
  if (plain.length <= smallLimit) {
    const because = `the well sends only ${counted(plain.length, 'row')}: too few to tell its pages apart`;
    return both(unknown(because), unknown(because));
  }
  if (oneIsFirst !== true)
    return both(finding<PageBase>(0, 'page 0 begins with the first row, page 1 does not'), honoured);
  if (twoIsFirst !== true && two.kind === 'page' && two.rows.length > 0)
    return both(finding<PageBase>(1, 'pages 0 and 1 both begin with the first row, page 2 does not'), honoured);
  const because = `pages 0 and 1 are alike; page 2: ${describeAnswer(two)}`;
  return isLimited && twoIsFirst === true
    ? both(unknown('every page is the first one'), finding(false, 'pages 0, 1 and 2 all begin with the first row'))
    : both(unknown(because), unknown(because));
}

export function* probeBelow({ pageBase, zero }: PageFindings): Probing<ProbeFindings['belowFirst']> {
  if (pageBase.value === 'unknown') return unknown('the first page is not known');
  const page = pageBase.value - 1;
  const answer = page === 0 ? zero : yield { page, limit: smallLimit };
  return offPage(answer, 'first-page', `page ${page}: ${describeAnswer(answer)}`);
}

export function* probePastLast({ pageBase, pagingHonoured }: PageFindings): Probing<ProbeFindings['pastLast']> {
  if (pageBase.value === 'unknown' || pagingHonoured.value !== true)
    return unknown('no page is known to be past the last');
  const answer = yield { page: farPage, limit: smallLimit };
  return offPage(answer, 'last-page', `page ${farPage}: ${describeAnswer(answer)}`);
}

function offPage<Shown extends string>(answer: ProbeAnswer, shown: Shown, because: string): Finding<OffPages | Shown> {
  if (answer.kind !== 'page') return finding<OffPages | Shown>(answer.kind, because);
  return finding<OffPages | Shown>(answer.rows.length === 0 ? 'empty' : shown, because);
}

function beginsLike(answer: ProbeAnswer, plain: readonly ProbeRow[]): boolean {
  const [first] = rowsOf(answer);
  return first !== undefined && first.key === plain[0]?.key;
}
