/** The paths under /testing, with which tests and operators inspect and change the server. */
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { z } from 'zod';
import type { TestingState } from '../testing-state.ts';
import { addRoutes, authorise, readBody } from './gate.ts';
import { RequestError } from './received.ts';

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
