/** The life of an alert, over commands that come and go and a receiver that is away at first. */
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { startReceiver } from '../../support/alert-receiver.ts';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

test('G10: a failed night is told once when the receiver is back, signed, and again when it is over', async () => {
  await using receiver = await startReceiver(503);
  await using server = await startWithTenDays({ requiredToken: 'right' });
  const config = (folder: string): string =>
    `alerts: { url: '${receiver.url}/hook?key=hidden-key', secretFile: ${folder}, heartbeatUrl: '${receiver.url}/beat' }\nexport: { wells: ['${UWI}'] }\n`;
  await using home = await cliHome(server.url, { config: config('alert-secret') });
  const secretFile = await home.write('alert-secret', 'signing secret\n');
  await home.write('wellsync.yaml', config(secretFile));
  const night = async (token: string) => {
    const command = ['export', 'daily-production', '--inline'];
    return home.run(command, { env: { WELLSYNC_SERVICE_TOKEN: token } });
  };
  const away = await night('wrong');
  expect(away).toMatchObject({ code: 1 });
  expect(`${away.stdout}${away.stderr}`).not.toContain('hidden-key');
  expect(receiver.calls.length).toBeGreaterThan(0);
  receiver.calls.length = 0;

  receiver.state.status = 200;
  expect(await night('wrong')).toMatchObject({ code: 1 });
  expect(await night('right')).toMatchObject({ code: 0 });
  const beats = receiver.calls.filter(({ path }) => path === '/beat');
  expect(beats).toHaveLength(1);
  const told = receiver.calls.filter(({ path }) => path !== '/beat');
  const kind = 'well-failed';
  expect(told.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { change: 'opened', kind, alerts: 1, targets: [UWI], message: expect.stringMatching(/^1 well failed .*401/) },
    { change: 'resolved', kind, alerts: 1, targets: [UWI], message: expect.stringMatching(/^Resolved: 1 well failed/) },
  ]);
  for (const { headers, body } of told) {
    const signed = createHmac('sha256', 'signing secret').update(`${String(headers['x-wellsync-timestamp'])}.${body}`);
    expect(headers['x-wellsync-signature']).toBe(`sha256=${signed.digest('hex')}`);
  }
  expect(new Set(told.map(({ headers }) => headers['x-wellsync-id'])).size).toBe(2);
});

test('a receiver that hangs fails no night, and has each message once it answers', async () => {
  await using receiver = await startReceiver();
  await using server = await startWithTenDays({ requiredToken: 'right' });
  const config = `alerts: { url: '${receiver.url}/hook', timeoutMs: 300 }\nexport: { wells: ['${UWI}'] }\n`;
  await using home = await cliHome(server.url, { config });
  const night = async (token: string) =>
    home.here(['export', 'daily-production', '--inline'], { env: { WELLSYNC_SERVICE_TOKEN: token } });
  receiver.state.isHanging = true;
  expect(await night('wrong')).toMatchObject({ code: 1 });
  const ids = () => receiver.calls.map(({ headers }) => headers['x-wellsync-id']);
  expect(new Set(ids()).size).toBe(1);
  const [id] = ids();

  receiver.state.isHanging = false;
  receiver.calls.length = 0;
  expect(await night('right')).toMatchObject({ code: 0 });
  // An answer that comes later than the limit brings the message once more, with its id: at least once, in order.
  const changes = new Map(
    receiver.calls.map(({ headers, body }) => [
      headers['x-wellsync-id'],
      (JSON.parse(body) as { readonly change: unknown }).change,
    ]),
  );
  expect([...changes.values()]).toEqual(['opened', 'resolved']);
  // The receiver can tell that it may have had the first one before.
  expect(ids()[0]).toBe(id);
});

test('the receiver hears of what a person resolves at once', async () => {
  await using receiver = await startReceiver();
  await using server = await startWithTenDays({ requiredToken: 'right' });
  const config = `alerts: { url: '${receiver.url}/hook' }\nexport: { wells: ['${UWI}'] }\n`;
  await using home = await cliHome(server.url, { config });
  const env = { WELLSYNC_SERVICE_TOKEN: 'wrong' };
  expect(await home.here(['export', 'daily-production', '--inline'], { env })).toMatchObject({ code: 1 });
  const { stdout } = await home.here(['alerts', 'list', '--json']);
  const { alerts } = JSON.parse(stdout) as { readonly alerts: ReadonlyArray<{ readonly id: string }> };
  await home.here(['alerts', 'resolve', alerts[0]?.id ?? '', '--because', 'it was sold']);
  const heard = receiver.calls.map(({ body }) => JSON.parse(body) as { readonly change: string });
  expect(heard.map(({ change }) => change)).toEqual(['opened', 'resolved']);
});
