/** The end of a worker that is told to stop while a part of it hangs. */
import { expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { databaseOfTest } from '../../support/postgres/database.ts';
import { startCuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { startWithTenDays } from '../../support/testing-server-requests.ts';

test('G7: a worker whose PostgreSQL does not answer ends by itself when it is told to stop', async () => {
  await using server = await startWithTenDays();
  const { url } = await databaseOfTest();
  const port = Number(new URL(url).port);
  await using proxy = await startCuttingProxy(port);
  const warehouseUrl = url.replace(`:${port}/`, `:${proxy.port}/`);
  const config = 'worker: { graceMs: 1000 }\n';
  await using home = await cliHome(server.url, { warehouseUrl, config });
  const worker = home.start(['worker']);
  await worker.hears('Working');
  proxy.hang();
  worker.signal('SIGTERM');
  // Without a bound it waits for the database for minutes.
  expect(await worker.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('stopped at once') });
}, 50_000);
