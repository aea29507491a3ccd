/** --skip-if-running: two crons that overlap, and a run that its process left behind. */
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { tenColumns } from '../../support/pipes.ts';
import { januaryRows, requestsAt, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const nightly = ['export', 'daily-production', '--uwi', UWI, '--skip-if-running'];
const dayMs = 86_400_000;
const waitForWork = { timeout: 60_000 };

/** A row for each of the ten days before this one. */
function rowsUpTo(nowMs: number) {
  return januaryRows(10).map((row, index) => ({ ...row, date: new Date(nowMs - (10 - index) * dayMs).toISOString() }));
}

async function runsOf(home: CliHome): Promise<readonly { runId: string; state: string }[]> {
  const { stdout } = await home.here(['runs', 'list', '--json']);
  return z.array(z.object({ runId: z.string(), state: z.string() })).parse(JSON.parse(stdout));
}

test('of two crons that overlap the second ends with 0 and starts nothing; other work is not kept back', async () => {
  await using server = await startWithTenDays({ latencyMs: 20_000 });
  await using home = await cliHome(server.url);
  const first = home.start([...nightly, '--inline']);
  await vi.waitFor(async () => expect(await requestsAt(server)).toBeGreaterThan(0), waitForWork);

  const second = await home.here([...nightly, '--inline']);
  expect(second).toMatchObject({ code: 0, stderr: '' });
  expect(second.stdout).toMatch(/^Run \S+ for the same work is under way: nothing was started\.$/m);
  expect(await home.here([...nightly, '--inline', '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
  const document = await home.here([...nightly, '--json']);
  expect(JSON.parse(document.stdout)).toMatchObject({ state: 'under-way', skipped: true });
  expect(await runsOf(home)).toHaveLength(1);

  const other = await home.here(['export', 'daily-production', '--uwi', 'another', '--skip-if-running', '--json']);
  expect(JSON.parse(other.stdout)).toMatchObject({ state: 'queued' });
  first.signal('SIGKILL');
  await first.ended;
});

test('a run under way that has not moved for run.stuckAfterMs ends the next cron with 1, its age and what to do', async () => {
  await using server = await startWithTenDays({ latencyMs: 20_000 });
  await using home = await cliHome(server.url, { config: 'run: { stuckAfterMs: 1 }\n' });
  const first = home.start([...nightly, '--inline']);
  await vi.waitFor(async () => expect(await requestsAt(server)).toBeGreaterThan(0), waitForWork);
  const { code, stdout, stderr } = await home.here([...nightly, '--inline', '--quiet']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /run \S+ of the same job was requested \S+ s ago and has not moved for \S+ s, and a worker is running/,
  );
  expect(stderr).toMatch(/wellsync runs show \S+\. End it: wellsync runs cancel/);
  first.signal('SIGKILL');
  await first.ended;
});

test('a retried run that nobody works is stuck once its retry is older than run.stuckAfterMs, as a new one is', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const stuckAfter = async (ms: number) => {
    const config = await home.write('wellsync.yaml', `run: { stuckAfterMs: ${ms} }\n`);
    return home.here([...nightly, '--json', '--config', config]);
  };
  const queued = await stuckAfter(600_000);
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));
  for (const step of ['cancel', 'retry']) expect((await home.here(['runs', step, runId])).code).toBeLessThan(5);
  expect(await stuckAfter(600_000)).toMatchObject({ code: 0 });
  await vi.waitFor(async () => expect(await stuckAfter(1)).toMatchObject({ code: 1 }), waitForWork);
  const { stdout } = await stuckAfter(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'run-stuck', action: { runId } } });
});

test('G7: a run that nobody works is continued, and no second one is started', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const queued = await home.here([...nightly, '--json']);
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));
  // Queued once more: there is still no worker.
  expect(JSON.parse((await home.here([...nightly, '--json'])).stdout)).toMatchObject({ runId, state: 'queued' });
  const { code, stdout } = await home.here([...nightly, '--inline', '--json']);
  expect({ code, report: JSON.parse(stdout) as unknown }).toMatchObject({ code: 0, report: { runId, state: 'done' } });
  // It has ended: the next one is another run.
  expect((await home.here([...nightly, '--inline'])).code).toBe(0);
  expect(await runsOf(home)).toHaveLength(2);
});

/** Puts the request of the runs of a warehouse some days back, as the clock of a killed night would have it. */
async function requestedDaysAgo(home: CliHome, days: number): Promise<void> {
  const instance = await DuckDBInstance.create(home.warehouseFile);
  const connection = await instance.connect();
  try {
    await connection.run(
      `UPDATE run SET requested_at = requested_at - INTERVAL ${days} DAY,
         params = json_merge_patch(params, json_object('nowMs', (params->>'nowMs')::BIGINT - ${days} * 86400000))`,
    );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const lastDay = 'SELECT max(date)::VARCHAR AS last FROM daily_production';

test('G7: after a run of an earlier night the command starts its own, which reads the days since', async () => {
  await using server = await startWithTenDays({ data: givenDaily(rowsUpTo(Date.now())) });
  await using home = await cliHome(server.url);
  expect((await home.here([...nightly, '--json'])).code).toBe(0);
  await requestedDaysAgo(home, 3);
  const { code, stdout, stderr } = await home.here([...nightly, '--inline', '--json']);
  expect(code).toBe(0);
  const [newest, older] = await runsOf(home);
  expect(await runsOf(home)).toHaveLength(2);
  expect(JSON.parse(stdout)).toMatchObject({ runId: newest?.runId, state: 'done' });
  // The report of the one before it is a remark.
  expect(stderr).toContain(older?.runId);
  expect(stderr).toMatch(/inserted +\d/);
  const { stdout: days } = await home.here(['query', lastDay, '--json']);
  expect(days).toContain(new Date(Date.now() - dayMs).toISOString().slice(0, 10));
});

test('a backfill to a day is not begun again after it was continued', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const backfill = [...nightly, '--from', '2024-01-01', '--to', '2024-01-05'];
  expect((await home.here([...backfill, '--json'])).code).toBe(0);
  await requestedDaysAgo(home, 3);
  expect((await home.here([...backfill, '--inline'])).code).toBe(0);
  expect(await runsOf(home)).toHaveLength(1);
});

test('a push of a content that is under way is skipped, whatever its file is called', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const content = `${tenColumns}\nN,P1,2024-01-01T00:00:00Z,A,B,true,"[1]",[2],[3],[4]\n`;
  const push = async (name: string) =>
    home.here(['push', 'network-pipes', await home.write(name, content), '--skip-if-running', '--json']);
  const first = z
    .object({ runId: z.string(), state: z.literal('queued') })
    .parse(JSON.parse((await push('a.csv')).stdout));
  expect(JSON.parse((await push('b.csv')).stdout)).toMatchObject({ runId: first.runId, state: 'queued' });
  expect(await runsOf(home)).toHaveLength(1);
});
