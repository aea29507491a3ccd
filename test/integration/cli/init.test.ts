/** A first configuration, from flags and answers, and what it leads to. */
import { readFile, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';
import { cliHome } from '../../support/cli.ts';

test('wellsync init writes what a doctor finds well and an export works by, and replaces nothing by itself', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(undefined, { queue: 'embedded' });
  const wells = await home.write('wells.csv', `uwi\n"${UWI}"\n`);
  const file = path.join(home.folder, 'made', 'wellsync.yaml');
  const env = { WELLSYNC_DATA_DIR: '' };
  const words = ['init', '--config', file, '--service-url', server.url, '--wells', wells, '--time-zone', 'Europe/Oslo'];
  const made = await home.here([...words, '--data-dir', path.join(home.folder, 'data')], { env });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toMatch(/ok +service +http:\/\/127\.0\.0\.1:\d+ answered for /);
  expect(made.stderr).toContain(`wellsync export daily-production --config ${file}`);
  expect((await stat(file)).mode & 0o077).toBe(0);
  const text = await readFile(file, 'utf8');
  expect(text).toContain(`wellsFile: "${wells}"`);

  const first = await home.here(['export', 'daily-production', '--config', file, '--json'], { env });
  expect(first.code, first.stderr).toBe(0);
  expect(JSON.parse(first.stdout)).toMatchObject({ state: 'done', counts: { inserted: 10 } });

  const again = await home.here(words, { env });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') as string });
  // In the working folder of the tests there is a configuration file, which is not to blame.
  expect(existsSync('config/wellsync.yaml')).toBe(true);
  const wrong = await home.here([...words, '--force', '--time-zone', 'Nowhere'], { env });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('timeZone: must be') as string });
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('wellsync init says what it has to know where nobody can be asked', async () => {
  await using home = await cliHome(undefined, { queue: 'embedded' });
  const { code, stderr } = await home.here(['init', '--config', path.join(home.folder, 'wellsync.yaml')]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the address of the service is not known') as string,
  });
});

test('wellsync init asks again after an answer that cannot be right, and writes nothing where it is left', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(undefined, { queue: 'embedded' });
  const file = path.join(home.folder, 'wellsync.yaml');
  const words = ['init', '--config', file, '--data-dir', path.join(home.folder, 'data')];
  const left = await home.atTerminal(words, `${server.url}\n`);
  expect(left).toMatchObject({ code: 4, stderr: expect.stringContaining('nothing was written') as string });
  expect(existsSync(file)).toBe(false);
  const typed = ['no address', server.url, path.join(home.folder, 'none'), '', '', '', 'Nowhere', 'Europe/Oslo', ''];
  const made = await home.atTerminal(words, typed.join('\n'));
  expect(made.stderr).toContain('There is no file');
  expect(made.stderr).toContain('timeZone');
  expect(made.stderr).toContain('Written to');
  const text = await readFile(file, 'utf8');
  expect(text).toContain(`url: "${server.url}"`);
  expect(text).toContain('timeZone: "Europe/Oslo"');
});
