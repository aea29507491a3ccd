/**
 * The health port of a process that works: `/healthz` answers while its event loop turns, `/readyz` while it can work.
 * Each says its status and nothing else; `/metrics` has numbers alone (docs/design.md section 11).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { UsageError } from '../../core/base/errors.ts';

export interface HealthPort extends AsyncDisposable {
  /** Base address without a final slash. */
  readonly url: string;
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

export interface HealthSource {
  isReady(): boolean;
  /** In the text format of Prometheus. */
  metrics(): Promise<{ readonly text: string; readonly contentType: string }>;
}

/** A probe sends no body and reads little: a client that is slower is none. */
const limits = { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 };

/** Probes and scrapers of one worker are few. */
const maxConnections = 64;

/**
 * Resolves when the port answers; `port` 0 takes any free one. Throws UsageError where the address cannot be listened
 * on.
 */
export async function openHealthPort(
  { host, port }: { readonly host: string; readonly port: number },
  source: HealthSource,
): Promise<HealthPort> {
  const server = createServer(limits, (request, response) => {
    void replyTo(request, source).then((reply) => send(request, response, reply));
  });
  boundConnections(server);
  await listen(server, host, port);
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The oldest connection ends for one too many: silent ones keep no probe out. */
function boundConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > maxConnections) oldest?.destroy();
  });
}

const paths = ['/healthz', '/readyz', '/metrics'];

async function replyTo({ method, url = '' }: IncomingMessage, source: HealthSource): Promise<Reply> {
  const [path = ''] = url.split('?', 1);
  if (!paths.includes(path)) return { status: 404, text: 'not found' };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'method not allowed' };
  if (path === '/metrics') return metricsReply(source);
  if (path === '/healthz' || source.isReady()) return { status: 200, text: 'ok' };
  return { status: 503, text: 'not ready' };
}

/** A fault is a bug: it is told to nobody from outside. */
async function metricsReply(source: HealthSource): Promise<Reply> {
  try {
    return { status: 200, ...(await source.metrics()) };
  } catch {
    return { status: 500, text: 'the metrics could not be read' };
  }
}

function send({ method }: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const { status, text, contentType = 'text/plain; charset=utf-8' } = reply;
  const body = text.endsWith('\n') ? text : `${text}\n`;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    connection: 'close',
  });
  response.end(method === 'HEAD' ? undefined : body);
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'something uses that port already' : code;
    throw new UsageError(`the health port cannot listen on port ${port} of ${host}: ${reason}`, {
      hint: 'Give another port or host; port 0 takes any free one.',
      cause: error,
    });
  }
}
