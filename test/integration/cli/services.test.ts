/** The commands for the operation of an app: worker and testing-server. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

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

  test('G10: a worker keeps tokens and passwords out of its log at every level', async () => {
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
    expect(stderr).toContain('something uses that port already');
    expect(code).toBe(2);
  });
});
