/** A receiver of alerts, which refuses them while `state.status` is no success, and answers nothing while it hangs. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** That it was answered with. */
  readonly status: number;
}

export async function startReceiver(status = 200) {
  const calls: Call[] = [];
  const state = { status, isHanging: false };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { url: path = '', headers } = request;
      const answered = path === '/beat' ? 200 : state.status;
      calls.push({ path, headers, body, atMs: Date.now(), status: answered });
      if (state.isHanging) return;
      response.writeHead(answered).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    state,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
