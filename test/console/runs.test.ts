/** Runs over HTTP: list, show, report, cancel, retry and rejects. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { TestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { type ConsoleUnderTest, startConsoleOf, tokensOfRoles } from '../support/console.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

const waitForWork = { timeout: 60_000 };

describe('runs over HTTP', () => {
  let service: TestingServer;
  let home: CliHome;
  let server: ConsoleUnderTest;

  beforeAll(async () => {
    service = await startWithTenDays();
    home = await cliHome(service.url);
    server = await startConsoleOf(home, { works: true, http: { tokens: tokensOfRoles } });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    await service.close();
  });

  const read = async (path: string): Promise<unknown> => (await server.ask(path, { token: 'read' })).json();
  const operate = (path: string) => server.ask(path, { method: 'POST', token: 'operate' });

  async function startRun(...flags: readonly string[]): Promise<string> {
    const { stdout } = await home.here(['export', 'daily-production', '--uwi', UWI, ...flags, '--json']);
    return z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
  }

  const ended = (runId: string) =>
    vi.waitFor(async () => {
      const run = await read(`/api/v1/runs/${runId}`);
      expect(run).toMatchObject({ finishedAt: expect.any(String) });
      return run;
    }, waitForWork);

  test('a run is listed, shown and reported, with who requested it and how old the answer is', async () => {
    const runId = await startRun();
    expect(await ended(runId)).toMatchObject({
      runId,
      state: 'done',
      isUnattended: false,
      hold: null,
      liveFault: null,
    });
    const list = await read('/api/v1/runs');
    expect(list).toMatchObject({ cursor: null, liveFault: null, runs: [{ runId, state: 'done', retriedBy: null }] });
    expect(JSON.stringify(list)).toMatch(/"requestedBy":"[^"]+@/);
    const report = await read(`/api/v1/runs/${runId}/report`);
    expect(report).toMatchObject({ runId, exitCode: 0, balance: { balanced: true }, counts: { inserted: 10 } });
  });

  test('lists go by cursors, and what is wrong in a query is said', async () => {
    const second = await startRun();
    await ended(second);
    const first = z.object({ cursor: z.string(), runs: z.array(z.object({ runId: z.string() })) });
    const page = first.parse(await read('/api/v1/runs?limit=1'));
    expect(page.runs.map(({ runId }) => runId)).toEqual([second]);
    const next = await read(`/api/v1/runs?limit=1&cursor=${page.cursor}`);
    expect(next).toMatchObject({ runs: [{ state: 'done' }] });
    expect(JSON.stringify(next)).not.toContain(second);
    for (const query of ['limit=0', 'limit=1000', 'state=gone', 'nothing=1', 'cursor=nonsense', 'since=yesterday']) {
      const response = await server.ask(`/api/v1/runs?${query}`, { token: 'read' });
      expect([query, response.status]).toEqual([query, 400]);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      expect(await response.json()).toMatchObject({ status: 400, title: 'Bad Request' });
    }
  });

  test('what there is not is 404, and what cannot be done in this state 409, with words', async () => {
    const runId = await startRun();
    await ended(runId);
    for (const path of ['', '/report', '/rejects']) {
      const response = await server.ask(`/api/v1/runs/no-such-run${path}`, { token: 'read' });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'no-such-run', detail: 'there is no run "no-such-run"' });
    }
    expect((await operate('/api/v1/runs/no-such-run/cancel')).status).toBe(404);
    expect((await operate('/api/v1/runs/no-such-run/retry')).status).toBe(404);
    const cancelled = await operate(`/api/v1/runs/${runId}/cancel`);
    expect([cancelled.status, await cancelled.json()]).toMatchObject([409, { code: 'run-ended' }]);
    const retried = await operate(`/api/v1/runs/${runId}/retry`);
    expect([retried.status, await retried.json()]).toMatchObject([409, { code: 'nothing-to-retry' }]);
  });

  test('a run is cancelled and retried, and says by whom', async () => {
    service.state.setOptions({ latencyMs: 60_000 });
    const runId = await startRun('--from', '2024-01-01');
    await vi.waitFor(async () => expect(await read(`/api/v1/runs/${runId}`)).toMatchObject({ state: 'running' }), {
      timeout: 60_000,
    });
    const early = await server.ask(`/api/v1/runs/${runId}/report`, { token: 'read' });
    expect([early.status, await early.json()]).toMatchObject([409, { code: 'run-not-ended' }]);
    expect((await operate(`/api/v1/runs/${runId}/retry`)).status).toBe(409);
    const cancelled = await operate(`/api/v1/runs/${runId}/cancel`);
    expect([cancelled.status, await cancelled.json()]).toMatchObject([202, { outcome: 'requested' }]);
    expect(await ended(runId)).toMatchObject({ state: 'cancelled' });
    service.state.setOptions({ latencyMs: 0 });
    const retried = await operate(`/api/v1/runs/${runId}/retry`);
    expect([retried.status, await retried.json()]).toMatchObject([202, { units: 1 }]);
    expect(await ended(runId)).toMatchObject({ state: 'done', retriedBy: 'operate (token)' });
  });

  test('/metrics counts a run that ended, for the role read', async () => {
    const runId = await startRun();
    await ended(runId);
    const text = await (await server.ask('/metrics', { token: 'read' })).text();
    expect(text).toMatch(/^wellsync_runs_total\{job="export daily-production",state="done"\} [1-9]/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect((await server.ask('/metrics')).status).toBe(401);
  });
});

describe.skipIf(privateRedisLack() !== undefined)('an outage of Redis', () => {
  test('leaves the ledger to be shown, says what is missing, and is over when Redis is back', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    await using service = await startWithTenDays();
    await using home = await cliHome(service.url, { redisUrl: redis.url });
    await using server = await startConsoleOf(home);
    const { stdout } = await home.here(['export', 'daily-production', '--uwi', UWI, '--json']);
    const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(stdout));
    const show = async (): Promise<unknown> => (await server.ask(`/api/v1/runs/${runId}`)).json();
    expect(await show()).toMatchObject({ isUnattended: true, liveFault: null });
    await redis.stop();
    expect(await show()).toMatchObject({
      runId,
      state: 'queued',
      isUnattended: null,
      liveFault: expect.stringContaining('Redis'),
    });
    expect(await (await server.ask('/api/v1/runs')).json()).toMatchObject({
      liveFault: expect.stringContaining('Redis'),
      runs: [{ runId }],
    });
    for (const path of [`/runs/${runId}`, '/runs', '/']) {
      expect(await (await server.ask(path)).text()).toContain('No work starts meanwhile');
    }
    const cancelled = await server.ask(`/api/v1/runs/${runId}/cancel`, { method: 'POST' });
    expect([cancelled.status, await cancelled.json()]).toMatchObject([503, { code: 'redis-unreachable' }]);
    expect(cancelled.headers.get('retry-after')).toBe('5');
    await vi.waitFor(async () => expect((await server.ask('/readyz')).status).toBe(503), waitForWork);
    expect((await server.ask('/healthz')).status).toBe(200);
    await redis.restart();
    await vi.waitFor(async () => expect(await show()).toMatchObject({ liveFault: null }), waitForWork);
    await vi.waitFor(async () => expect((await server.ask('/readyz')).status).toBe(200), waitForWork);
    expect((await server.ask(`/api/v1/runs/${runId}/cancel`, { method: 'POST' })).status).toBe(202);
  });
});
