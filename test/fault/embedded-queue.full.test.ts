/** As embedded-queue.test.ts: workers, servers, schedules, limits, and a PostgreSQL warehouse without Redis. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome } from '../support/cli.ts';
import {
  all,
  config,
  data,
  field,
  midway,
  quicken,
  reportOf,
  rowsOf,
  stored,
  wells,
} from '../support/embedded-field.ts';
import { databaseOfRole, postgresLack } from '../support/postgres/database.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { stopWithoutFile } from '../support/stopped-process.ts';

describe('a warehouse without Redis', () => {
  test('two crons of the same work do it once', async () => {
    await using scene = await field();
    const { home, exportAll } = scene;
    const results = await Promise.all([1, 2].map(() => home.run([...exportAll, '--skip-if-running'])));
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    expect(await rowsOf(home, 'SELECT count(*) AS runs FROM run')).toEqual([{ runs: 1 }]);
    expect(await stored(home)).toEqual(all);
  });

  test('G7: a command whose worker is killed goes on with its run itself', async () => {
    await using scene = await field();
    const { home, exportAll } = scene;
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const command = home.start(exportAll);
    await command.hears('Another process works the warehouse');
    await midway(scene);
    worker.signal('SIGKILL');
    quicken(scene);
    const { code, stdout, stderr } = await command.ended;
    expect(code, stderr).toBe(0);
    expect(reportOf(stdout).state).toBe('done');
    expect(stderr).toContain('took the warehouse over');
    expect(await stored(home)).toEqual(all);
  });

  test('a run is shown and cancelled by another command while it is worked, and by any after a kill', async () => {
    await using scene = await field({ latencyMs: 300 });
    const { home, exportAll } = scene;
    const first = home.start(exportAll);
    await midway(scene);
    const [run] = await rowsOf(home, 'SELECT run_id AS id FROM run');
    const shown = await home.run(['runs', 'show', String(run?.['id']), '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ state: 'running', isUnattended: false, liveFault: null });
    const cancelled = await home.run(['runs', 'cancel', String(run?.['id'])]);
    expect(cancelled.stdout).toContain('is being cancelled');
    expect((await first.ended).code).toBe(4);

    // Still as slow: it cannot end before it is killed.
    const second = home.start(exportAll);
    await expect
      .poll(async () => (await rowsOf(home, 'SELECT count(*) AS units FROM run_unit'))[0], { timeout: 60_000 })
      .toEqual({ units: 2 * wells });
    second.signal('SIGKILL');
    await second.ended;
    const [last] = await rowsOf(home, 'SELECT run_id AS id FROM run ORDER BY requested_at DESC LIMIT 1');
    const ended = await home.run(['runs', 'cancel', String(last?.['id'])]);
    expect(ended.stdout, ended.stderr).toContain('is cancelled');
    expect(await rowsOf(home, `SELECT state FROM run`)).toEqual([{ state: 'cancelled' }, { state: 'cancelled' }]);
    expect(await rowsOf(home, `SELECT kind FROM queue_state WHERE kind <> 'log'`)).toEqual([]);
  });

  test('G9: a Retry-After outlives the process that met it, and is lifted without one', async () => {
    await using server = await startScriptedServer([{ status: 503, headers: { 'retry-after': '86400' } }]);
    await using home = await cliHome(server.baseUrl, { queue: 'embedded', config });
    const first = home.start(['export', 'daily-production', '--uwi', 'W1']);
    await server.arrived(1);
    const hold = `SELECT kind FROM queue_state WHERE kind = 'hold'`;
    await expect.poll(() => rowsOf(home, hold), { interval: 20 }).toHaveLength(1);
    first.signal('SIGKILL');
    await first.ended;
    const next = await home.run(['probe', '--uwi', 'W1']);
    expect(next.code).toBe(5);
    expect(next.stderr).toContain('the service asked all to wait until');
    expect(server.requests).toHaveLength(1);
    expect((await home.run(['service', 'release'])).stdout).toContain('The hold is lifted');
    await home.run(['probe', '--uwi', 'W1']);
    expect(server.requests.length).toBeGreaterThan(1);
  });

  test('G7: a killed run whose last unit the next command settles is ended by it', async () => {
    await using scene = await field();
    const { home, exportAll } = scene;
    const first = home.start(exportAll);
    await midway(scene);
    first.signal('SIGKILL');
    await first.ended;
    // Its own well is read at once, and a chunk of the other run is under way.
    scene.server.state.setOptions({ latencyMs: 20 });
    const next = await home.run(['export', 'daily-production', '--uwi', data.uwis[0] ?? '', '--json']);
    expect(next.code, next.stderr).toBe(0);
    const left = `SELECT count(*) AS runs FROM run r WHERE state IN ('queued', 'running')
      AND NOT EXISTS (SELECT 1 FROM run_unit u WHERE u.run_id = r.run_id AND u.state = 'open')`;
    expect(await rowsOf(home, left)).toEqual([{ runs: 0 }]);
  });

  test('G7: commands beside a worker that is stopped show what the ledger has, and one takes its run over', async ({
    skip,
  }) => {
    skip(!existsSync('/proc/self/status'), 'this system has no /proc to find all of its processes by');
    await using scene = await field();
    const { home, exportAll } = scene;
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const handed = home.start(exportAll);
    await midway(scene);
    const goOn = await stopWithoutFile(worker.pid, home.warehouseFile);
    const list = await home.run(['runs', 'list', '--json']);
    expect({ code: list.code, runs: JSON.parse(list.stdout) as unknown }).toMatchObject({
      code: 0,
      runs: [{ state: 'running' }],
    });
    quicken(scene);
    // It is not proven to have ended: its beat has to grow old.
    expect((await handed.ended).code, handed.said()).toBe(0);
    expect(handed.said()).toContain('took the warehouse over');
    expect(handed.said()).not.toContain('Redis');
    // Nothing is sent by a process that another one has replaced.
    const sent = scene.server.state.requests().total;
    goOn();
    expect((await worker.ended).code).toBe(5);
    expect(scene.server.state.requests().total).toBe(sent);
    expect(await stored(home)).toEqual(all);
    expect(await rowsOf(home, 'SELECT state FROM run')).toEqual([{ state: 'done' }]);
  });

  test('a server that was stopped, and lost the warehouse meanwhile, works it again once it is free', async ({
    skip,
  }) => {
    skip(!existsSync('/proc/self/status'), 'this system has no /proc to find all of its processes by');
    await using scene = await field();
    const { home, exportAll } = scene;
    const server = home.start(['serve', '--port', '0', '--json']);
    await server.hears('"works":true');
    const handed = home.start(exportAll);
    await midway(scene);
    const goOn = await stopWithoutFile(server.pid, home.warehouseFile);
    quicken(scene);
    expect((await handed.ended).code, handed.said()).toBe(0);
    goOn();
    await server.hears('was taken over');
    await expect
      .poll(() => server.said().split('this server works the queues').length, { timeout: 60_000, interval: 100 })
      .toBe(3);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(server.said()) ?? [];
    const asked = await fetch(`${url}/api/v1/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
      body: JSON.stringify({ export: 'daily-production', uwis: data.uwis, from: '2024-01-01', to: '2024-03-01' }),
    });
    const { runId } = z.object({ runId: z.string() }).parse(await asked.json());
    await server.hears(`"runId":"${runId}","job":"export daily-production","state":"done"`);
    server.signal('SIGTERM');
    expect((await server.ended).code, server.said()).toBe(0);
  });

  test('a worker that was stopped reads what it was told meanwhile, and answers a question that waited for it', async ({
    skip,
  }) => {
    skip(!existsSync('/proc/self/status'), 'this system has no /proc to find all of its processes by');
    await using scene = await field();
    const { home, exportAll } = scene;
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const handed = home.start(exportAll);
    await midway(scene);
    const goOn = await stopWithoutFile(worker.pid, home.warehouseFile);
    const [run] = await rowsOf(home, 'SELECT run_id AS id FROM run');
    const cancelled = await home.run(['runs', 'cancel', String(run?.['id'])]);
    expect(cancelled.stdout, cancelled.stderr).toContain('is being cancelled');
    const probe = home.start(['probe', '--uwi', data.uwis[0] ?? '']);
    await probe.hears('does not answer: waiting for it');
    quicken(scene);
    goOn();
    expect((await probe.ended).code, probe.said()).toBe(0);
    expect((await handed.ended).code, handed.said()).toBe(4);
    expect(await rowsOf(home, 'SELECT state FROM run')).toEqual([{ state: 'cancelled' }]);
  });

  test('G9: what a command asks the service is asked again by the next, where the worker dies meanwhile', async () => {
    let hasDied: (() => void) | undefined;
    await using inner = await startTestingServer({ data });
    await using server = await startScriptedServer(async ({ url }, index) => {
      hasDied?.();
      if (index === 0) return { fault: 'hang' };
      const answer = await fetch(new URL(url, inner.url));
      return { status: answer.status, body: await answer.json() };
    });
    await using home = await cliHome(server.baseUrl, { queue: 'embedded', config });
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const died = new Promise<void>((resolve) => (hasDied = resolve));
    const probe = home.start(['probe', '--uwi', data.uwis[0] ?? '']);
    await died;
    worker.signal('SIGKILL');
    expect((await probe.ended).code, probe.said()).toBe(0);
  });

  test('G9: the limit of concurrent requests holds over a worker and commands that ask the service beside it', async () => {
    let [now, most] = [0, 0];
    await using inner = await startTestingServer({ data });
    await using server = await startScriptedServer(async ({ url }) => {
      most = Math.max(most, (now += 1));
      const answer = await fetch(new URL(url, inner.url));
      await new Promise((resolve) => setTimeout(resolve, 60));
      now -= 1;
      return { status: answer.status, body: await answer.json() };
    });
    await using home = await cliHome(server.baseUrl, { queue: 'embedded', config });
    const list = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const [uwi = ''] = data.uwis;
    const results = await Promise.all([
      home.run(['export', 'daily-production', '--wells', list, '--json']),
      home.run(['probe', '--uwi', uwi]),
      home.run(['doctor', '--uwi', uwi]),
      home.run(['probe', '--uwi', uwi]),
    ]);
    expect(results.map(({ code, stdout, stderr }) => (code === 0 ? code : stdout + stderr))).toEqual([0, 0, 0, 0]);
    expect(most).toBe(2);
    expect(await stored(home)).toEqual(all);
  });

  test('a schedule that a command changes is taken by the worker, which looks at no database meanwhile', async () => {
    await using scene = await field({ latencyMs: 0 });
    const { home } = scene;
    const schedules = (cron: string, revision: number): string =>
      `schedules: { revision: ${revision}, entries: { each: { cron: "${cron}", timeZone: UTC, job: export daily-production, parameters: { wells: ["${data.uwis[0] ?? ''}"] } } } }`;
    const file = await home.write('with.yaml', `${config}${schedules('0 0 1 1 *', 1)}\n`);
    const worker = home.start(['worker', '--config', file]);
    await worker.hears('Working');
    const changed = await home.write('changed.yaml', `${config}${schedules('* * * * *', 2)}\n`);
    const applied = await home.run(['schedules', 'apply', '--config', changed]);
    expect(applied.code, applied.stderr).toBe(0);
    await worker.hears('"msg":"finished"');
    expect(await rowsOf(home, 'SELECT DISTINCT state FROM run')).toEqual([{ state: 'done' }]);
  });

  test('a server works the queue where nobody does, and serves beside a worker', async () => {
    await using scene = await field();
    const { home, exportAll } = scene;
    const alone = home.start(['serve', '--port', '0', '--json']);
    await alone.hears('"works":');
    expect(alone.said()).toContain('"works":true');
    expect(alone.said()).toContain('"queue":"embedded"');
    expect((await home.run(exportAll)).code).toBe(0);
    alone.signal('SIGTERM');
    expect((await alone.ended).code).toBe(0);
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const beside = home.start(['serve', '--port', '0', '--json']);
    await beside.hears('"works":');
    expect(beside.said()).toContain('"works":false');
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(beside.said()) ?? [];
    const requested = async (key: string): Promise<string> => {
      const asked = await fetch(`${url}/api/v1/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ export: 'daily-production', uwis: data.uwis, from: '2024-01-01', to: '2024-03-01' }),
      });
      return z.object({ runId: z.string() }).parse(await asked.json()).runId;
    };
    const ended = (runId: string) => `"runId":"${runId}","job":"export daily-production","state":"done"`;
    // What the server is asked for, the worker does.
    const runId = await requested('once');
    await worker.hears(ended(runId));
    const shown = await (await fetch(`${url}/api/v1/runs/${runId}`)).json();
    expect(shown).toMatchObject({ runId, state: 'done', liveFault: null });
    // Then nobody else works.
    worker.signal('SIGTERM');
    await worker.ended;
    await beside.hears('this server works the queues');
    await beside.hears(ended(await requested('again')));
    beside.signal('SIGTERM');
    expect((await beside.ended).code, beside.said()).toBe(0);
  });

  test('a worker that starts while a command asks the service a question waits for its answer', async () => {
    let answer: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => (answer = resolve));
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await using inner = await startTestingServer({ data });
    let isHeld = false;
    await using server = await startScriptedServer(async ({ url }) => {
      if (isHeld) {
        answer?.();
        await released;
      }
      const reply = await fetch(new URL(url, inner.url));
      return { status: reply.status, body: await reply.json() };
    });
    await using home = await cliHome(server.baseUrl, { queue: 'embedded', config });
    expect((await home.run(['export', 'daily-production', '--uwi', data.uwis[0] ?? ''])).code).toBe(0);
    isHeld = true;
    const probe = home.start(['probe', '--uwi', data.uwis[0] ?? '']);
    await arrived;
    const worker = home.start(['worker']);
    // It says so once it works, and a refusal at once.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    release?.();
    await worker.hears('Working');
    expect((await probe.ended).code, probe.said()).toBe(0);
  });
});

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(
  `a PostgreSQL warehouse without Redis${lack === undefined ? '' : ` (${lack})`}`,
  () => {
    test('G7, G11: a worker that was killed is replaced at once, since the server knows its session', async () => {
      await using scene = await field({ warehouseUrl: (await databaseOfRole()).url });
      const { home, exportAll } = scene;
      const first = home.start(exportAll);
      await midway(scene);
      first.signal('SIGKILL');
      await first.ended;
      quicken(scene);
      const next = await home.run([...exportAll, '--skip-if-running']);
      expect(next.code, next.stderr).toBe(0);
      expect(next.stderr).toContain('took the warehouse over');
      // Its death was proven: nobody waited for its beat to grow old.
      expect(next.stderr).not.toContain('Another process works the warehouse');
      expect(await stored(home)).toEqual(all);
    });

    test('G11: a worker whose session the server has ended is alive, and keeps the warehouse', async () => {
      const { url, run } = await databaseOfRole();
      await using scene = await field({ warehouseUrl: url });
      const { home, exportAll } = scene;
      const worker = home.start(['worker']);
      await worker.hears('Working');
      for (const how of [{}, { env: { TMPDIR: home.folder } }]) {
        await run(
          `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 722580
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        );
        const beside = await home.run(exportAll, how);
        expect(beside.code, beside.stderr).toBe(0);
        expect(beside.stderr).not.toContain('took the warehouse over');
      }
      worker.signal('SIGTERM');
      expect((await worker.ended).code, worker.said()).toBe(0);
      expect(await rowsOf(home, 'SELECT epoch FROM warehouse')).toEqual([{ epoch: 1 }]);
    });

    test('a run of another host is taken by the worker at once, and ended by the word of another host', async () => {
      await using scene = await field({ warehouseUrl: (await databaseOfRole()).url, latencyMs: 800 });
      const { home, exportAll } = scene;
      // Its sockets are in another folder.
      const elsewhere = { env: { WELLSYNC_DATA_DIR: path.join(home.folder, 'elsewhere') } };
      const worker = home.start(['worker']);
      await worker.hears('Working');
      const command = home.start(exportAll, elsewhere);
      await worker.hears('"msg":"planned"');
      await midway(scene);
      const [run] = await rowsOf(home, 'SELECT run_id AS id FROM run');
      const cancelled = await home.run(['runs', 'cancel', String(run?.['id'])], elsewhere);
      expect(cancelled.code, cancelled.stderr).toBe(0);
      expect((await command.ended).code).toBe(4);
      expect(await rowsOf(home, 'SELECT state FROM run')).toEqual([{ state: 'cancelled' }]);
      worker.signal('SIGTERM');
      expect((await worker.ended).code).toBe(0);
    });
  },
);
