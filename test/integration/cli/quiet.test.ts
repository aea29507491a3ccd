/** What a command prints, and so what cron mails: --quiet, and a command without a terminal. */
import { describe, expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const nightly = ['export', 'daily-production', '--uwi', UWI, '--inline'];

/** A service whose third record breaks the contract. */
function startWithBrokenRecord() {
  const rows = januaryRows(5).map((row, index) => (index === 2 ? { ...row, oilRate: 'much' } : row));
  return startTestingServer({ data: givenDaily(rows) });
}

describe('--quiet', () => {
  test('prints nothing of a good night, worked in place or queued', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(nightly);
    expect(await home.here([...nightly, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
    const queued = await home.here(['export', 'daily-production', '--uwi', UWI, '--quiet']);
    expect(queued).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('tells of a new warehouse: the old one may be lost, or its disk not mounted', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout, stderr } = await home.here([...nightly, '--quiet']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toBe(`There is no warehouse yet: a new one is made at duckdb:${home.warehouseFile}.\n`);
  });

  test('prints the report of a night with quarantined records, with the run and what it said on the way', async () => {
    await using server = await startWithBrokenRecord();
    await using home = await cliHome(server.url);
    const { code, stdout, stderr } = await home.here([...nightly, '--quiet']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^Run \S+: export daily-production \(wellsync \S+\)$/m);
    expect(stdout).toMatch(/quarantined +1\b/);
    expect(stderr).toMatch(/^Run \S+: daily production of 1 well$/m);
  });

  test('prints the fault that kept a command from its work', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const { code, stdout, stderr } = await home.here([...nightly, '--quiet']);
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toMatch(/^wellsync: the service at http:\/\/127\.0\.0\.1:1 cannot be reached/);
  });

  test('leaves the data that was asked for: rows, lists and documents', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const document = await home.here([...nightly, '--quiet', '--json']);
    expect(JSON.parse(document.stdout)).toMatchObject({ state: 'done', exitCode: 0 });
    expect((await home.here(['runs', 'list', '--quiet'])).stdout).toContain('export daily-production');
    expect((await home.here(['runs', 'show', '2', '--quiet'])).stdout).toContain('Done: 1 well.');
    expect((await home.here(['query', 'SELECT 42 AS answer', '--csv', '--quiet'])).stdout).toContain('42');
    expect((await home.here(['doctor', '--quiet'])).stdout).toBe('');
  });

  test('of the doctor prints its warnings, with exit code 0, except that no worker is running', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    // Programs of their own: this process would hold the warehouse.
    await home.run(nightly);
    const { code, stdout } = await home.run(['doctor', '--quiet'], { env: { WELLSYNC_XYLOPHONE: 'old' } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^warning +environment +without effect: WELLSYNC_XYLOPHONE$/m);
    expect(stdout).not.toMatch(/^(?:ok|failed)|no worker is running/m);
  });

  test('of the doctor prints what failed alone, without the parts that are well', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const { code, stdout } = await home.run(['doctor', '--quiet']);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^failed +service/m);
    expect(stdout).not.toMatch(/^ok|^warning +workers/m);
  });

  test('of a worker logs what went wrong alone', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(nightly);
    const worker = home.start(['worker', '--quiet']);
    const followed = await home.run(['export', 'daily-production', '--uwi', UWI, '--wait', '--quiet']);
    expect(followed).toEqual({ code: 0, stdout: '', stderr: '' });
    worker.signal('SIGTERM');
    expect(await worker.ended).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

describe('without a terminal', () => {
  test('standard error is silent on a good night: no progress, no opening', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect((await home.here(nightly)).stderr).toBe(
      `There is no warehouse yet: a new one is made at duckdb:${home.warehouseFile}.\n`,
    );
    const { code, stdout, stderr } = await home.here(nightly);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Done: 1 well.');
  });

  test('a terminal shows the run and its progress, but not with --quiet', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect((await home.atTerminal(nightly)).stderr).toMatch(/^Run \S+: daily production of 1 well$/m);
    expect(await home.atTerminal([...nightly, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
