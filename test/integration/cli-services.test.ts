/** The commands that look after an installation: worker, testing-server and doctor. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cliHome } from '../support/cli.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

const listeningSchema = z.object({
  url: z.string(),
  port: z.number(),
  wells: z.number(),
  statePath: z.literal('/testing/state'),
});

describe('worker', () => {
  test('says in one line what it works on, logs JSON, and ends with 0 on SIGTERM', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const worker = home.start(['worker', '--queues', 'export']);
    await worker.hears('Working export from redis://');
    worker.signal('SIGTERM');
    const { code, stdout, stderr } = await worker.ended;
    expect(stdout.trim().split('\n')).toHaveLength(1);
    for (const line of stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
    expect(code).toBe(0);
  });

  test('G10: keeps tokens and passwords out of its log, whatever the level', async () => {
    await using server = await startWithTenDays({ requiredToken: 'open-sesame' });
    await using home = await cliHome(server.url);
    const env = { WELLSYNC_SERVICE_TOKEN: 'open-sesame' };
    const worker = home.start(['worker', '--log-level', 'trace'], { env });
    const followed = await home.run(['export', 'daily-production', '--uwi', UWI, '--wait']);
    worker.signal('SIGTERM');
    expect(followed.code).toBe(0);
    expect((await worker.ended).stderr).not.toContain('open-sesame');
  });
});

describe('testing-server', () => {
  test('--json says in one line where it listens, and SIGINT ends it with 0', async () => {
    await using home = await cliHome();
    const flags = ['--port', '0', '--wells', '3', '--from', '2024-01-01', '--to', '2024-02-01', '--page-base', '0'];
    const command = home.start(['testing-server', ...flags, '--option', 'order=descending', '--json']);
    await command.hears('\n');
    const { url, wells } = listeningSchema.parse(JSON.parse(command.said()));
    const state: unknown = await (await fetch(`${url}/testing/state`)).json();
    expect(state).toMatchObject({ counts: { wells: 3 }, options: { pageBase: 0, order: 'descending' } });
    expect(wells).toBe(3);
    command.signal('SIGINT');
    expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
  });

  test('serves a file, asks for the token of its environment, and draws the faults it is told', async () => {
    await using home = await cliHome();
    const row = { uwi: 'A 1', date: '2024-01-01T00:00:00Z', oilRate: 1, gasRate: 0, waterRate: 0 };
    await home.write('daily.ndjson', `${JSON.stringify({ ...row, tubingPressure: 0, casingPressure: 0 })}\n`);
    const flags = ['--daily', 'daily.ndjson', '--port', '0', '--fault', 'unavailable=1', '--json'];
    const command = home.start(['testing-server', ...flags], { env: { WELLSYNC_TESTING_TOKEN: 'let-me-in' } });
    await command.hears('\n');
    const { url } = listeningSchema.parse(JSON.parse(command.said()));
    const headers = { authorization: 'Bearer let-me-in' };
    expect((await fetch(`${url}/api/production/daily/A%201`, { headers })).status).toBe(503);
    expect(await (await fetch(`${url}/testing/state`)).text()).not.toContain('let-me-in');
  });

  test('refuses a port that is taken', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome();
    const { code, stderr } = await home.run(['testing-server', '--port', String(server.port)]);
    expect(stderr).toContain('something listens there already');
    expect(code).toBe(2);
  });
});

describe('doctor', () => {
  const findingsSchema = z.object({
    findings: z.array(
      z.object({ part: z.string(), status: z.string(), message: z.string(), hint: z.string().nullable() }),
    ),
    exitCode: z.number(),
  });

  test('finds every part well, and warns that no worker listens', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.run(['doctor', '--json']);
    const { findings } = findingsSchema.parse(JSON.parse(stdout));
    const statuses = findings.map(({ part, status }) => [part, status]);
    expect(statuses).toEqual([
      ['node', 'ok'],
      ['config file', 'ok'],
      ['environment', 'ok'],
      ['redis', 'ok'],
      ['workers', 'warning'],
      ['warehouse', 'ok'],
      ['service', 'ok'],
      ['access', 'ok'],
      ['disk', 'ok'],
    ]);
    expect(code).toBe(0);
  });

  test('tells every part that failed, with what to do, and ends with 5', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    await home.write('warehouse.duckdb', 'no database '.repeat(1000));
    const env = {
      WELLSYNC_REDIS_URL: 'redis://127.0.0.1:1',
      WELLSYNC_SERVICE_TOKEN_FILE: 'no-such-file',
      WELLSYNC_SERVICE_TOKN: 'never-shown',
    };
    const { code, stdout } = await home.run(['doctor'], { env });
    expect(stdout.match(/^failed +(\S+)/gm)?.map((line) => line.split(/ +/)[1])).toEqual([
      'redis',
      'warehouse',
      'service',
      'access',
    ]);
    expect(stdout).toContain('without effect: WELLSYNC_SERVICE_TOKN');
    expect(stdout).not.toContain('never-shown');
    expect(code).toBe(5);
  });

  test('tells the faults of the configuration', async () => {
    await using home = await cliHome();
    const config = await home.write('broken.yaml', 'colour: blue\n');
    const { code, stdout } = await home.run(['doctor', '--config', config]);
    expect(stdout).toMatch(/^failed +settings +the configuration has a fault/m);
    expect(stdout).toContain('colour');
    expect(code).toBe(5);
  });
});
