/** Server-sent events: what becomes of runs, resumed where a stream was lost, and ended for whoever may no longer read. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { openStream } from '../support/event-stream.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { UWI } from '../support/testing-server-requests.ts';
import { tokensOfRoles } from '../support/console.ts';

const patiently = { timeout: 60_000 };

describe('a stream of events', () => {
  let served: ServedInstallation;
  beforeAll(async () => {
    served = await serveInstallation({ beatMs: 50, http: { maxStreams: 1_000 } });
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
  });

  const stream = (lastId?: string, token = 'read') =>
    openStream(served.server.url, { token, ...(lastId === undefined ? {} : { lastId }) });

  async function startRun(): Promise<string> {
    const json = { export: 'daily-production', uwis: [UWI] };
    const response = await served.server.ask('/api/v1/runs', { token: 'operate', json });
    return z.object({ runId: z.string() }).parse(await response.json()).runId;
  }

  test('begins with the runs under way, tells each change, and beats', async () => {
    using events = stream();
    expect(await events.hears()).toMatchObject({ event: 'runs', data: { runs: [] } });
    expect(events.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    for (const header of ['text/event-stream', 'X-Accel-Buffering: no', 'no-store, no-transform', 'nosniff']) {
      expect(events.text().toLowerCase()).toContain(header.toLowerCase());
    }
    const runId = await startRun();
    expect(await events.hears(runId, '"done"')).toMatchObject({ event: 'run', data: { runId, state: 'done' } });
    await vi.waitFor(() => expect(events.text()).toContain(': beat\n\n'), patiently);
    const ids = events.events().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('goes on where it was lost, and begins again where that is not known', async () => {
    using first = stream();
    const { id: lastId } = await first.hears('"runs"');
    const runId = await startRun();
    await first.hears(runId, '"done"');
    const all = first.events().filter(({ id }) => id !== lastId);
    first.socket.destroy();
    using second = stream(lastId);
    await second.hears(runId, '"done"');
    expect(second.events().slice(0, all.length)).toEqual(all);
    using again = stream(`${lastId}9999`);
    expect(await again.hears()).toMatchObject({ event: 'runs' });
  });

  test('ends within seconds when its token leaves the configuration; another one goes on', async () => {
    using revoked = stream(undefined, 'operate');
    using other = stream(undefined, 'read');
    await Promise.all([revoked.hears('"runs"'), other.hears('"runs"')]);
    served.server.setAccess({ tokens: tokensOfRoles.filter(({ name }) => name !== 'operate') });
    served.server.pass(5_000);
    await revoked.ended;
    expect(revoked.text()).toContain(': no longer let in');
    expect(other.socket.closed).toBe(false);
    expect((await served.server.ask('/api/v1/runs', { token: 'operate' })).status).toBe(401);
    served.server.setAccess({ tokens: tokensOfRoles });
    served.server.pass(5_000);
  });
});

test('the server stops with streams open', async () => {
  await using served = await serveInstallation({ works: false });
  using events = openStream(served.server.url, { token: 'read' });
  await events.hears('"runs"');
  await served.server.stop(60_000);
  await events.ended;
  expect(events.text()).toContain(': the server stops');
});
