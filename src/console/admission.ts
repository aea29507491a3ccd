/**
 * Lets requests in: every route says whom it answers, every request is asked who it is before anything of it is read, and
 * each caller may ask so often. Whatever no route answers is for callers with a role too: a stranger learns nothing.
 */
import type { FastifyRequest } from 'fastify';
import { type Identity, requireRole, WrongTokenError } from '../app/access/access.ts';
import { after, type Timer } from '../timers/sleep.ts';
import type { ApiServer, ConsoleContext, RouteAccess } from './context.ts';
import { RequestProblem } from './problem.ts';
import type { Socket } from 'node:net';

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

// Bounds the connections that nobody has shown a token on. One that is silent, sits between two requests or sends by drops
// costs a stranger nothing: where an address has too many, the oldest of them end, so that a new one, a probe say, always
// finds room. Whoever is let in keeps its connection as long as its request takes.

/** Of an address: a browser keeps up to six, so that some twenty readers may sit behind one. A trusted proxy may have more. */
const mostIdleOfAddress = 128;

/** Of all addresses. */
const mostIdle = 512;

/** How long more of them may stay: a request that came with its connection is looked at first. */
const trimMs = 250;

/**
 * Connections beside the streams of events: those of requests under way, and what may come between two trims. A last
 * resort, where more is refused, whoever comes.
 */
const otherConnections = 3_000;

/** For a server whose callers are admitted by hooks that were added before. */
export function boundConnections(server: ApiServer, { app, access }: ConsoleContext): void {
  const idle = new IdleSockets();
  const requestsOf = new WeakMap<Socket, number>();
  let trimming: Timer | undefined;
  const trimSoon = (): void => {
    // Bytes that have arrived are read between a timer and an immediate, and whoever sent them is admitted or not.
    trimming ??= after(trimMs, () =>
      setImmediate(() => {
        trimming = undefined;
        for (const socket of idle.tooMany()) socket.destroy();
      }),
    );
  };
  const rest = (socket: Socket): void => {
    if (socket.destroyed) return;
    const { remoteAddress } = socket;
    idle.add(socket, access.isProxy(remoteAddress) ? undefined : networkOf(remoteAddress));
    if (idle.isCrowded(socket)) trimSoon();
  };
  server.server.maxConnections = app.config.http.maxStreams + otherConnections;
  server.server.on('connection', (socket) => {
    rest(socket);
    socket.once('close', () => idle.remove(socket));
  });
  server.addHook('onRequest', async ({ identity, raw: { socket } }, { raw: response }) => {
    if (identity === null) return;
    idle.remove(socket);
    requestsOf.set(socket, (requestsOf.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (requestsOf.get(socket) ?? 1) - 1;
      requestsOf.set(socket, left);
      if (left === 0) rest(socket);
    });
  });
  server.addHook('onClose', async () => trimming?.cancel());
}

/** Whoever has an address of IPv6 has its whole network of 64 bits. */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined || !address.includes(':') || address.includes('.')) return address;
  const [head = [], tail = []] = address
    .replace(/%.*$/, '')
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

/** Sockets without a request that was let in, those of an address by themselves; each list begins with the oldest. */
class IdleSockets {
  readonly #all = new Map<Socket, string | undefined>();
  readonly #ofAddress = new Map<string, Set<Socket>>();

  /** `address`: undefined for one that many clients share. */
  add(socket: Socket, address: string | undefined): void {
    this.#all.set(socket, address);
    if (address === undefined) return;
    const others = this.#ofAddress.get(address);
    if (others === undefined) this.#ofAddress.set(address, new Set([socket]));
    else others.add(socket);
  }

  remove(socket: Socket): void {
    const address = this.#all.get(socket);
    this.#all.delete(socket);
    if (address === undefined) return;
    const others = this.#ofAddress.get(address);
    others?.delete(socket);
    if (others?.size === 0) this.#ofAddress.delete(address);
  }

  /** Whether there are too many of its address, or in all. */
  isCrowded(socket: Socket): boolean {
    const others = this.#ofAddress.get(this.#all.get(socket) ?? '');
    return this.#all.size > mostIdle || (others?.size ?? 0) > mostIdleOfAddress;
  }

  /** Takes out, and returns, the oldest of each address that has too many, then the oldest of all. */
  tooMany(): readonly Socket[] {
    const ofAddresses = [...this.#ofAddress.values()].flatMap((sockets) =>
      [...sockets].slice(0, Math.max(0, sockets.size - mostIdleOfAddress)),
    );
    for (const socket of ofAddresses) this.remove(socket);
    const ofAll = [...this.#all.keys()].slice(0, Math.max(0, this.#all.size - mostIdle));
    for (const socket of ofAll) this.remove(socket);
    return [...ofAddresses, ...ofAll];
  }
}
