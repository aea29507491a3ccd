/** The server of `wellsync serve`: HTTP API, and what is the same for every route. */
import type { AddressInfo } from 'node:net';
import { constants } from 'node:zlib';
import compress, { type FastifyCompressOptions } from '@fastify/compress';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { Search } from '../app/runs/search.ts';
import { LastKnownReader } from '../app/warehouse/last-known.ts';
import { UsageError } from '../core/base/errors.ts';
import { after } from '../timers/sleep.ts';
import { admitCallers, boundConnections, type RouteRule } from './admission.ts';
import { addEventRoute } from './api/events.ts';
import { addHealthRoutes } from './api/health.ts';
import { addHoldingRoutes } from './api/holdings.ts';
import { addPlanRoutes } from './api/plans.ts';
import { addPushRoutes } from './api/pushes.ts';
import { addRunRoutes } from './api/runs.ts';
import { addAlertRoutes } from './api/alerts.ts';
import { addSearchRoute } from './api/search.ts';
import { addScheduleRoutes } from './api/schedules.ts';
import { addServiceRoutes } from './api/service.ts';
import { addStartRoutes } from './api/starts.ts';
import type { ApiServer, ConsoleContext } from './context.ts';
import { addOpenApi, addStaticFiles } from './openapi.ts';
import { replyWithError } from './pages/frame.tsx';
import { addCleanupPages } from './pages/cleanup.tsx';
import { addCoveragePages } from './pages/coverage.tsx';
import { addOverviewPages } from './pages/overview.tsx';
import { addPushPage } from './pages/push.tsx';
import { Pages } from './pages/routes.tsx';
import { addRunPages } from './pages/run.tsx';
import { addRunListPage } from './pages/runs.tsx';
import { addStartPage } from './pages/start.tsx';
import { addSchedulesPage } from './pages/schedules.tsx';
import { addSearchPage } from './pages/search.tsx';
import { addServicePage } from './pages/service.tsx';
import { addWellPages } from './pages/well.tsx';
import { addSignIn } from './pages/sign-in.tsx';
import { replyWithProblem, RequestProblem } from './problem.ts';
import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { rawQueuesOf } from '../app/serving.ts';

const megabyte = 1_000_000;

/** Longest part of a path, such as a uwi of any script, percent-encoded. */
const maxParamLength = 3_000;

/** Shorter than the time after which proxies end a silent connection. */
const streamBeatMs = 15_000;

export interface RunningConsole {
  /** Base address without a final slash. */
  readonly url: string;
  /** Every route, and whom it answers. */
  readonly routes: readonly RouteRule[];
  /** Takes no more requests, gives those under way `graceMs`, then ends them. */
  stop(graceMs: number): Promise<void>;
}

/** Resolves when the server listens. Throws UsageError where the address cannot be listened on. */
export async function startConsole(
  context: Omit<ConsoleContext, 'stopping' | 'beatMs'> & { readonly beatMs?: number },
  listenAt: { readonly host: string; readonly port: number },
): Promise<RunningConsole> {
  const stopping = new AbortController();
  const { server, routes } = await createServer({ beatMs: streamBeatMs, ...context, stopping: stopping.signal });
  try {
    await server.listen(listenAt);
  } catch (error) {
    await server.close();
    throw notListening(error, listenAt);
  }
  const { address, family, port } = server.server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    routes,
    async stop(graceMs) {
      stopping.abort();
      const timer = after(graceMs, () => server.server.closeAllConnections());
      await server.close();
      timer.cancel();
    },
  };
}

async function createServer(
  context: ConsoleContext,
): Promise<{ readonly server: ApiServer; readonly routes: readonly RouteRule[] }> {
  const { app, log } = context;
  const { maxBodyMb } = app.config.http;
  const server: ApiServer = fastify({
    logger: false,
    bodyLimit: maxBodyMb * megabyte,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    routerOptions: { maxParamLength },
    keepAliveTimeout: 20_000,
    http: { maxHeaderSize: 16_384, headersTimeout: 10_000, requestTimeout: 0 },
    frameworkErrors: (error, request, reply) => replyWithProblem(error, request, reply, log),
  }).withTypeProvider<ZodTypeProvider>();
  server.setValidatorCompiler(validatorCompiler);
  // What a route returns is checked against its schema when it is compiled, and by tests.
  server.setSerializerCompiler(() => (document) => JSON.stringify(document));
  server.setErrorHandler((error, request, reply) => replyWithProblem(error, request, reply, log));
  await server.register(helmet, headerPolicy);
  await server.register(rateLimit, { global: false, store: RequestCounts });
  const { rules: routes, whileFewAreWrong } = admitCallers(server, context, { [queueBoardPath]: 'operate' });
  boundConnections(server, context);
  server.setNotFoundHandler((request, reply) => {
    const error = new RequestProblem(404, 'no-such-route', 'there is no such route');
    replyWithError(error, { request, reply, context });
  });
  server.addHook('onSend', async (_request, reply) => {
    if (reply.getHeader('cache-control') === undefined) void reply.header('cache-control', 'no-store');
  });
  logChanges(server, context);
  await addOpenApi(server);
  // Not compressed: it changes its own answers.
  await addQueueBoard(server, context);
  await server.register(compress, compression);
  const lastKnown = new LastKnownReader(context.reader);
  const search = new Search(app, lastKnown);
  addHealthRoutes(server, context);
  addRunRoutes(server, context);
  addStartRoutes(server, context);
  await addPushRoutes(server, context);
  await addPlanRoutes(server, context);
  addHoldingRoutes(server, context);
  addAlertRoutes(server, context);
  addScheduleRoutes(server, context);
  addEventRoute(server, context);
  addServiceRoutes(server, context);
  addSearchRoute(server, search);
  await addStaticFiles(server);
  await addSignIn(server, context, whileFewAreWrong);
  const pages = new Pages(server, context, lastKnown);
  addOverviewPages(pages);
  addRunListPage(pages);
  addStartPage(pages);
  addRunPages(pages);
  addCoveragePages(pages);
  addWellPages(pages);
  addPushPage(pages);
  addCleanupPages(pages);
  addServicePage(pages);
  addSchedulesPage(pages);
  addSearchPage(pages, search);
  return { server, routes };
}

/** Of what a route sends by itself; a stream of events is no such answer. A body that comes compressed is none of ours. */
const compression = {
  encodings: ['br', 'gzip'],
  threshold: 1_024,
  // Nearly as small as the highest, and many times as fast.
  brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } },
  globalDecompression: false,
} satisfies FastifyCompressOptions;

/** No page loads anything from elsewhere, runs inline script, or is shown within another one. */
const headerPolicy = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'"],
      'connect-src': ["'self'"],
      'form-action': ["'self'"],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
    },
  },
  // For browsers that do not know frame-ancestors.
  frameguard: { action: 'deny' as const },
  // The proxy that ends TLS says so: this server speaks HTTP.
  strictTransportSecurity: false,
  // To other hosts none. By `no-referrer` a browser would name no origin of our own forms either.
  referrerPolicy: { policy: 'same-origin' as const },
};

/** Who changed something, or was refused to: one line each. */
function logChanges(server: ApiServer, { log }: ConsoleContext): void {
  server.addHook('onResponse', async (request, reply) => {
    const { method, identity, routeOptions } = request;
    if (method === 'GET') return;
    const { statusCode: status, elapsedTime } = reply;
    const durationMs = Math.round(elapsedTime);
    log.info({ by: identity?.actor ?? 'a stranger', method, route: routeOptions.url, status, durationMs }, 'request');
  });
}

function notListening(error: unknown, { host, port }: { readonly host: string; readonly port: number }): UsageError {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === 'EADDRINUSE' ? 'something uses that port already' : (code ?? message);
  return new UsageError(`wellsync cannot listen on port ${port} of ${host}: ${reason}`, {
    hint: 'Set http.port or http.host to another one; port 0 is any free one.',
    cause: error,
  });
}

// How often each caller asked in its minute. The plugin's own store goes by the clock of the host: one that is set back by a
// day would keep a minute open for that day, and lock its caller out.

/** Of the callers and addresses that are counted; the one that asked longest ago goes. */
const mostKeys = 5_000;

interface Count {
  readonly sinceMs: number;
  readonly current: number;
}

type Answer = Parameters<FastifyRateLimitStore['incr']>[1];

class RequestCounts implements FastifyRateLimitStore {
  readonly #byKey = new Map<string, Count>();

  incr(key: string, answer: Answer, windowMs = 60_000): void {
    const nowMs = performance.now();
    const known = this.#byKey.get(key);
    const isOver = known === undefined || nowMs - known.sinceMs >= windowMs;
    const count = isOver ? { sinceMs: nowMs, current: 1 } : { ...known, current: known.current + 1 };
    this.#byKey.delete(key);
    this.#byKey.set(key, count);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > mostKeys && oldest !== undefined) this.#byKey.delete(oldest);
    answer(null, { current: count.current, ttl: windowMs - (nowMs - count.sinceMs) });
  }

  child(): RequestCounts {
    return new RequestCounts();
  }
}

// Bull Board under /queues: the raw queues, to look at. It changes nothing, for anybody: an item that is removed or tried
// again behind the ledger's back would not be accounted for (G2). Runs are cancelled and retried on their own pages.

const queueBoardPath = '/queues';

/** Its styles are written into its elements. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join(';');

/** Fonts from elsewhere: the browser has its own. */
const foreignLinks = /<link[^>]+href="https?:[^>]*>/g;

/** Throws UnreachableError('redis'). */
async function addQueueBoard(server: ApiServer, context: ConsoleContext): Promise<void> {
  // The items of an embedded queue are those of a process: the runs are all that there is to look at.
  if (context.app.queueWay.kind === 'embedded') return;
  const raw = await rawQueuesOf(context.app.config);
  server.addHook('onClose', async () => raw.close());
  const board = new FastifyAdapter();
  board.setBasePath(queueBoardPath);
  createBullBoard({
    queues: raw.queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false })),
    serverAdapter: board,
    options: {
      uiBasePath: path.dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json')),
      uiConfig: { boardTitle: 'wellsync queues', boardLogo: { path: '/static/icon.svg' } },
    },
  });
  await server.register(
    async (scope) => {
      scope.addHook('preHandler', async ({ method }) => {
        if (method === 'GET') return;
        throw new RequestProblem(405, 'read-only', 'the queues are shown, and not changed here', {
          hint: 'Cancel or retry the run on its own page.',
        });
      });
      scope.addHook('onSend', async (_request, reply, payload) => {
        void reply.header('content-security-policy', contentSecurityPolicy);
        return typeof payload === 'string' ? payload.replaceAll(foreignLinks, '') : payload;
      });
      scope.addHook('onRoute', (route) => {
        // The board's own would answer 500 to a stranger.
        route.errorHandler = (error, request, reply) => replyWithError(error, { request, reply, context });
      });
      await scope.register(board.registerPlugin());
    },
    { prefix: queueBoardPath },
  );
}
