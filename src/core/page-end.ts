/**
 * Decides which page to ask for next and when all pages have been read, knowing nothing of how the service counts its
 * pages, what lies below the first and past the last, or which limits it grants (DESIGN.md section 3).
 *
 *   page 0 ──> page 1 ──> page 2 ──> page 3 ──> … ──> end
 *     ^          │           │
 *     └──────────┘           └──> page 2 again, limit 1 ──> end
 *    both refused: next limit     0, 1 and 2 were one same full page
 *
 * 1. Pages 0 and 1 are always asked for. Page 0 may lie below the first page, and page 1 may be the first page over again.
 * 2. From page 1 on, an empty page or a 404 is the end. A page that brings no new row is the end from page 2 on: by then
 *    it cannot be the first page over again. A page shorter than the limit says nothing.
 * 3. 404 on page 0 and on page 1: the service does not know the well. An empty page 0 and a 404 after it: no rows.
 * 4. A refusal (400) of both means the limit, which no page takes then: the next smaller one is tried, at last none. A
 *    refusal after rows have come is an error: it may as well forbid deep pages as mark the end, and rows must not be lost
 *    by a guess (G4).
 * 5. Where pages 0, 1 and 2 are one same full page, the service may pay no heed to `page` and have cut its rows at the
 *    limit. With limit 1, page 2 is another row than the first wherever pages count.
 *
 * The bound: a read of p non-empty pages takes at most p + 2 requests, one more under rule 5, and two more for each
 * limit refused. The one service that this reads wrong ignores `page` and also cuts at less than the limit asked for:
 * its answers are those of a service that has no more rows.
 */

/** Rows to a page; undefined leaves the parameter away. */
export type PageLimit = number | undefined;

/** What the service answered. `rowCount` rows came, `newCount` of them not seen before in this read; `first` is the key of the first. */
export type PageAnswer =
  | { readonly kind: 'page'; readonly rowCount: number; readonly newCount: number; readonly first: string | undefined }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused' };

/**
 * `not-found`: the service does not know the well. `refused`: it takes no limit at all, or refused a page after rows had
 * come. `page-ignored`: it answers every page with the first and cuts it at the limit. `without-end`: new rows on every page.
 */
export type PagingFailure = 'not-found' | 'refused' | 'page-ignored' | 'without-end';

export type PagingStep =
  | { readonly kind: 'ask'; readonly page: number; readonly limit: PageLimit; readonly state: PagingState }
  /** All rows have come; `limits` starts with the limit that worked, for the next read to start with. */
  | { readonly kind: 'end'; readonly limits: readonly PageLimit[] }
  | { readonly kind: 'fail'; readonly failure: PagingFailure };

export interface PagingState {
  /** The limit in use and, after it, those to fall back on. */
  readonly limits: readonly PageLimit[];
  readonly maxPages: number;
  /** The page that was asked for. */
  readonly page: number;
  /** What page 0 answered, once it has. */
  readonly zero?: PageAnswer;
  /** Whether page 1 brought nothing that page 0 had not. */
  readonly repeats?: boolean;
  /** Whether page 2 was asked for again with limit 1 (rule 5). */
  readonly doubted?: boolean;
}

/** The limits to try for a wanted one: itself, the smallest default in wide use, none. */
export function limitsFor(wanted: number): readonly PageLimit[] {
  return wanted > 100 ? [wanted, 100, undefined] : [wanted, undefined];
}

/**
 * How many pages a read of this many days may take before it is held to have no end: four a day, though a page of one
 * row would hold a day already, and a thousand for a service that ignores the dates and sends its whole history.
 */
export function maxPagesFor(days: number): number {
  return 1_000 + 4 * days;
}

/** The first step of a read. `limits` must not be empty, and a limit must be at least 2 (rule 5). */
export function startPaging(options: { readonly limits: readonly PageLimit[]; readonly maxPages: number }): PagingStep {
  return ask({ ...options, page: 0 });
}

/** The step after an answer to what was asked last. Pure: the state is only ever replaced. */
export function nextStep(state: PagingState, answer: PageAnswer): PagingStep {
  if (state.page === 0) return ask({ ...state, page: 1, zero: answer });
  if (state.page === 1) return afterPageOne(state, state.zero, answer);
  return state.doubted ? afterDoubt(state, answer) : afterLaterPage(state, answer);
}

function afterPageOne(state: PagingState, zero: PageAnswer | undefined, answer: PageAnswer): PagingStep {
  const rowsCame = hasRows(zero);
  if (answer.kind === 'refused') return rowsCame ? fail('refused') : withNextLimit(state);
  if (answer.kind === 'not-found') return zero?.kind === 'page' ? end(state) : fail('not-found');
  if (!hasRows(answer)) return end(state);
  return ask({ ...state, page: 2, repeats: rowsCame && answer.newCount === 0 });
}

function afterLaterPage(state: PagingState, answer: PageAnswer): PagingStep {
  if (answer.kind === 'refused') return fail('refused');
  if (!hasRows(answer)) return end(state);
  if (answer.newCount === 0) return mayBeCut(state) ? ask({ ...state, doubted: true }) : end(state);
  return state.page + 1 < state.maxPages ? ask({ ...state, page: state.page + 1 }) : fail('without-end');
}

/** Rule 5: only ever a question where all that came is one full page, three times. */
function mayBeCut({ page, limits: [limit], zero, repeats }: PagingState): boolean {
  return page === 2 && repeats === true && limit !== undefined && hasRows(zero) && zero.rowCount >= limit;
}

function afterDoubt(state: PagingState, answer: PageAnswer): PagingStep {
  if (answer.kind === 'refused') return fail('refused');
  const sameRowAlone =
    hasRows(answer) && answer.rowCount === 1 && hasRows(state.zero) && answer.first === state.zero.first;
  return sameRowAlone ? fail('page-ignored') : end(state);
}

function withNextLimit({ limits, maxPages }: PagingState): PagingStep {
  const smaller = limits.slice(1);
  return smaller.length === 0 ? fail('refused') : startPaging({ limits: smaller, maxPages });
}

function ask(state: PagingState): PagingStep {
  return { kind: 'ask', page: state.page, limit: state.doubted ? 1 : state.limits[0], state };
}

function end({ limits }: PagingState): PagingStep {
  return { kind: 'end', limits };
}

function fail(failure: PagingFailure): PagingStep {
  return { kind: 'fail', failure };
}

function hasRows(answer: PageAnswer | undefined): answer is PageAnswer & { readonly kind: 'page' } {
  return answer?.kind === 'page' && answer.rowCount > 0;
}
