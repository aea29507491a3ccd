/**
 * The local testing server: the service's seven endpoints (docs/interface.md section 4) over real HTTP, with every
 * reading of what that document leaves open and with faults on request; and paths under /testing, which have no faults,
 * to inspect received data and to change data and options.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PipeRefusal } from './api/bulk-pipes.ts';
import { answerControl } from './api/control.ts';
import { type ApiGate, bugReply, type RequestHook, serveApi } from './api/gate.ts';
import { errorReply, RequestError, sendReply } from './api/request-error.ts';
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
const KEEP_ALIVE_TIMEOUT_MS = 120_000;

/**
 * Resolves when the server listens. Throws ZodError for wrong options, and the socket's error when the port is taken.
 */
export async function startTestingServer(setup: TestingServerSetup = {}): Promise<TestingServer> {
  const { data = generatedDaily(), assets, rejectPipe, onRequest, ...given } = setup;
  const options = testingServerOptionsSchema.parse(given);
  const assetSource = assets === undefined ? generatedAssets(data.uwis) : givenAssets(assets);
  const state = new TestingState(options, data, assetSource, () => performance.now());
  const closing = new AbortController();
  const gate: ApiGate = { state, refusal: rejectPipe ?? (() => false), onRequest, closing: closing.signal };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, noDelay: true }, (request, response) => {
    void serve(gate, request, response);
  });
  await listen(server, options.host, options.port);
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    closing.abort();
    await closeServer(server);
  };
  return { url: `http://${urlHost(options.host)}:${port}`, port, state, close, [Symbol.asyncDispose]: close };
}

async function serve(gate: ApiGate, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (/^\/api(\/|\?|$)/.test(request.url ?? '')) return serveApi(gate, request, response);
  try {
    sendReply(response, await answerControl(request, gate.state));
  } catch (error) {
    sendReply(response, error instanceof RequestError ? errorReply(error) : bugReply(error));
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
