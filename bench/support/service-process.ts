/** Services that the benchmarks run against, each in a process of its own, told by messages what to serve. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ServiceProcess<Order> extends AsyncDisposable {
  readonly url: string;
  /** Resolves when the service follows the order. */
  tell(order: Order): Promise<void>;
}

/** Starts a program of bench/support that calls {@link serve}. */
export async function startService<Order extends object>(
  name: string,
  args: readonly string[] = [],
): Promise<ServiceProcess<Order>> {
  const file = fileURLToPath(new URL(`./${name}${path.extname(import.meta.url)}`, import.meta.url));
  const child = fork(file, args);
  const [port] = (await once(child, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    async tell(order) {
      child.send(order);
      await once(child, 'message');
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Serves on a free port until the parent process ends or disposes of the service, and follows its orders. */
export function serve(server: Server, follow: (order: never) => void): void {
  process.on('message', (order) => {
    follow(order as never);
    process.send?.('done');
  });
  process.once('disconnect', () => process.exit());
  server.keepAliveTimeout = 120_000;
  server.on('connection', (socket) => socket.setNoDelay(true));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

export function answerJson(response: ServerResponse, body: Buffer | string, headers = {}): void {
  const length = Buffer.byteLength(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...headers });
  response.end(body);
}

/** The segments of a path below /api/production, decoded, and the query. */
export function addressOf({ url = '/' }: IncomingMessage): { segments: readonly string[]; query: URLSearchParams } {
  const { pathname, searchParams } = new URL(url, 'http://service');
  return { segments: pathname.split('/').slice(3).map(decodeURIComponent), query: searchParams };
}
