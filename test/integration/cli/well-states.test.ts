/** Wells that the service does not know, and wells that have become silent, for an operator. */
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { deliver } from '../../support/nightly-runs.ts';
import { januaryRows, requestsAt, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

async function exportOf(home: CliHome, uwis: readonly string[], ...args: string[]) {
  const named = uwis.flatMap((uwi) => ['--uwi', uwi]);
  return home.here(['export', 'daily-production', ...named, '--inline', ...args]);
}

function requestsIn(report: string): number {
  const { counts } = JSON.parse(report) as { readonly counts: { readonly requests: number } };
  return counts.requests;
}

async function listed(home: CliHome, view: '--stale' | '--unknown'): Promise<unknown> {
  return JSON.parse((await home.here(['coverage', view, '--json'])).stdout);
}

describe('a well that the service does not know', () => {
  test('gives exit code 3 once, is listed, and is known again by itself when it answers', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const wells = [UWI, 'NEW 1'];
    const first = await exportOf(home, wells);
    expect(first.stdout).toContain('Done, with 1 well newly unknown.');
    expect(first.stdout).toMatch(/^ {2}wells +2 +1 done, 1 unknown$/m);
    expect(first.stdout).toContain('the service does not know NEW 1 (404)');
    expect(first.code).toBe(3);

    const requestsBefore = await requestsAt(server);
    const second = await exportOf(home, wells, '--json');
    expect(requestsIn(second.stdout)).toBe((await requestsAt(server)) - requestsBefore);
    expect(JSON.parse(second.stdout)).toMatchObject({ state: 'done', units: { done: 1, unknown: 1, failed: 0 } });
    expect(second.code).toBe(0);
    expect(await listed(home, '--unknown')).toMatchObject([{ uwi: 'NEW 1', lastDay: null }]);
    expect((await home.here(['coverage', '--unknown'])).stdout).toMatch(/^NEW 1 +\d{4}-\d\d-\d\d .* no row +\d/m);
    expect((await home.here(['coverage', '--uwi', 'NEW 1'])).stdout).toContain(
      'NEW 1: the service does not know it (404), since',
    );

    deliver(server, januaryRows(4, 'NEW 1'));
    expect(JSON.parse((await exportOf(home, wells, '--json')).stdout)).toMatchObject({
      units: { done: 2 },
      counts: { inserted: 4 },
    });
    expect(await listed(home, '--unknown')).toEqual([]);
  });

  test('stays newly unknown in a retry of the run that found it first, until it answers', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const first = await exportOf(home, [UWI, 'NEW 1'], '--json');
    const { runId } = JSON.parse(first.stdout) as { runId: string };
    const retry = async () => home.here(['runs', 'retry', runId, '--inline']);
    const still = await retry();
    expect(still.stdout).toContain('Done, with 1 well newly unknown.');
    expect(still.stdout).toContain('the service does not know NEW 1 (404)');
    expect(still.code).toBe(3);
    expect(await exportOf(home, [UWI, 'NEW 1'])).toMatchObject({ code: 0 });

    deliver(server, januaryRows(4, 'NEW 1'));
    const answered = await retry();
    expect(answered.stdout).toContain('Done: 2 wells.');
    expect(answered.code).toBe(0);
    expect((await retry()).stdout).toContain('has nothing that failed, was cancelled or is unknown: nothing to retry.');
  });

  test('fails the run where all wells are unknown: the address is probably wrong', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(`${server.url}/elsewhere`);
    const { stdout, code } = await exportOf(home, [UWI, 'OTHER']);
    expect(stdout).toContain('Failed: the service does not know any of the 2 wells (404): is its address right?\n');
    expect(code).toBe(1);
  });
});

describe('a silent well', () => {
  const daysAgo = (days: number, uwi: string, fields: object = {}) => {
    const [row = { uwi }] = januaryRows(1, uwi);
    return { ...row, date: new Date(Math.floor(Date.now() / DAY_MS - days) * DAY_MS).toISOString(), ...fields };
  };

  test('is told as stale, with the exit code unchanged, unless it is plugged', async () => {
    const old = ['SILENT', 'PLUGGED', 'BROKEN'].map((uwi) => daysAgo(40, uwi));
    const data = [...old, daysAgo(3, 'FRESH'), daysAgo(2, 'BROKEN', { oilRate: null })];
    await using server = await startTestingServer({ data: givenDaily(data, ['EMPTY']) });
    await using home = await cliHome(server.url, { config: 'wells: { plugged: [PLUGGED] }' });
    const { stdout, code } = await exportOf(home, ['SILENT', 'PLUGGED', 'FRESH', 'EMPTY']);
    expect(stdout).toContain('no new day for 14 days or more: SILENT\n');
    expect(stdout).toContain('no row has come yet: EMPTY\n');
    expect(stdout).toMatch(/^ {2}stale +1 /m);
    expect(stdout).toContain('wellsync coverage --stale');
    expect(code).toBe(0);

    const broken = JSON.parse((await exportOf(home, ['BROKEN'], '--json')).stdout) as { notices: readonly string[] };
    expect(broken.notices).toContain(
      'no new day for 14 days or more, though records come: they are quarantined: BROKEN',
    );
    expect(await listed(home, '--stale')).toMatchObject([
      { uwi: 'BROKEN', silentDays: 39, quarantined: 1, unknownSince: null },
      { uwi: 'SILENT', silentDays: 39, quarantined: 0 },
    ]);
    const table = (await home.here(['coverage', '--stale'])).stdout;
    expect(table).toMatch(/^BROKEN +\d{4}-\d\d-\d\d +39 {2}1 newer record quarantined$/m);
    expect(table).not.toContain('PLUGGED');
  });

  test('that is plugged has no gap after its last day', async () => {
    const data = ['PLUGGED', 'SILENT'].flatMap((uwi) => [daysAgo(43, uwi), daysAgo(40, uwi)]);
    await using server = await startTestingServer({ data: givenDaily(data) });
    await using home = await cliHome(server.url, { config: 'wells: { plugged: [PLUGGED] }' });
    const gaps = ['export', 'daily-production', '--uwi', 'PLUGGED', '--uwi', 'SILENT', '--gaps', '--dry-run', '--json'];
    await exportOf(home, ['PLUGGED', 'SILENT'], '--from', daysAgo(43, '').date.slice(0, 10));
    const { windows } = JSON.parse((await home.here(gaps)).stdout) as {
      readonly windows: readonly { readonly uwi: string; readonly to: string }[];
    };
    expect(windows.map(({ uwi }) => uwi)).toEqual(['PLUGGED', 'SILENT']);
    expect(windows.filter(({ to }) => to > daysAgo(40, '').date)).toMatchObject([{ uwi: 'SILENT' }]);
  });

  test('views of coverage exclude each other', async () => {
    await using home = await cliHome();
    expect(await home.here(['coverage', '--stale', '--unknown'])).toMatchObject({ code: 2 });
    expect(await home.here(['coverage', '--stale', '--from', '2024-01-01'])).toMatchObject({ code: 2 });
  });
});
