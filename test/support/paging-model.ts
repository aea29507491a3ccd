/** A model of every way in which a service may page. A read must find exactly its rows. */
import fc from 'fast-check';
import type { PagesEnd } from '../../src/core/paging/page-end.ts';
import {
  keysOf,
  type PageAnswer,
  type PageAsk,
  type PageLimit,
  type Paging,
} from '../../src/core/paging/chain-and-passes.ts';
import type { BoundKind } from '../../src/core/paging/service-profile.ts';
import { askedWindow, DAY_MS, isInside, type Window } from '../../src/core/time/window.ts';

export interface PagingModel {
  readonly base: 0 | 1;
  readonly below: 'refused' | 'not-found' | 'empty' | 'first-page';
  readonly pastEnd: 'empty' | 'not-found' | 'last-page';
  readonly defaultLimit: number;
  readonly maxLimit: number;
  readonly overLimit: 'clamp' | 'refuse';
  readonly anyLimit: 'honoured' | 'ignored' | 'refused';
  readonly page: 'honoured' | 'ignored';
  readonly startBound: BoundKind;
  readonly endBound: BoundKind;
  readonly order: 'ascending' | 'descending' | 'shuffled';
  /** Each page begins with the last row of the previous page. */
  readonly overlap: boolean;
  /** A row for each of these days; the day number is its key. */
  readonly days: readonly number[];
}

/** Number of days on which a model may have rows. */
export const modelDays = 100;
export const modelWindow = { fromMs: 0, toMs: modelDays * DAY_MS };

const honouredMostly = <Other extends string>(...others: readonly Other[]) =>
  fc.constantFrom<'honoured' | Other>('honoured', 'honoured', 'honoured', 'honoured', ...others);

const bounds = fc.constantFrom<BoundKind>('inclusive', 'inclusive', 'exclusive', 'ignored');

export const pagingModels: fc.Arbitrary<PagingModel> = fc.record({
  base: fc.constantFrom(0, 1),
  below: fc.constantFrom('refused', 'not-found', 'empty', 'first-page'),
  pastEnd: fc.constantFrom('empty', 'not-found', 'last-page'),
  defaultLimit: fc.integer({ min: 1, max: 20 }),
  maxLimit: fc.integer({ min: 1, max: 30 }),
  overLimit: fc.constantFrom('clamp', 'refuse'),
  anyLimit: honouredMostly('ignored', 'refused'),
  page: honouredMostly('ignored'),
  startBound: bounds,
  endBound: bounds,
  order: fc.constantFrom('ascending', 'descending', 'shuffled'),
  overlap: fc.boolean(),
  days: fc.uniqueArray(fc.integer({ min: 0, max: modelDays - 1 }), { maxLength: 60 }),
});

/** Rows on a page, or undefined if the model refuses the limit. */
export function pageSizeOf(model: PagingModel, limit: PageLimit): number | undefined {
  if (limit !== undefined && model.anyLimit === 'refused') return undefined;
  if (limit === undefined || model.anyLimit === 'ignored') return model.defaultLimit;
  if (limit > model.maxLimit) return model.overLimit === 'clamp' ? model.maxLimit : undefined;
  return limit;
}

/** The answer of the model while it has rows for `days`. */
export function answerOf(model: PagingModel, ask: PageAsk, days: readonly number[] = model.days): PageAnswer {
  const size = pageSizeOf(model, ask.limit);
  if (size === undefined) return { kind: 'refused' };
  const rows = inOrder(model, days).filter((day) => isAsked(model, ask, day));
  const pageCount = Math.max(1, Math.ceil(rows.length / size));
  const index = model.page === 'ignored' ? 0 : ask.page - model.base;
  const page = (at: number): PageAnswer => pageOf(pageAt(model, rows, at, size), windowOf(ask));
  if (index < 0) return belowFirst(model, page);
  if (index < pageCount) return page(index);
  if (model.pastEnd === 'not-found') return { kind: 'not-found' };
  return model.pastEnd === 'empty' ? { kind: 'page', keys: [] } : page(pageCount - 1);
}

function belowFirst({ below }: PagingModel, page: (at: number) => PageAnswer): PageAnswer {
  if (below === 'first-page') return page(0);
  return below === 'empty' ? { kind: 'page', keys: [] } : { kind: below };
}

function pageAt(model: PagingModel, rows: readonly number[], index: number, size: number): readonly number[] {
  const from = model.overlap && index > 0 ? index * size - 1 : index * size;
  return rows.slice(from, (index + 1) * size);
}

/** The page as a reader reports it to the rule. */
function pageOf(days: readonly number[], asked: Window): PageAnswer {
  const around = { fromMs: asked.fromMs - DAY_MS, toMs: asked.toMs + DAY_MS };
  return { kind: 'page', keys: days.map(String), isBeyond: days.some((day) => !isInside(around, day * DAY_MS)) };
}

function windowOf({ window = askedWindow(modelWindow) }: PageAsk): Window {
  return window;
}

function inOrder({ order }: PagingModel, days: readonly number[]): readonly number[] {
  const rank = (day: number): number => {
    if (order === 'shuffled') return (day * 37) % 101;
    return order === 'ascending' ? day : -day;
  };
  return days.toSorted((left, right) => rank(left) - rank(right));
}

function isAsked({ startBound, endBound }: PagingModel, ask: PageAsk, day: number): boolean {
  const { fromMs, toMs } = windowOf(ask);
  return isWithin(startBound, day * DAY_MS - fromMs) && isWithin(endBound, toMs - day * DAY_MS);
}

function isWithin(bound: BoundKind, distanceMs: number): boolean {
  return bound === 'ignored' || distanceMs > 0 || (distanceMs === 0 && bound === 'inclusive');
}

export interface ReadOutcome {
  readonly keys: ReadonlySet<string>;
  readonly end: PagesEnd;
  readonly requests: number;
}

/** Runs a reading rule; `answer` gets the number of each request, from 0. */
export function carryOut(paging: Paging<PagesEnd>, answer: (ask: PageAsk, request: number) => PageAnswer): ReadOutcome {
  const keys = new Set<string>();
  let step = paging.next();
  let requests = 0;
  while (step.done !== true) {
    const reply = answer(step.value, requests);
    requests += 1;
    for (const key of keysOf(reply)) keys.add(String(key));
    step = paging.next(reply);
  }
  return { keys, end: step.value, requests };
}
