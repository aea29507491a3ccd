/** The answers of the endpoints of docs/interface.md section 4, and of the paths by which tests control the server. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { z } from 'zod';
import { paths } from '../../service/contract.ts';
import type { TestingState } from '../testing-state.ts';
import { addRoutes, authorise, type Endpoint, parametersOf, queryOf, readBody } from './gate.ts';
import { type DeletionTarget, type PipeRefusal, RequestError, storePipes } from './received.ts';
import { instantOf, shareOf, type WellRows } from '../data/rows.ts';
import type { TestingServerOptions } from '../options.ts';

/** Stands for a parameter in a path of the contract: no encoding changes it, and no path contains it. */
const slot = '~';

/** The path of daily production, for examples of requests. */
export const dailyProductionPath = paths.dailyProduction;

/**
 * Adds the endpoints, under the paths of the contract. `refusal` tells whether the service refuses a pipe. A handler throws
 * RequestError for every answer other than 200.
 */
export function addEndpoints(server: FastifyInstance, state: TestingState, refusal: PipeRefusal): void {
  const { assets, received } = state;
  const route = (
    endpoint: Endpoint,
    method: 'GET' | 'DELETE' | 'POST',
    path: string,
    answer: (parameters: readonly string[], request: FastifyRequest, reply: FastifyReply) => unknown,
  ) => {
    let ordinal = 0;
    return {
      method,
      url: path.replaceAll(slot, () => `:${(ordinal += 1)}`).slice(server.prefix.length),
      config: { endpoint },
      handler: (request: FastifyRequest, reply: FastifyReply) => {
        const parameters = parametersOf(request);
        if (parameters.includes('')) throw new RequestError(404, 'an identifier in the path is empty');
        return answer(parameters, request, reply);
      },
    };
  };
  const remove = (target: DeletionTarget, removal: () => number): number => removed(target, removal, state);
  addRoutes(server, [
    route('daily-production', 'GET', paths.dailyProduction(slot), ([uwi = ''], request) => {
      const query = dailyQueryOf(queryOf(request));
      const rows = state.daily.rows(uwi);
      if (rows === undefined && state.options.unknownWell === 'empty') return '[]';
      const knownRows = known(rows, `well ${uwi}`);
      return knownRows.page(pageOf(knownRows, query, state.options), state.options.dateOffset);
    }),
    route('time-series', 'GET', paths.timeSeries(slot), ([id = '']) => known(assets.timeSeries(id), `equipment ${id}`)),
    route('time-series-record', 'DELETE', paths.timeSeriesRecord(slot, slot), ([ownerId = '', sourceId = '']) =>
      remove({ kind: 'time-series', ownerId, sourceId }, () => assets.deleteTimeSeries(ownerId, sourceId)),
    ),
    route('micro-strings', 'DELETE', paths.microStrings(slot), ([ownerId = '']) =>
      remove({ kind: 'micro-string', ownerId }, () => assets.deleteOfWell(ownerId, 'microStrings')),
    ),
    route('wellbores', 'DELETE', paths.wellbores(slot), ([ownerId = '']) =>
      remove({ kind: 'wellbore', ownerId }, () => assets.deleteOfWell(ownerId, 'wellbores')),
    ),
    route('well', 'GET', paths.well(slot), ([id = ''], _request, reply) => {
      const body = known(assets.wellBody(id), `well ${id}`);
      if (state.options.wellAnswers === 'json') return JSON.stringify(body);
      void reply.type('text/plain; charset=utf-8');
      return Object.entries(body as object)
        .map(([name, value]) => `${name}: ${String(value)}`)
        .join('\n');
    }),
    route('network-pipes', 'POST', paths.networkPipes(), async (_parameters, request, reply) => {
      const { 'content-type': contentType = '' } = request.headers;
      if (!/^application\/json\s*(;|$)/i.test(contentType))
        throw new RequestError(415, 'the body must be application/json');
      storePipes(await readBody(request, state.options.maxBodyBytes), received, refusal, state.options);
      void reply.header('content-type', 'text/plain');
      return '';
    }),
  ]);
}

/** The number of records removed by `removal`, which is noted. */
function removed(target: DeletionTarget, removal: () => number, { options, received }: TestingState): number {
  if (options.forbiddenDeletions.includes(target.ownerId)) throw new RequestError(403, 'this may not be deleted');
  if (options.idleDeletions.includes(target.ownerId)) return 1;
  const count = removal();
  received.recordDeletion(target, count);
  if (count === 0 && options.unknownDelete === 'not-found') throw new RequestError(404, 'there is nothing to delete');
  return count;
}

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new RequestError(404, `there is no ${name}`);
  return found;
}

// The paths under /testing, with which tests and operators inspect and change the server.

/** Rows of daily production in one change; a larger change is sent in parts. */
const maxBodyBytes = 16 * 1024 * 1024;

/**
 * Adds the paths. They throw RequestError: 403 for a request from elsewhere, 404 for an unknown path, 405 for a wrong method,
 * 401 without the token for a change, 400 or 413 for a body.
 */
export function addControl(server: FastifyInstance, state: TestingState): void {
  server.addHook('onRequest', async (request) => {
    refuseForeign(request);
    if (request.method !== 'GET') authorise(request.raw, state.options.requiredToken);
  });
  const answering =
    (answer: (body: string) => unknown): RouteHandlerMethod =>
    async (request) =>
      answer(await readBody(request, maxBodyBytes));
  const changeOptions = answering((body) => changedBy(state, body));
  const routes = [
    { method: 'GET', url: '/state', handler: () => state.describe() },
    { method: 'GET', url: '/pipes', handler: () => state.pipes() },
    { method: 'GET', url: '/deletions', handler: () => state.deletions() },
    { method: 'GET', url: '/requests', handler: () => state.requests() },
    { method: 'POST', url: '/daily', handler: answering((body) => state.changeDaily(body)) },
    { method: 'PATCH', url: '/options', handler: changeOptions },
    { method: 'POST', url: '/options', handler: changeOptions },
    { method: 'POST', url: '/reset', handler: () => state.reset() },
  ] as const;
  const others = new Set(routes.map(({ url }) => `${server.prefix}${url}`));
  addRoutes(server, routes, `; besides /api there are ${[...others].join(', ')}`);
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * A page of another site can have a browser send requests here: with the site's name as Host (DNS rebinding), or with its
 * Origin.
 */
function refuseForeign({ headers: { host = '', origin } }: FastifyRequest): void {
  const isOwn = loopback.test(host) && (origin === undefined || origin === `http://${host}`);
  if (!isOwn) throw new RequestError(403, 'the paths under /testing are for this machine alone: ask at 127.0.0.1');
}

function changedBy(state: TestingState, body: string): unknown {
  try {
    return state.setOptions(JSON.parse(body));
  } catch (error) {
    if (error instanceof z.ZodError) throw new RequestError(400, z.prettifyError(error));
    if (error instanceof SyntaxError) throw new RequestError(400, `the body is not JSON: ${error.message}`);
    throw error;
  }
}

// Selects the rows of a well for a request for a page, under every reading of docs/interface.md section 4.1.

export interface DailyQuery {
  /** -Infinity and Infinity when a bound is absent. */
  readonly startMs: number;
  readonly endMs: number;
  readonly page: number | undefined;
  readonly limit: number | undefined;
}

/** Throws RequestError 400 for a parameter that is not of its documented type. */
function dailyQueryOf(parameters: URLSearchParams): DailyQuery {
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
function pageOf(rows: WellRows, query: DailyQuery, options: TestingServerOptions): readonly number[] {
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
