/** The commands that start, follow, work, leave, cancel and retry runs. */
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { januaryRows, requestsAt, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exportOf = (...args: string[]): string[] => ['export', 'daily-production', ...args];

const reportSchema = z.object({
  runId: z.string(),
  job: z.literal('export daily-production'),
  state: z.string(),
  units: z.record(z.string(), z.number()),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean(), statement: z.string() }),
  failures: z.array(z.object({ target: z.string(), state: z.string(), message: z.string() })),
  notices: z.array(z.string()),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime(),
  durationMs: z.number(),
  exitCode: z.number(),
});
const reportOf = (text: string) => reportSchema.parse(JSON.parse(text));

async function rowsIn(home: CliHome): Promise<unknown> {
  const { stdout } = await home.here(['query', 'SELECT count(*) AS n FROM daily_production', '--json']);
  return JSON.parse(stdout);
}

describe('export --inline', () => {
  test('works the run in this process and prints the report as JSON', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.here(exportOf('--uwi', UWI, '--inline', '--json'));
    const report = reportOf(stdout);
    expect(code).toBe(0);
    expect(report).toMatchObject({ state: 'done', exitCode: 0, units: { total: 1, done: 1 }, failures: [] });
    expect(report.counts).toMatchObject({ read: expect.any(Number), inserted: 10, removed: 0 });
    expect(report.balance.balanced).toBe(true);
    expect(await rowsIn(home)).toEqual([{ n: 10 }]);
  });

  test('prints a report that a person can read, with the balance and what to do next', async () => {
    const [long = { uwi: 'LONG' }] = januaryRows(1, 'LONG');
    const data = givenDaily([...januaryRows(10), { ...long, note: 'x'.repeat(20_000) }]);
    await using server = await startTestingServer({ data, defaultLimit: 3, maxLimit: 5 });
    await using home = await cliHome(server.url, { config: 'service: { maxBodyBytes: 8000 }' });
    const { code, stdout } = await home.here(exportOf('--uwi', UWI, '--uwi', 'LONG', '--inline'));
    expect(code).toBe(1);
    expect(stdout).toContain('Failed: 1 of 2 wells could not be read to the end.');
    expect(stdout).toMatch(/^ {2}inserted +10$/m);
    expect(stdout).toContain('Reconciled: 10 read = 10 inserted + ');
    expect(stdout).toMatch(/^ {2}LONG: failed, /m);
    expect(stdout).toMatch(/wellsync runs retry \S+ {2}retries the wells that are not done/);
  });

  test('ends with 3 when a record broke the contract, and says which and how many', async () => {
    const data = givenDaily([
      ...januaryRows(3),
      { uwi: UWI, date: '2024-01-09T00:00:00Z', oilRate: 'much', gasRate: 12_345, waterRate: 0.25 },
    ]);
    await using server = await startTestingServer({ data });
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.here(exportOf('--uwi', UWI, '--inline'));
    expect(stdout).toContain('Done, with 1 record quarantined.');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'In quarantine of these wells: 1 record with oil 0.00, gas 12,345 and water 0.25 (daily rates, summed; 1 has a rate that is no number)',
    );
    expect(stdout).toContain('wellsync query "SELECT * FROM quarantine"');
    expect(code).toBe(3);
  });

  test('reads only the days that --from and --to name, the last one left out', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code } = await home.here(exportOf('--uwi', UWI, '--from', '2024-01-03', '--to', '2024-01-06', '--inline'));
    expect(code).toBe(0);
    expect(await rowsIn(home)).toEqual([{ n: 3 }]);
  });

  test('takes a day as one of the configured zone', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const config = await home.write('tokyo.yaml', 'timeZone: Asia/Tokyo\n');
    const { stderr } = await home.atTerminal(
      exportOf('--uwi', UWI, '--from', '2024-01-03', '--to', '2024-01-04T06:00', '--config', config, '--inline'),
    );
    expect(stderr).toContain('from 2024-01-02 15:00:00Z to 2024-01-03 21:00:00Z');
  });

  test('takes wells from flags, file and standard input, each once', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const stdin = `\uFEFFname;,UWI\r\n1," ${UWI} "\r\n2,${UWI}\r\n`;
    const { code, stdout } = await home.run(exportOf('--uwi', UWI, '--wells', '-', '--json'), { stdin });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ wells: 1, repeatedWells: 2 });
  });

  test('takes the wells of the configuration where none are named', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.write('wells.csv', `uwi\n${UWI}\n`);
    const config = await home.write('wells.yaml', 'export:\n  wellsFile: wells.csv\n');
    expect((await home.run(exportOf('--config', config, '--inline'))).code).toBe(0);
    expect(await rowsIn(home)).toEqual([{ n: 10 }]);
  });

  test('G7: Ctrl-C hands the work back, and runs retry --inline continues the run', async () => {
    await using server = await startWithTenDays({ latencyMs: 400 });
    await using home = await cliHome(server.url);
    const command = home.start(exportOf('--uwi', UWI, '--inline'));
    // The work has begun, so that signals are handled.
    await vi.waitFor(async () => expect(await requestsAt(server)).toBeGreaterThan(0), { timeout: 30_000 });
    command.signal('SIGINT');
    const { code, stderr, stdout } = await command.ended;
    expect(stderr).toContain('what is done is kept, the rest stays queued');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    const runId = /Run (\S+):/.exec(stderr)?.[1] ?? '';
    expect((await home.here(['runs', 'retry', runId, '--inline'])).code).toBe(0);
    expect(await rowsIn(home)).toEqual([{ n: 10 }]);
  });
});

describe('export beside workers', () => {
  test('without --wait queues the run, and says when no worker is running', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout, stderr } = await home.here(exportOf('--uwi', UWI, '--json'));
    expect(JSON.parse(stdout)).toMatchObject({ state: 'queued', wells: 1, repeatedWells: 0, isAttended: false });
    expect(stderr).toContain('No worker is running');
    expect(code).toBe(0);
  });

  test('--wait says once that no worker is running, keeps waiting, and ends when one has worked the run', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const waiting = home.start(exportOf('--uwi', UWI, '--wait', '--json'));
    await waiting.hears('No worker is running');
    const worker = home.start(['worker']);
    const { code, stdout, stderr } = await waiting.ended;
    expect(stderr.split('No worker is running')).toHaveLength(2);
    expect(reportOf(stdout)).toMatchObject({ state: 'done', exitCode: 0 });
    expect(code).toBe(0);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  test('Ctrl-C with --wait leaves the run to the workers', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const waiting = home.start(exportOf('--uwi', UWI, '--wait'));
    await waiting.hears('No worker is running');
    waiting.signal('SIGINT');
    const { code, stderr } = await waiting.ended;
    expect(stderr).toContain('the run goes on without this command');
    expect(code).toBe(4);
    const [run] = z
      .array(z.object({ state: z.string() }))
      .parse(JSON.parse((await home.here(['runs', 'list', '--json'])).stdout));
    expect(run?.state).toBe('queued');
  });
});

describe('runs', () => {
  test('are listed, shown by a shortened id, cancelled and retried', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { runId } = z
      .object({ runId: z.string() })
      .parse(JSON.parse((await home.here(exportOf('--uwi', UWI, '--json'))).stdout));
    const short = runId.slice(0, -2);

    expect((await home.here(['runs', 'list'])).stdout).toMatch(
      new RegExp(`^${runId} +export daily-production +\\S.*, incremental +queued +not planned yet`, 'm'),
    );
    expect((await home.here(['runs', 'show', short])).stdout).toContain('Queued, requested at ');

    const cancelled = await home.here(['runs', 'cancel', short]);
    expect(cancelled.stdout).toContain(`Run ${runId} is cancelled before it was planned: nothing was done.`);
    const shown = await home.here(['runs', 'show', short, '--wait']);
    expect(shown.stdout).toContain('Cancelled: 0 of 1 well had been done.');
    expect(shown.code).toBe(4);
    expect((await home.here(['runs', 'show', short])).code).toBe(0);
    expect((await home.here(['runs', 'cancel', short])).stdout).toContain('was cancelled already');
    const retried = await home.atTerminal(['runs', 'retry', short, '--inline']);
    expect(retried.stderr).toContain(`Run ${runId}: 1 well retried`);
    expect(retried.stdout).toContain('Done: 1 well.');
  });

  test('G7: a cancel ends a queued run by itself where no worker is, and a worker that comes later leaves it', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const asked = await home.here(exportOf('--uwi', UWI, '--json'));
    const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(asked.stdout));
    await home.here(['runs', 'cancel', runId]);
    const worker = home.start(['worker']);
    await worker.hears('Working');
    // Another run shows that the worker has gone through its queue.
    await home.here(exportOf('--uwi', UWI, '--wait'));
    const list = z
      .array(z.object({ runId: z.string(), state: z.string() }))
      .parse(JSON.parse((await home.here(['runs', 'list', '--json'])).stdout));
    expect(list.find((run) => run.runId === runId)).toMatchObject({ state: 'cancelled' });
    worker.signal('SIGTERM');
    await worker.ended;
  });

  test('are listed by state, job and time, and page by page: the cursor goes to standard error', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    for (const _ of [1, 2]) await home.here(exportOf('--uwi', UWI));
    await home.here(['export', 'wells', '--well', UWI]);
    const list = async (...args: readonly string[]) => {
      const { stdout, stderr } = await home.here(['runs', 'list', '--json', ...args]);
      const runs = z.array(z.object({ runId: z.string(), job: z.string() })).parse(JSON.parse(stdout));
      return { runs, cursor: /--cursor (\S+)/.exec(stderr)?.[1] };
    };
    const all = await list();
    expect(all.runs.map(({ job }) => job)).toEqual(['export wells', ...Array(2).fill('export daily-production')]);
    expect(all.cursor).toBeUndefined();
    expect((await list('--job', 'export wells', '--state', 'queued')).runs).toEqual(all.runs.slice(0, 1));
    expect((await list('--state', 'done')).runs).toEqual([]);
    expect((await list('--since', '2024-01-01', '--until', '2024-01-02')).runs).toEqual([]);
    expect((await list('--since', '2024-01-01')).runs).toEqual(all.runs);

    const first = await list('--limit', '2');
    expect(first.runs).toEqual(all.runs.slice(0, 2));
    const second = await list('--limit', '2', '--cursor', first.cursor ?? '');
    expect(second).toEqual({ runs: all.runs.slice(2), cursor: undefined });
  });

  test('a done run has nothing to retry and cannot be cancelled', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { runId } = reportOf((await home.here(exportOf('--uwi', UWI, '--inline', '--json'))).stdout);
    expect((await home.here(['runs', 'retry', runId])).stdout).toContain('nothing to retry');
    const cancel = await home.here(['runs', 'cancel', runId]);
    expect(cancel.stderr).toContain('has ended already, as done');
    expect(cancel.code).toBe(2);
  });

  test('a well that was unknown is retried by retry, and what is done stays', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { runId } = reportOf((await home.here(exportOf('--uwi', UWI, '--uwi', 'late', '--inline', '--json'))).stdout);
    const late = januaryRows(2, 'late')
      .map((row) => JSON.stringify(row))
      .join('\n');
    await fetch(`${server.url}/testing/daily`, { method: 'POST', body: late });
    const retried = await home.here(['runs', 'retry', runId, '--inline', '--json']);
    expect(reportOf(retried.stdout)).toMatchObject({ runId, state: 'done', units: { total: 2, done: 2, failed: 0 } });
    expect(await rowsIn(home)).toEqual([{ n: 12 }]);
  });

  test('an id that fits none, or more than one, is refused with what there is', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    for (const _ of [1, 2]) await home.here(exportOf('--uwi', UWI));
    const many = await home.here(['runs', 'show', '2']);
    expect(many.stderr).toContain('2 runs begin with 2: give more of the id');
    expect(many.code).toBe(2);
    const none = await home.here(['runs', 'show', 'x']);
    expect(none.stderr).toContain('there is no run x');
    expect(none.code).toBe(2);
  });
});
