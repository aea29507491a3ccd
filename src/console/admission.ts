/**
 * Lets requests in: every route says whom it answers, every request is asked who it is before anything of it is read, and
 * each caller may ask so often. Whatever no route answers is for callers with a role too: a stranger learns nothing.
 */
import type { FastifyRequest } from 'fastify';
import { type Identity, requireRole, WrongTokenError } from '../app/access/access.ts';
import { after, type Timer } from '../timers/sleep.ts';
import type { ApiServer, ConsoleContext, RouteAccess } from './context.ts';
import { RequestProblem } from './problem.ts';

/** Wrong tokens of an address a minute: a guess is one of 2^256. */
const wrongTokensPerMinute = 30;

/** How long the body of a request may take, uploads aside. */
const bodyMs = 30_000;

/** A route of the server and whom it answers. */
export interface RouteRule {
  readonly method: string;
  readonly url: string;
  readonly access: RouteAccess;
}

type Limit = ReturnType<ApiServer['createRateLimit']>;

/**
 * Adds the rule to a server without routes; returns the list that its routes enter as they are added, and the count of
 * wrong tokens for a route that takes one otherwise. `ofPlugins`: whom the routes under a path answer that are not ours.
 */
export function admitCallers(
  server: ApiServer,
  context: ConsoleContext,
  ofPlugins: Readonly<Record<string, RouteAccess>>,
): { readonly rules: readonly RouteRule[]; readonly whileFewAreWrong: WhileFewAreWrong } {
  const rules: RouteRule[] = [];
  const { requestsPerMinute } = context.app.config.http;
  const timeWindow = 60_000;
  const limitRequests = server.createRateLimit({
    max: requestsPerMinute,
    timeWindow,
    // Readers who share a token each have their own count: their open pages ask every two seconds.
    keyGenerator: ({ identity }: FastifyRequest) => identity?.session ?? identity?.actor ?? '',
  });
  server.addHook('onRoute', (route) => {
    const { method, url } = route;
    const [, ofPlugin] = Object.entries(ofPlugins).find(([path]) => url === path || url.startsWith(`${path}/`)) ?? [];
    if (ofPlugin !== undefined) route.config = { ...route.config, access: ofPlugin };
    const access = route.config?.access;
    if (access === undefined) throw new Error(`the route ${String(method)} ${url} does not say whom it answers`);
    for (const each of [method].flat()) rules.push({ method: each, url, access });
  });
  server.decorateRequest('identity', null);
  const whileFewAreWrong = countWrongTokens(server, context);
  server.addHook('onRequest', async (request) => {
    const { access = 'read' } = request.routeOptions.config;
    if (access === 'anybody') return;
    request.identity = await whileFewAreWrong(request, () => identityOf(request, context));
    await requireWithin(limitRequests, request);
    requireRole(request.identity, access);
  });
  limitBodies(server);
  return { rules, whileFewAreWrong };
}

/** Looks at a token. Throws WrongTokenError for a wrong one, and RequestProblem 429 after too many of an address. */
export type WhileFewAreWrong = (request: FastifyRequest, identify: () => Identity) => Promise<Identity>;

/**
 * Counts wrong tokens alone, by the client's address: whoever has a right one is let in, whatever others try from the
 * same address, and a stranger without any token is answered by its 401.
 */
function countWrongTokens(server: ApiServer, { access }: ConsoleContext): WhileFewAreWrong {
  const limit = server.createRateLimit({
    max: wrongTokensPerMinute,
    timeWindow: 60_000,
    keyGenerator: ({ headers, socket }: FastifyRequest) =>
      access.addressOf({ headers, remoteAddress: socket.remoteAddress }),
  });
  return async (request, identify) => {
    try {
      return identify();
    } catch (error) {
      if (error instanceof WrongTokenError) await requireWithin(limit, request);
      throw error;
    }
  };
}

function identityOf({ headers, method, socket }: FastifyRequest, { access }: ConsoleContext): Identity {
  const isChange = method !== 'GET' && method !== 'HEAD';
  return access.identify({ headers, remoteAddress: socket.remoteAddress, isChange });
}

/** Throws RequestProblem 429. */
async function requireWithin(limit: Limit, request: FastifyRequest): Promise<void> {
  const verdict = await limit(request);
  if (verdict.isAllowed || !verdict.isExceeded) return;
  throw new RequestProblem(429, 'too-many-requests', 'too many requests in a minute', {
    retryAfterSeconds: verdict.ttlInSeconds,
  });
}

/** A client that sends its body by drops holds a connection, and nothing else, for so long. */
function limitBodies(server: ApiServer): void {
  const timers = new WeakMap<FastifyRequest, Timer>();
  server.addHook('onRequest', async (request) => {
    const { isUpload = false } = request.routeOptions.config;
    if (!isUpload)
      timers.set(
        request,
        after(bodyMs, () => request.raw.destroy()),
      );
  });
  const cancel = async (request: FastifyRequest): Promise<void> => timers.get(request)?.cancel();
  server.addHook('preValidation', cancel);
  server.addHook('onResponse', cancel);
  server.addHook('onRequestAbort', cancel);
}

/** The caller of a route that is not for anybody. */
export function callerOf({ identity }: FastifyRequest): Identity {
  if (identity === null) throw new Error('the route answers anybody: it has no caller');
  return identity;
}
