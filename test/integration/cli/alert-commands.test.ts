/** What a person asks and says of alerts by the command line: the life of a quarantined record and of held rows. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import type { AlertDocument } from '../../../src/app/alerts/alerts.ts';
import { type CliHome, cliHome } from '../../support/cli.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';

const night = ['export', 'daily-production', '--uwi', UWI, '--from', '2024-01-01', '--to', '2024-02-01', '--inline'];

async function listed(home: CliHome, ...flags: readonly string[]): Promise<readonly AlertDocument[]> {
  const { code, stdout } = await home.here(['alerts', 'list', '--json', ...flags]);
  expect(code).toBe(0);
  const { alerts, next } = JSON.parse(stdout) as { readonly alerts: readonly AlertDocument[]; readonly next: unknown };
  expect(next).toBeNull();
  return alerts;
}

test('a record in quarantine is told of once, acknowledged, and accepted as it is', async () => {
  const [first, ...rest] = januaryRows(5);
  const records = [{ ...first, oilRate: null }, ...rest].map((record) => ({ ...record, uwi: UWI }));
  await using server = await startTestingServer({ data: givenDaily(records) });
  await using home = await cliHome(server.url);
  expect(await home.here([...night, '--quiet'])).toMatchObject({ code: 3 });
  const [alert] = await listed(home);
  expect(alert).toMatchObject({
    kind: 'record-quarantined',
    state: 'open',
    severity: 'warning',
    job: 'export daily-production',
    target: { kind: 'record' },
    summary: '2024-01-01: oilRate is null, not a number',
    acknowledgedBy: null,
    resolvedBy: null,
  });
  const id = alert?.id ?? '';
  const because = ['--because', 'the meter was replaced'];
  expect(await home.here(['alerts', 'resolve', id, ...because])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`wellsync alerts accept ${id}`),
  });
  expect(await home.here(['alerts', 'ack', id])).toMatchObject({ code: 2 });
  expect(await home.here(['alerts', 'ack', id.slice(0, 6), ...because, '--until', '2999-01-01'])).toMatchObject({
    code: 0,
    stdout: 'Acknowledged 1 alert.\n',
  });
  expect(await home.here([...night, '--quiet'])).toMatchObject({ code: 0, stdout: '' });
  expect((await home.here(['alerts', 'list'])).stdout).toBe('Nothing needs you.\n');
  expect(await listed(home, '--state', 'acknowledged', '--target', UWI)).toMatchObject([{ id, state: 'acknowledged' }]);
  const shown = await home.here(['alerts', 'show', id]);
  expect(shown.stdout).toMatch(/opened .*\n.*acknowledged .*: the meter was replaced/);

  expect(await home.here(['alerts', 'accept', id, ...because])).toMatchObject({ code: 0 });
  expect(await home.here([...night, '--json'])).toMatchObject({ code: 0 });
  expect(await listed(home)).toEqual([]);
  expect(await home.here(['alerts', 'accept', id, ...because])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${id} was resolved by`),
  });
});

test('held rows end with their release alone, and the list says which command that is', async () => {
  const rows = januaryRows(31).map((record) => ({ ...record, uwi: UWI }));
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using home = await cliHome(server.url);
  await home.here(night);
  await using less = await startTestingServer({ data: givenDaily(rows.slice(0, 15)) });
  const moved = ['--service-url', less.url];
  await home.here(['service', 'moved', server.url, less.url, '--yes', ...moved]);
  expect(await home.here([...night, '--quiet', ...moved])).toMatchObject({ code: 3 });
  const [alert] = await listed(home, '--kind', 'rows-held');
  expect(alert).toMatchObject({ target: { kind: 'well', id: UWI }, detail: { rows: 16 } });
  const runId = String(alert?.detail['runId']);
  expect(await home.here(['alerts', 'resolve', alert?.id ?? '', '--because', 'x'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`wellsync runs release ${runId}`),
  });
  expect(await home.here(['runs', 'release', runId, '--yes', '--inline', ...moved])).toMatchObject({ code: 0 });
  expect(await listed(home, '--kind', 'rows-held')).toEqual([]);
  expect(await listed(home, '--kind', 'rows-held', '--state', 'resolved')).toMatchObject([{ id: alert?.id }]);
});

test('many alerts of one cause are one line, which a person says one thing of', async () => {
  const wells = Array.from({ length: 7 }, (_, index) => `WELL ${index}`);
  await using server = await startTestingServer({ data: givenDaily([]), requiredToken: 'right' });
  await using home = await cliHome(server.url, { config: `export: { wells: [${wells.join(', ')}] }\n` });
  const command = ['export', 'daily-production', '--from', '2024-01-01', '--to', '2024-02-01', '--inline', '--json'];
  expect(await home.here(command)).toMatchObject({ code: 1 });
  const { stdout } = await home.here(['alerts', 'list']);
  expect(stdout).toMatch(/^error .* 7 wells failed/m);
  const [, id = ''] = /([\da-f]{8}) --group$/m.exec(stdout) ?? [];
  expect(await home.here(['alerts', 'ack', id, '--group', '--because', 'the token is being renewed'])).toMatchObject({
    code: 0,
    stdout: 'Acknowledged 7 alerts.\n',
  });
  expect((await home.here(['alerts', 'list'])).stdout).toBe('Nothing needs you.\n');
  const acknowledged = await listed(home, '--state', 'acknowledged');
  expect(acknowledged.map(({ target }) => target.id).toSorted()).toEqual(wells);
  const [first] = acknowledged;
  expect(await home.here(['alerts', 'resolve', first?.id ?? '', '--because', 'x'])).toMatchObject({
    stdout: 'Resolved 1 alert.\n',
  });
  // The group of one is what is in its state.
  const [second] = await listed(home, '--state', 'acknowledged');
  expect(await home.here(['alerts', 'resolve', second?.id ?? '', '--group', '--because', 'x'])).toMatchObject({
    stdout: 'Resolved 6 alerts.\n',
  });
});
