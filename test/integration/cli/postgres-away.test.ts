/** Workers and runs while the PostgreSQL server of their warehouse does not answer. */
import { describe, expect, test } from 'vitest';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { freePort } from '../../../scripts/setup/private-redis.mjs';
import { cliHome } from '../../support/cli.ts';
import { startCuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';

const lack = await postgresLack('newest');

function timesOf(words: RegExp, text: string): number {
  return [...text.matchAll(new RegExp(words, 'g'))].length;
}

describe.skipIf(lack !== undefined)(`a PostgreSQL server that is away${lack === undefined ? '' : ` (${lack})`}`, () => {
  test('G7: a worker that is started before its server waits for it with one line, and works then', async () => {
    const { url } = await databaseOfRole();
    const port = await freePort();
    const warehouseUrl = url.replace(/:\d+\//, `:${port}/`);
    await using home = await cliHome('http://127.0.0.1:9', { warehouseUrl });
    const worker = home.start(['worker']);
    await worker.hears('waiting for it, 1 min 00 s at most');
    expect(worker.said()).toMatch(/the warehouse postgres:\S+ does not answer: nothing listens there/);
    await using server = await startCuttingProxy(Number(new URL(url).port), port);
    await worker.hears('Working ');
    expect(server.port).toBe(port);
    expect(timesOf(/waiting for it/, worker.said())).toBe(1);
    worker.signal('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
  });

  test('a worker whose server stays away ends with 5 and words, and a command at once', async () => {
    const config = 'warehouse: { lockWaitMs: 2500 }\n';
    const warehouseUrl = `postgres://someone@127.0.0.1:${await freePort()}/production`;
    await using home = await cliHome('http://127.0.0.1:9', { warehouseUrl, config });
    const worker = await home.run(['worker']);
    expect([worker.code, timesOf(/waiting for it/, worker.stderr)]).toEqual([5, 1]);
    expect(worker.stderr).toMatch(/wellsync: the warehouse postgres:\S+ does not answer: nothing listens there/);
    const command = await home.run(['runs', 'list']);
    expect([command.code, timesOf(/waiting for it/, command.stderr)]).toEqual([5, 0]);
  });

  test('G7: a run in the process of its command is held as long as is set, ends with 5, and Redis has no part in it', async () => {
    await using server = await startTestingServer({
      latencyMs: 100,
      data: generatedDaily({ seed: 5, wells: 60, fromDay: '2023-01-01', toDay: '2024-01-01' }),
    });
    const { url } = await databaseOfRole();
    const proxy = await startCuttingProxy(Number(new URL(url).port));
    const warehouseUrl = url.replace(/:\d+\//, `:${proxy.port}/`);
    const config = `
service: { concurrency: 2 }
export: { chunkWells: 2 }
queue: { maxHoldMs: 2000 }
warehouse: { lockWaitMs: 2000 }
`;
    await using home = await cliHome(server.url, { warehouseUrl, config });
    const state = await fetch(`${server.url}/testing/state`);
    const { wells } = (await state.json()) as { wells: readonly string[] };
    const list = await home.write('wells.csv', ['uwi', ...wells.map((uwi) => `"${uwi}"`)].join('\n'));
    const run = home.start(['export', 'daily-production', '--wells', list, '--from', '2023-01-01', '--inline']);
    await expect
      .poll(async () => (await home.here(['query', 'SELECT count(*) FROM coverage', '--csv'])).stdout)
      .toMatch(/^count\r?\n[1-9]/);
    await proxy[Symbol.asyncDispose]();
    const { code, stderr } = await run.ended;
    expect(code, stderr).toBe(5);
    expect(stderr).toMatch(/wellsync: the warehouse postgres:\S+ does not answer: nothing listens there: waited for/);
    expect(stderr).not.toMatch(/Redis|could not be handed back/);
  });
});
