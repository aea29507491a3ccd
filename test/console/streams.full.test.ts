/** As many streams as the configuration allows. */
import { expect, test, vi } from 'vitest';
import { hashOfToken } from '../../src/app/access/sessions.ts';
import { tokensOfRoles } from '../support/console.ts';
import { openStream } from '../support/event-stream.ts';
import { serveInstallation } from '../support/served-install.ts';

const patiently = { timeout: 60_000 };

test('a thousand streams stay open, one more is told to wait, and half-closed ones make room', async () => {
  // Each may have 20.
  const tokens = Array.from({ length: 50 }, (_, index) => `reader-${index}`).map((name) => ({
    name,
    role: 'read' as const,
    sha256: hashOfToken(name),
  }));
  const http = { maxStreams: 1_000, tokens: [...tokensOfRoles, ...tokens] };
  await using served = await serveInstallation({ works: false, http });
  const { url } = served.server;
  const streams = Array.from({ length: 1_000 }, (_, index) => openStream(url, { token: `reader-${index % 50}` }));
  await Promise.all(streams.map((stream) => stream.hears('"runs"')));
  using more = openStream(url, { token: 'read' });
  await vi.waitFor(() => expect(more.text()).toMatch(/^HTTP\/1\.1 503 /), patiently);
  expect(more.text()).toMatch(/retry-after: \d+/i);
  // The server answers others meanwhile.
  expect((await served.server.ask('/api/v1/runs', { token: 'read' })).status).toBe(200);
  for (const { socket } of streams.slice(0, 500)) socket.end();
  await Promise.all(streams.slice(0, 500).map(({ ended }) => ended));
  await vi.waitFor(async () => {
    using next = openStream(url, { token: 'read' });
    await next.hears('"runs"');
  }, patiently);
  for (const stream of streams) stream[Symbol.dispose]();
});
