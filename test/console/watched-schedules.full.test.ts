/** A server beside PostgreSQL, which works no queue, tells of a schedule that no worker takes. */
import { expect, test, vi } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { createApp } from '../../src/app/app.ts';
import { declaredSchedules } from '../../src/app/schedules/schedule.ts';
import { startReceiver } from '../support/alert-receiver.ts';
import { cliHome } from '../support/cli.ts';
import { createDatabase } from '../support/postgres/database.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { UWI } from '../support/testing-server-requests.ts';

const always = `{ cron: "* * * * *", timeZone: UTC, job: export daily-production, parameters: { wells: ["${UWI}"] } }`;

test('a schedule that no worker takes is told of by the server that lives', async () => {
  const postgres = await startPostgres('newest');
  try {
    await using receiver = await startReceiver();
    const { url } = await createDatabase(postgres.adminUrl);
    const schedules = `schedules: { revision: 1, entries: { nightly: ${always} } }\n`;
    const config = `alerts: { url: '${receiver.url}' }\n${schedules}`;
    await using home = await cliHome('http://127.0.0.1:9', { warehouseUrl: url, config });
    await using app = createApp(loadConfig({ environment: home.env }));
    const declared = declaredSchedules(app.config);
    if (declared === undefined) throw new Error('there are schedules');
    await app.ledger.schedules.apply(declared, Date.now() - 3_600_000);
    const server = home.start(['serve', '--port', '0', '--json']);
    await server.hears('"url"');
    await vi.waitFor(() => expect(receiver.calls.length).toBeGreaterThan(0), { timeout: 90_000 });
    expect(JSON.parse(receiver.calls[0]?.body ?? '')).toMatchObject({
      change: 'opened',
      kind: 'schedule-missed',
      targets: ['nightly'],
    });
    server.signal('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
  } finally {
    await postgres.dispose();
  }
});
