/** The answers of the endpoints of docs/interface.md section 4, and of the paths by which tests control the server. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { z } from 'zod';
import { paths } from '../../service/contract.ts';
import type { TestingState } from '../testing-state.ts';
import { dailyQueryOf, pageOf } from './daily-page.ts';
import { addRoutes, authorise, type Endpoint, parametersOf, queryOf, readBody } from './gate.ts';
import { type DeletionTarget, type PipeRefusal, RequestError, storePipes } from './received.ts';

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
