/** Selects the rows of a well for a request for a page, under every reading of docs/interface.md section 4.1. */
import { instantOf, type WellRows } from '../data/rows.ts';
import type { TestingServerOptions } from '../options.ts';
import { shareOf } from '../data/random.ts';
import { RequestError } from './received.ts';

export interface DailyQuery {
  /** -Infinity and Infinity when a bound is absent. */
  readonly startMs: number;
  readonly endMs: number;
  readonly page: number | undefined;
  readonly limit: number | undefined;
}

/** Throws RequestError 400 for a parameter that is not of its documented type. */
export function dailyQueryOf(parameters: URLSearchParams): DailyQuery {
  return {
    startMs: instantParameter(parameters, 'startDate') ?? -Infinity,
    endMs: instantParameter(parameters, 'endDate') ?? Infinity,
    page: int32Parameter(parameters, 'page'),
    limit: int32Parameter(parameters, 'limit'),
  };
}

function instantParameter(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const instantMs = instantOf(text);
  if (Number.isNaN(instantMs)) throw new RequestError(400, `${name} is not a date-time: ${JSON.stringify(text)}`);
  return instantMs;
}

function int32Parameter(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || (value | 0) !== value) {
    throw new RequestError(400, `${name} is not an int32: ${JSON.stringify(text)}`);
  }
  return value;
}

/**
 * Indices of the rows of the requested page, in the order served. Throws RequestError when the options refuse the page.
 */
export function pageOf(rows: WellRows, query: DailyQuery, options: TestingServerOptions): readonly number[] {
  const size = pageSize(query.limit, options);
  const sequence = withRepeats(rows, selection(rows, query, options), size, options);
  const page = pageIndex(query.page, Math.ceil(sequence.length / size), options);
  return page === undefined ? [] : sequence.slice(page * size, (page + 1) * size);
}

/** Rows of a page; Infinity for a single answer with all rows. */
function pageSize(requested: number | undefined, options: TestingServerOptions): number {
  if (requested !== undefined && requested < 1) throw new RequestError(400, `limit is below 1: ${requested}`);
  if (options.limit === 'ignored') return options.paging === 'ignored' ? Infinity : options.defaultLimit;
  if (requested !== undefined && requested > options.maxLimit && options.overLimit === 'bad-request') {
    throw new RequestError(400, `limit is above ${options.maxLimit}: ${requested}`);
  }
  return Math.min(requested ?? options.defaultLimit, options.maxLimit);
}

/**
 * Index of the page, from 0; undefined for an empty page. The first page of an empty range is empty, not past the end.
 */
function pageIndex(requested: number | undefined, pageCount: number, options: TestingServerOptions) {
  const index = (requested ?? options.pageBase) - options.pageBase;
  if (options.paging === 'ignored' || index === 0) return 0;
  if (index < 0) return pageBeyond(options.belowBase, pageCount, options);
  return index < pageCount ? index : pageBeyond(options.pastEnd, pageCount, options);
}

/** The page that is served for one below the first or past the last. */
function pageBeyond(
  answer: TestingServerOptions['belowBase'] | TestingServerOptions['pastEnd'],
  pageCount: number,
  { pageBase }: TestingServerOptions,
): number | undefined {
  switch (answer) {
    case 'bad-request':
      throw new RequestError(400, `pages are numbered from ${pageBase}`);
    case 'not-found':
      throw new RequestError(404, 'there is no such page');
    case 'empty':
      return undefined;
    case 'first-page':
      return 0;
    case 'last-page':
      return Math.max(0, pageCount - 1);
  }
}

function selection(rows: WellRows, query: DailyQuery, options: TestingServerOptions): number[] {
  const ordered = options.order === 'shuffled' ? rows.shuffled(options.seed) : rows.ascending;
  const selected: number[] = [];
  for (const index of ordered) if (isRequested(rows.instantMs(index), query, options)) selected.push(index);
  return options.order === 'descending' ? selected.toReversed() : selected;
}

/**
 * Whether a row is in the requested range. A row without a readable date is in every range: no filter could exclude it.
 */
function isRequested(instantMs: number, { startMs, endMs }: DailyQuery, options: TestingServerOptions): boolean {
  return isWithin(instantMs - startMs, options.startBound) && isWithin(endMs - instantMs, options.endBound);
}

function isWithin(distanceMs: number, bound: TestingServerOptions['startBound']): boolean {
  if (bound === 'ignored' || Number.isNaN(distanceMs)) return true;
  return bound === 'inclusive' ? distanceMs >= 0 : distanceMs > 0;
}

/** Repeats each drawn row one page later; a row of the last page has no later page. */
function withRepeats(rows: WellRows, selected: number[], size: number, options: TestingServerOptions): number[] {
  if (options.duplicateRate === 0) return selected;
  const sequence: number[] = [];
  const repeats: { readonly index: number; readonly at: number }[] = [];
  let nextRepeat = 0;
  for (const index of selected) {
    for (let due = repeats[nextRepeat]; due !== undefined && due.at <= sequence.length; due = repeats[nextRepeat]) {
      sequence.push(due.index);
      nextRepeat += 1;
    }
    if (shareOf(rows.hash(index, options.seed)) < options.duplicateRate)
      repeats.push({ index, at: sequence.length + size });
    sequence.push(index);
  }
  return sequence;
}
