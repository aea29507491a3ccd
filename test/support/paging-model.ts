/** A model of every way in which a service may page: what a read of it must find is simply its rows. */
import fc from 'fast-check';
import type { PageAnswer, PageLimit } from '../../src/core/page-end.ts';

export interface PagingModel {
  readonly base: 0 | 1;
  readonly below: 'refused' | 'not-found' | 'empty' | 'first-page';
  readonly pastEnd: 'empty' | 'not-found' | 'last-page';
  readonly defaultLimit: number;
  readonly maxLimit: number;
  readonly overLimit: 'clamp' | 'refuse';
  readonly anyLimit: 'honoured' | 'ignored' | 'refused';
  readonly page: 'honoured' | 'ignored';
  /** Each page begins with the last row of the page before. */
  readonly overlap: boolean;
  readonly rows: readonly string[];
}

export type ModelReply =
  | { readonly kind: 'page'; readonly rows: readonly string[] }
  | Exclude<PageAnswer, { kind: 'page' }>;

export const pagingModels: fc.Arbitrary<PagingModel> = fc.record({
  base: fc.constantFrom(0, 1),
  below: fc.constantFrom('refused', 'not-found', 'empty', 'first-page'),
  pastEnd: fc.constantFrom('empty', 'not-found', 'last-page'),
  defaultLimit: fc.integer({ min: 1, max: 20 }),
  maxLimit: fc.integer({ min: 1, max: 30 }),
  overLimit: fc.constantFrom('clamp', 'refuse'),
  anyLimit: fc.constantFrom('honoured', 'honoured', 'honoured', 'ignored', 'refused'),
  page: fc.constantFrom('honoured', 'honoured', 'honoured', 'ignored'),
  overlap: fc.boolean(),
  rows: fc.uniqueArray(fc.integer({ min: 0, max: 99 }).map(String), { maxLength: 50 }),
});

/** Rows on a page, or undefined where the model refuses the limit. */
export function pageSizeOf(model: PagingModel, limit: PageLimit): number | undefined {
  if (limit !== undefined && model.anyLimit === 'refused') return undefined;
  if (limit === undefined || model.anyLimit === 'ignored') {
    return model.page === 'ignored' && model.anyLimit === 'ignored' ? Infinity : model.defaultLimit;
  }
  if (limit > model.maxLimit) return model.overLimit === 'clamp' ? model.maxLimit : undefined;
  return limit;
}

export function answerOf(model: PagingModel, page: number, limit: PageLimit): ModelReply {
  const size = pageSizeOf(model, limit);
  if (size === undefined) return { kind: 'refused' };
  const pageCount = Math.max(1, Math.ceil(model.rows.length / size));
  const index = model.page === 'ignored' ? 0 : page - model.base;
  if (index < 0) return belowFirst(model, size);
  if (index < pageCount) return { kind: 'page', rows: pageAt(model, index, size) };
  if (model.pastEnd === 'not-found') return { kind: 'not-found' };
  return { kind: 'page', rows: model.pastEnd === 'empty' ? [] : pageAt(model, pageCount - 1, size) };
}

function belowFirst(model: PagingModel, size: number): ModelReply {
  if (model.below === 'first-page') return { kind: 'page', rows: pageAt(model, 0, size) };
  return model.below === 'empty' ? { kind: 'page', rows: [] } : { kind: model.below };
}

function pageAt(model: PagingModel, index: number, size: number): readonly string[] {
  if (size === Infinity) return model.rows;
  const from = index * size;
  return model.rows.slice(model.overlap && index > 0 ? from - 1 : from, from + size);
}
