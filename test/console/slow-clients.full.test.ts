/** A client that sends its request by drops holds a connection for a while, and nothing else. */
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { serveInstallation } from '../support/served-install.ts';

const host = 'Host: 127.0.0.1\r\n';
const slow = [
  { head: `GET /api/v1/runs HTTP/1.1\r\n${host}`, drop: 'X-Drop: 1\r\n' },
  {
    head: `POST /api/v1/runs HTTP/1.1\r\n${host}Authorization: Bearer operate\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`,
    drop: ' ',
  },
];

test('one that drops its headers or its body is ended, and others are answered meanwhile', async () => {
  await using served = await serveInstallation({ works: false });
  const { hostname, port } = new URL(served.server.url);
  const clients = slow.flatMap((kind) =>
    Array.from({ length: 50 }, () => ({ ...kind, socket: connect(Number(port), hostname) })),
  );
  const ended = clients.map(
    ({ socket, head }) =>
      new Promise<void>((resolve) => {
        socket.on('error', () => undefined).once('close', () => resolve());
        socket.resume().write(head);
      }),
  );
  const dropping = setInterval(() => {
    for (const { socket, drop } of clients) if (socket.writable) socket.write(drop);
  }, 1_000);
  expect((await served.server.ask('/api/v1/runs', { token: 'read' })).status).toBe(200);
  await Promise.all(ended);
  clearInterval(dropping);
  expect((await served.server.ask('/api/v1/runs', { token: 'read' })).status).toBe(200);
  expect((await served.server.app.ledger.runs.list({ limit: 1 })).runs).toEqual([]);
});
