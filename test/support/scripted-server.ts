/** A real HTTP server on a free port of 127.0.0.1 with scripted answers; it records its requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RecordedRequest {
  readonly method: string;
  /** As received: path and query, still encoded. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent unchanged, any other value as JSON. */
  readonly body?: unknown;
  /**
   * `reset`: the connection is reset instead of an answer. `truncate`: it ends half-way through the body. `hang`: no
   * answer is sent. `stall`: the body stops half-way and the connection stays open. `stall-head` and `reset-head`: the
   * same behind the head, before the first byte of the body.
   */
  readonly fault?: 'reset' | 'truncate' | 'hang' | 'stall' | 'stall-head' | 'reset-head';
}

/** `index` counts requests from 0. */
export type Script = (request: RecordedRequest, index: number) => Reply | Promise<Reply>;

export interface ScriptedServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly RecordedRequest[];
  /** Number of connections opened so far. */
  readonly connectionCount: () => number;
  /** Resolves when that many requests have arrived. */
  arrived(count: number): Promise<void>;
}

/** With `tls` the server speaks https. */
export async function startScriptedServer(
  script: Script | readonly Reply[],
  tls?: ServerOptions,
): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = [];
  const waiting: Array<{ readonly count: number; readonly resolve: () => void }> = [];
  let connections = 0;

  const listener = (request: IncomingMessage, response: ServerResponse): void => void respond(request, response);
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on('connection', () => (connections += 1));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const recorded = { method, url, headers, body: await text(request) };
    const index = requests.push(recorded) - 1;
    for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
    const reply =
      typeof script === 'function' ? await script(recorded, index) : script[Math.min(index, script.length - 1)];
    send(reply ?? {}, response, request.socket);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connectionCount: () => connections,
    arrived: async (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function send(reply: Reply, response: ServerResponse, socket: Socket): void {
  const { status = 200, headers = {}, body = [], fault } = reply;
  if (fault === 'hang') return;
  if (fault === 'reset') {
    socket.resetAndDestroy();
    return;
  }
  const bytes = bytesOf(body);
  const length = { 'content-length': String(bytes.length) };
  response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers });
  if (fault === 'stall-head' || fault === 'reset-head') {
    response.flushHeaders();
    // A tick later, so that the head arrives before the reset.
    if (fault === 'reset-head') setTimeout(() => socket.resetAndDestroy(), 20);
    return;
  }
  if (fault === undefined) response.end(bytes);
  else response.write(bytes.subarray(0, bytes.length / 2), () => (fault === 'truncate' ? socket.destroy() : undefined));
}
