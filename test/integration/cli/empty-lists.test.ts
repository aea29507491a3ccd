/** Files that hold their header alone: a fault, unless the operator says that they may be empty. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const pushOf = (file: string, ...more: string[]) => ['push', 'network-pipes', file, ...more];

test.each([
  [(file: string) => pushOf(file, '--inline'), 'sourceNetworkId,sourceId', 'has no row behind its header'],
  [(file: string) => pushOf(file, '--dry-run'), 'sourceNetworkId,sourceId', 'has no row behind its header'],
  [(file: string) => ['export', 'daily-production', '--wells', file, '--inline'], 'uwi', 'names no well'],
  [(file: string) => ['export', 'wells', '--wells', file, '--inline'], 'well', 'names no well'],
  [(file: string) => ['cleanup', '--file', file], 'kind,well,equipment,source_id', 'names no target'],
  [(file: string) => ['cleanup', 'wellbores', '--wells', file], 'well', 'names no well'],
])('a header alone ends with 2, and with 0 where --allow-empty is given: %s', async (command, header, words) => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const file = await home.write('list.csv', `${header}\n`);
  const refused = await home.here(command(file));
  expect(refused.stderr).toContain(`${file} ${words}`);
  expect(refused.stderr).toContain('say so with --allow-empty');
  expect(refused.code).toBe(2);
  expect(server.state.requests().total).toBe(0);
  const taken = await home.here([...command(file), '--allow-empty']);
  expect(taken.code, taken.stderr).toBe(0);
});

test('an empty list beside a well that is named leaves that well', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const file = await home.write('wells.csv', 'uwi\n');
  const args = ['export', 'daily-production', '--uwi', UWI, '--wells', file, '--allow-empty', '--dry-run', '--json'];
  expect(JSON.parse((await home.here(args)).stdout)).toMatchObject({ windows: [{ uwi: UWI }] });
});

test('a file to push may be neither a pipe without a writer nor a device', async () => {
  await using home = await cliHome();
  const pipe = path.join(home.folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const file of [pipe, '/dev/zero']) {
    for (const how of ['--dry-run', '--inline']) {
      const { code, stderr } = await home.here(pushOf(file, how));
      expect(stderr).toContain(`${file} is no regular file`);
      expect(code).toBe(2);
    }
  }
});

test('--delimiter says what stands between cells, and a wrong one is recognised', async () => {
  await using home = await cliHome();
  const file = await home.write('pipes.csv', 'sourceNetworkId;sourceId\nN;P1\n');
  const wrong = await home.here(pushOf(file, '--dry-run'));
  expect(wrong.stderr).toContain('Is the delimiter ";"? Then say so: --delimiter ";"');
  const right = await home.here(pushOf(file, '--dry-run', '--json', '--delimiter', ';'));
  expect(JSON.parse(right.stdout)).toMatchObject({ counts: { rows: 1, sendable: 1 } });
  const tabs = await home.write('tabs.csv', 'sourceNetworkId\tsourceId\nN\tP1\n');
  expect((await home.here(pushOf(tabs, '--dry-run', '--delimiter', 'tab'))).code).toBe(0);
  expect((await home.here(pushOf(file, '--dry-run', '--delimiter', ';;'))).stderr).toContain(
    'It must be one character',
  );
});

test('of half a million unknown columns the first ones are named', async () => {
  await using home = await cliHome();
  const file = await home.write('pipes.csv', `sourceNetworkId,sourceId${',x'.repeat(400_000)}\n`);
  const { code, stderr } = await home.here(pushOf(file, '--dry-run'));
  expect(stderr).toContain('and 399,980 more');
  expect(stderr.length).toBeLessThan(2_000);
  expect(code).toBe(2);
});
