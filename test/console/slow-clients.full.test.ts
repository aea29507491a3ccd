/** A client that sends its request by drops holds a connection for a while, and nothing else. */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
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

test('an upload that comes by drops is told so, and leaves its place and nothing else', async () => {
  await using served = await serveInstallation({ works: false });
  const { hostname, port } = new URL(served.server.url);
  let text = '';
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.on('data', (part: string) => (text += part)).on('error', () => undefined);
  const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  socket.write(
    `POST /api/v1/pushes HTTP/1.1\r\n${host}Authorization: Bearer operate\r\n` +
      'Content-Type: text/csv\r\nContent-Length: 5000000\r\n\r\n',
  );
  const dropping = setInterval(() => {
    if (socket.writable) socket.write('a,b\n');
  }, 1_000);
  await ended;
  clearInterval(dropping);
  expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(text).toContain('the upload sent less than 500 kB within 30 s: nothing was started');
  expect(text).toContain('packed by gzip, in parts');
  expect(readdirSync(path.join(served.home.folder, 'spool'))).toEqual([]);
});
