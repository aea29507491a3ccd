/** Checks of daily production, as an operator sees them. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';

const day = (index: number): string => new Date(Date.UTC(2024, 0, 1 + index)).toISOString().slice(0, 10);

/** Forty days of two wells, one of them with two odd days. */
const data = givenDaily(
  ['W 1', 'W 2'].flatMap((uwi) =>
    Array.from({ length: 40 }, (_, index) => ({
      uwi,
      date: `${day(index)}T00:00:00Z`,
      oilRate: 100 + (index % 7) / 10,
      gasRate: 9_000 + (index % 5),
      waterRate: uwi === 'W 1' && index > 37 ? -index : 30 + (index % 3) / 10,
      tubingPressure: 300 + (index % 4),
      casingPressure: uwi === 'W 1' && index === 20 ? 0 : 200,
    })),
  ),
);

const exportAll = [
  'export',
  'daily-production',
  '--uwi',
  'W 1',
  '--uwi',
  'W 2',
  '--from',
  '2024-01-01',
  '--to',
  '2024-03-01',
];

test('an export ends with 0 and says nothing of what checks found; list, show, query and alerts have it', async () => {
  await using server = await startTestingServer({ data });
  await using home = await cliHome(server.url);
  const { code, stdout } = await home.here([...exportAll, '--inline', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ counts: { inserted: 80 } });

  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.here([...args, '--json'])).stdout);
  const zero = { check: 'maybe-missing-zero', uwi: 'W 1', findings: 1, firstDay: day(20), lastDay: day(20) };
  const below = { check: 'negative', uwi: 'W 1', findings: 2, firstDay: day(38), lastDay: day(39) };
  expect(await json('checks', 'list')).toEqual([
    { ...below, severity: 'info', worstField: 'water_rate', worstValue: -39 },
    { ...zero, severity: 'info', worstField: 'casing_pressure', worstValue: 0 },
  ]);
  const listed = await home.here(['checks', 'list', '--check', 'negative']);
  expect(listed.stdout).toMatch(/^negative +W 1 +info +2024-02-08 +2024-02-09 +water_rate -39 +2$/m);
  expect(listed.stdout).not.toContain('maybe-missing-zero');
  expect(await json('checks', 'show', '--uwi', 'W 1', '--limit', '1')).toMatchObject([
    { check: 'maybe-missing-zero', day: day(20), field: 'casing_pressure', value: 0, expected: null },
  ]);
  expect((await home.here(['checks', 'list', '--uwi', 'W 2'])).stdout).toBe('No check has a finding.\n');

  const alerts = await home.here(['alerts', 'list']);
  expect(alerts.stdout).toContain('negative');
  expect(await json('query', 'SELECT count(*) AS n FROM check_result')).toEqual([{ n: 3 }]);
});

test('what was exported without checks is checked by checks run, and what they find with others goes', async () => {
  await using server = await startTestingServer({ data });
  await using home = await cliHome(server.url);
  const without = ['--config', await home.write('off.yaml', 'checks: { enabled: false }')];
  expect((await home.here([...exportAll, '--inline', '--quiet', ...without])).code).toBe(0);
  expect((await home.here(['checks', 'list'])).stdout).toBe('No check has a finding.\n');
  expect((await home.here(['checks', 'run', '--uwi', 'W 2'])).stdout).toBe('Checked 40 days of 1 well: 0 findings.\n');
  expect((await home.here(['checks', 'run'])).stdout).toBe('Checked 80 days of 2 wells: 3 findings.\n');

  const warned = [
    '--config',
    await home.write('warn.yaml', 'checks: { off: [maybe-missing-zero], severity: { negative: warning } }'),
  ];
  expect((await home.here(['checks', 'run', ...warned])).stdout).toBe('Checked 80 days of 2 wells: 2 findings.\n');
  expect(JSON.parse((await home.here(['checks', 'list', '--json'])).stdout)).toMatchObject([
    { check: 'negative', severity: 'warning' },
  ]);
  const { code, stderr } = await home.here(['checks', 'run', ...without]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('no check is made')]);
});

test('G11: refuses wells that nobody has exported, and a warehouse of another service', async () => {
  await using server = await startTestingServer({ data });
  await using home = await cliHome(server.url);
  await home.here([...exportAll, '--inline', '--quiet']);
  for (const asked of ['run', 'list', 'show']) {
    const { code, stderr } = await home.here(['checks', asked, '--uwi', 'W 1', '--uwi', 'W 9']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no well "W 9"\nThe nearest names: W 1')]);
  }
  expect((await home.here(['checks', 'run', '--service-url', 'https://other.example'])).code).toBe(2);
  expect((await home.here(['checks', 'list', '--check', 'jumps'])).code).toBe(2);
});
