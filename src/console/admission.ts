/**
 * Lets requests in: every route says whom it answers, every request is asked who it is before anything of it is read, and
 * each caller may ask so often. Whatever no route answers is for callers with a role too: a stranger learns nothing.
 */
import type { FastifyRequest } from 'fastify';
import { type Identity, requireRole } from '../app/access/access.ts';
import { after, type Timer } from '../timers/sleep.ts';
import type { ApiServer, ConsoleContext, RouteAccess } from './context.ts';
import { RequestProblem } from './problem.ts';

/** Refused attempts of an address a minute: a guess at a token is one of 2^256. */
const refusalsPerMinute = 30;

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
 * Adds the rule to a server without routes; returns the list that its routes enter as they are added. `ofPlugins`: whom
 * the routes under a path answer that are not ours.
 */
export function admitCallers(
  server: ApiServer,
  context: ConsoleContext,
  ofPlugins: Readonly<Record<string, RouteAccess>>,
): readonly RouteRule[] {
  const rules: RouteRule[] = [];
  const { requestsPerMinute } = context.app.config.http;
  const timeWindow = 60_000;
  const limitRefusals = server.createRateLimit({
    max: refusalsPerMinute,
    timeWindow,
    keyGenerator: ({ socket }: FastifyRequest) => socket.remoteAddress ?? '',
  });
  const limitRequests = server.createRateLimit({
    max: requestsPerMinute,
    timeWindow,
    keyGenerator: ({ identity }: FastifyRequest) => identity?.actor ?? '',
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
  server.addHook('onRequest', async (request) => {
    const { access = 'read' } = request.routeOptions.config;
    if (access === 'anybody') return;
    request.identity = await identityOf(request, context, limitRefusals);
    await requireWithin(limitRequests, request);
    requireRole(request.identity, access);
  });
  limitBodies(server);
  return rules;
}

async function identityOf(request: FastifyRequest, { access }: ConsoleContext, limit: Limit): Promise<Identity> {
  const { headers, method, socket } = request;
  const isChange = method !== 'GET' && method !== 'HEAD';
  try {
    return access.identify({ headers, remoteAddress: socket.remoteAddress, isChange });
  } catch (error) {
    await requireWithin(limit, request);
    throw error;
  }
}

/** Throws RequestProblem 429. */
export async function requireWithin(limit: Limit, request: FastifyRequest): Promise<void> {
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
