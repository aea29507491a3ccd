/**
 * The local testing server: the service's endpoints (docs/interface.md section 4) over real HTTP, with every
 * reading of what that document leaves open and with faults on request; and paths under /testing, which have no faults,
 * to inspect received data and to change data and options.
 */
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { addControl, addEndpoints } from './api/api.ts';
import { addGate, replyWithError, type RequestHook } from './api/gate.ts';
import { type PipeRefusal, RequestError } from './api/received.ts';
import { generatedAssets, givenAssets, type GivenAssets } from './data/assets.ts';
import type { DailySource } from './data/daily-source.ts';
import { generatedDaily } from './data/generated-daily.ts';
import { type TestingServerOptionsInput, testingServerOptionsSchema } from './options.ts';
import { TestingState } from './testing-state.ts';

/** Options of testingServerOptionsSchema, and those that only a program can set. */
export interface TestingServerSetup extends TestingServerOptionsInput {
  /** generatedDaily, loadDailyFile or givenDaily; by default a generated field of 20 wells over 3 years. */
  readonly data?: DailySource;
  /** Equipment and wells; by default derived from the uwis of the data. */
  readonly assets?: GivenAssets;
  readonly rejectPipe?: PipeRefusal;
  readonly onRequest?: RequestHook;
}

export interface TestingServer extends AsyncDisposable {
  /** Base address without a final slash. */
  readonly url: string;
  readonly port: number;
  readonly state: TestingState;
  /** Closes all sockets at once, requests in flight included. Safe to call twice. */
  close(): Promise<void>;
}

/** Idle connections stay open longer than any client's own limit, so that only a requested fault resets one. */
const keepAliveTimeout = 120_000;

/** Longer than any identifier that a request line can hold. */
const maxParamLength = 100_000;

/** No route has a schema: the compilers that fastify loads otherwise take longer than the rest of a start. */
const noSchemas = () => () => {
  throw new Error('no route of the testing server has a schema');
};

/**
 * Resolves when the server listens. Throws ZodError for wrong options, and the socket's error when the port is taken.
 */
export async function startTestingServer(setup: TestingServerSetup = {}): Promise<TestingServer> {
  const { data = generatedDaily(), assets, rejectPipe = () => false, onRequest, ...given } = setup;
  const options = testingServerOptionsSchema.parse(given);
  const assetSource = assets === undefined ? generatedAssets(data.uwis) : givenAssets(assets);
  const state = new TestingState(options, data, assetSource, () => performance.now());
  const closing = new AbortController();
  const server = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    keepAliveTimeout,
    routerOptions: { maxParamLength },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  server.setErrorHandler((error, _request, reply) => replyWithError(error, reply));
  server.setNotFoundHandler(({ url }) => {
    throw new RequestError(404, `there is no ${url}: every path begins with /api/ or /testing/`);
  });
  // Handlers read the bodies: how large one may be is an option that changes.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (_request, _payload, done) => done(null));
  await server.register(
    async (api) => {
      addGate(api, { state, onRequest, closing: closing.signal });
      addEndpoints(api, state, rejectPipe);
    },
    { prefix: '/api' },
  );
  await server.register(async (testing) => addControl(testing, state), { prefix: '/testing' });
  await server.listen({ host: options.host, port: options.port });
  const { port } = server.server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    closing.abort();
    server.server.closeAllConnections();
    await server.close();
  };
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, port, state, close, [Symbol.asyncDispose]: close };
}
