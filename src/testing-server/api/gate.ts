/**
 * What every /api request passes: count, delay, fault and token before it is handled, gzip and the breaking faults before its
 * answer is sent.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { sleep } from '../../timers/sleep.ts';
import type { Random } from '../data/rows.ts';
import type { FaultKind, TestingServerOptions } from '../options.ts';
import type { TestingState } from '../testing-state.ts';
import { type Outcome, RequestError } from './received.ts';

export type Endpoint =
  | 'daily-production'
  | 'time-series'
  | 'time-series-record'
  | 'micro-strings'
  | 'wellbores'
  | 'well'
  | 'network-pipes';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of the testing server. */
    readonly endpoint?: Endpoint;
  }
}

/** A request on arrival, as a test sees it. */
export interface ArrivedRequest {
  /** `unknown` for a path or method outside the interface. */
  readonly endpoint: Endpoint | 'unknown';
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** Called and awaited once for every /api request; a returned fault replaces the drawn one. */
export type RequestHook = (request: ArrivedRequest) => FaultKind | undefined | Promise<FaultKind | undefined>;

interface Gate {
  readonly state: TestingState;
  readonly onRequest: RequestHook | undefined;
  readonly closing: AbortSignal;
}

/** Adds the gate to the routes of `server`, whose answers are JSON unless they say otherwise. */
export function addGate(server: FastifyInstance, { state, onRequest, closing }: Gate): void {
  const record = (request: FastifyRequest, outcome: Outcome): void => {
    state.log.record(endpointOf(request), { method: request.method, url: request.url, outcome });
  };
  /** Ends the connection with a TCP reset: the peer sees ECONNRESET. */
  const reset = (request: FastifyRequest, reply: FastifyReply): void => {
    record(request, 'reset');
    reply.hijack();
    request.raw.socket.resetAndDestroy();
  };
  /** Calls `next` for a request that is to be handled: one that a fault answers is not. */
  const pass = async (request: FastifyRequest, reply: FastifyReply, next: () => void): Promise<void> => {
    const drawn = drawFault(state.faultRandom, state.options.faults, request.method);
    if (state.options.latencyMs > 0) await sleep(state.options.latencyMs, { signal: closing });
    const fault = (await onRequest?.(arrivedRequest(request))) ?? drawn;
    request.setDecorator('fault', fault);
    if (fault === 'reset') return reset(request, reply);
    if (fault === 'unavailable') throw new RequestError(503, 'unavailable');
    if (fault === 'tooManyRequests') throw tooManyRequests(state.options);
    if (fault === 'htmlPage') return void reply.header('content-type', 'text/html').send(signInPage);
    authorise(request.raw, state.options.requiredToken);
    void reply.header('content-type', 'application/json');
    next();
  };
  server.decorateRequest('fault', undefined);
  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', state.log.arrive());
    if (state.options.down) reset(request, reply);
    else void pass(request, reply, done).then(undefined, done);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const { compression } = state.options;
    if (compression !== 'none') void reply.header('vary', 'accept-encoding');
    const isPacked = compression === 'accepted' ? acceptsGzip(request.headers) : compression === 'always';
    if (!isPacked) return done();
    void reply.header('content-encoding', 'gzip');
    gzip(payload as Buffer | string, { level: constants.Z_BEST_SPEED }, done);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const fault = request.getDecorator<FaultKind | undefined>('fault');
    if (fault === 'resetAfterStoring') return reset(request, reply);
    record(request, fault === 'truncatedBody' ? 'truncated' : reply.statusCode);
    if (fault === 'truncatedBody') sendTruncated(reply, Buffer.from(payload as Buffer | string));
    else done();
  });
  server.setErrorHandler((error, request, reply) => {
    // The peer or the server itself is gone: an answer would reach nobody.
    if (request.raw.socket.destroyed) reset(request, reply);
    else replyWithError(error, reply);
  });
}

const signInPage = '<!doctype html><title>Sign in</title><p>Please sign in.</p>';

function tooManyRequests({ retryAfterSeconds }: TestingServerOptions): RequestError {
  return new RequestError(429, 'too many requests', { 'retry-after': String(retryAfterSeconds) });
}

/** Takes exactly one number from `random`, so that the sequence of faults depends only on the order of requests. */
function drawFault(random: Random, rates: TestingServerOptions['faults'], method: string): FaultKind | undefined {
  let draw = random();
  for (const [kind, share] of Object.entries(rates) as [FaultKind, number][]) {
    if (draw < share) return kind === 'resetAfterStoring' && method === 'GET' ? undefined : kind;
    draw -= share;
  }
  return undefined;
}

function arrivedRequest(request: FastifyRequest): ArrivedRequest {
  const { method, url, headers } = request;
  const endpoint = endpointOf(request);
  const parameters = endpoint === 'unknown' ? [] : parametersOf(request);
  return { endpoint, parameters, query: queryOf(request), method, url, headers };
}

function endpointOf({ routeOptions }: FastifyRequest): Endpoint | 'unknown' {
  return routeOptions.config.endpoint ?? 'unknown';
}

/** Path parameters in order, decoded once. */
export function parametersOf({ params }: FastifyRequest): readonly string[] {
  return Object.values(params as Readonly<Record<string, string>>);
}

export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(/\?.*/.exec(url)?.[0]);
}

/** Sends half of the body that content-length announces, then closes the connection. */
function sendTruncated(reply: FastifyReply, body: Buffer): void {
  const { raw: response, statusCode } = reply.hijack();
  const headers = reply.header('content-length', Math.max(1, body.length)).getHeaders();
  response.writeHead(statusCode, headers as OutgoingHttpHeaders);
  response.flushHeaders();
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

/** RFC 9110 section 12.5.3, but an absent header accepts none: such a client may not know how to unpack. */
function acceptsGzip({ 'accept-encoding': header = '' }: IncomingHttpHeaders): boolean {
  const weights = new Map(header.split(',').map(weightOf));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Name and weight of one coding, `br;q=0.5` say. */
function weightOf(coding: string): readonly [string, number] {
  const [name = '', weight = 'q=1'] = coding.toLowerCase().split(';');
  return [name.trim(), Number(weight.trim().slice('q='.length))];
}

/** A RequestError as it says, anything else as 500 with its stack: a fault of the server, or of a test's hook. */
export function replyWithError(error: unknown, reply: FastifyReply): void {
  if (error instanceof RequestError) {
    const { status, message, headers } = error;
    void reply.code(status).headers(headers).header('content-type', 'application/json').send({ error: message });
    return;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  void reply.code(500).type('text/plain; charset=utf-8').send(`fault of the testing server\n${stack}`);
}

/**
 * Checks the token. Compares digests, so that the time taken shows neither content nor length of the token. Throws
 * RequestError 401.
 */
export function authorise({ headers }: IncomingMessage, requiredToken: string | null): void {
  if (requiredToken === null) return;
  const sent = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  if (timingSafeEqual(digest(sent), digest(requiredToken))) return;
  throw new RequestError(401, 'a valid bearer token is required', { 'www-authenticate': 'Bearer' });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Parameters as `:name`. */
  readonly url: string;
  readonly handler: RouteHandlerMethod;
  readonly config?: { readonly endpoint: Endpoint };
}

/** Adds the routes under the prefix of `server`; another method of their paths is answered 405, another path 404. */
export function addRoutes(server: FastifyInstance, routes: readonly Route[], hint = ''): void {
  for (const route of routes) server.route(route);
  // Not by setNotFoundHandler, which adds a route for each method that Node knows: half of the time of a start.
  server.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/*',
    handler: ({ url }) => {
      const path = url.replace(/\?.*$/, '');
      const isOf = (route: Route): boolean =>
        new RegExp(`^${server.prefix}${route.url.replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
      const allow = routes.filter(isOf).map(({ method }) => method);
      if (allow.length === 0) throw new RequestError(404, `there is no ${path}${hint}`);
      throw new RequestError(405, `${path} takes ${allow.join(', ')}`, { allow: allow.join(', ') });
    },
  });
}

/**
 * The whole body as text. Throws RequestError 413 above `maxBytes`, after reading the body to its end so that the peer
 * can receive the answer.
 */
export async function readBody({ raw }: FastifyRequest, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of raw as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  if (bytes > maxBytes) throw new RequestError(413, `the body has ${bytes} bytes; at most ${maxBytes} are taken`);
  return Buffer.concat(chunks).toString('utf8');
}
