/** The answers of the endpoints of docs/interface.md section 4. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { paths } from '../../service/contract.ts';
import type { TestingState } from '../testing-state.ts';
import { dailyQueryOf, pageOf } from './daily-page.ts';
import { addRoutes, type Endpoint, parametersOf, queryOf, readBody } from './gate.ts';
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
