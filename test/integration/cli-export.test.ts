/** The commands that start, follow, work, leave, cancel and retry runs, as an operator meets them. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/daily-source.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { januaryRows, startWithTenDays, UWI } from '../support/testing-server-requests.ts';

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
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.here(exportOf('--uwi', UWI, '--uwi', 'unknown', '--inline'));
    expect(code).toBe(1);
    expect(stdout).toContain('Failed: 1 of 2 wells could not be read to the end.');
    expect(stdout).toMatch(/^ {2}inserted +10$/m);
    expect(stdout).toContain('It adds up: 10 read = 10 inserted + ');
    expect(stdout).toMatch(/^ {2}unknown: failed, .*404/m);
    expect(stdout).toMatch(/wellsync runs retry \S+ {2}takes up the wells that are not done/);
  });

  test('ends with 3 when a record broke the contract, and says which and how many', async () => {
    const data = givenDaily([...januaryRows(3), { uwi: UWI, date: '2024-01-09T00:00:00Z', oilRate: 'much' }]);
    await using server = await startTestingServer({ data });
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.here(exportOf('--uwi', UWI, '--inline'));
    expect(stdout).toContain('Done, with 1 record quarantined.');
    expect(stdout).toContain('wellsync query "FROM quarantine"');
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
    const { stderr } = await home.here(
      exportOf('--uwi', UWI, '--from', '2024-01-03', '--to', '2024-01-04T06:00', '--config', config, '--inline'),
    );
    expect(stderr).toContain('from 2024-01-02 15:00:00Z to 2024-01-03 21:00:00Z');
  });

  test('takes wells from flags, file and standard input, each once', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const stdin = `\uFEFFname;,UWI\r\n1," ${UWI} "\r\n2,${UWI}\r\n`;
    const { code, stderr } = await home.run(exportOf('--uwi', UWI, '--wells', '-', '--inline'), { stdin });
    expect(code).toBe(0);
    expect(stderr).toContain('daily production of 1 well (2 repeated names left out)');
  });

  test('takes the wells of the configuration where none are named', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.write('wells.csv', `uwi\n${UWI}\n`);
    const config = await home.write('wells.yaml', 'export:\n  wellsFile: wells.csv\n');
    expect((await home.run(exportOf('--config', config, '--inline'))).code).toBe(0);
    expect(await rowsIn(home)).toEqual([{ n: 10 }]);
  });

  test('G7: Ctrl-C hands the work back, and runs retry --inline goes on with the run', async () => {
    await using server = await startWithTenDays({ latencyMs: 400 });
    await using home = await cliHome(server.url);
    const command = home.start(exportOf('--uwi', UWI, '--inline'));
    await command.hears('Run ');
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
  test('without --wait queues the run, and says when no worker listens', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const { code, stdout, stderr } = await home.here(exportOf('--uwi', UWI, '--json'));
    expect(JSON.parse(stdout)).toMatchObject({ state: 'queued', wells: 1, repeatedWells: 0, isAttended: false });
    expect(stderr).toContain('No worker listens');
    expect(code).toBe(0);
  });

  test('--wait says once that no worker listens, keeps waiting, and ends when one has worked the run', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const waiting = home.start(exportOf('--uwi', UWI, '--wait', '--json'));
    await waiting.hears('No worker listens');
    const worker = home.start(['worker']);
    const { code, stdout, stderr } = await waiting.ended;
    expect(stderr.split('No worker listens')).toHaveLength(2);
    expect(reportOf(stdout)).toMatchObject({ state: 'done', exitCode: 0 });
    expect(code).toBe(0);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  test('Ctrl-C with --wait leaves the run to the workers', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const waiting = home.start(exportOf('--uwi', UWI, '--wait'));
    await waiting.hears('Run ');
    waiting.signal('SIGINT');
    const { code, stderr } = await waiting.ended;
    expect(stderr).toContain('it goes on without this command');
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
      new RegExp(`^${runId} +export daily-production +queued +not planned yet`, 'm'),
    );
    expect((await home.here(['runs', 'show', short])).stdout).toContain('Queued, asked for at ');

    const cancelled = await home.here(['runs', 'cancel', short]);
    expect(cancelled.stdout).toContain(`Run ${runId} is being cancelled`);
    expect(cancelled.stderr).toContain('the run ends when one does');
    const worker = home.start(['worker']);
    const shown = await home.here(['runs', 'show', short, '--wait']);
    expect(shown.stdout).toContain('Cancelled: ');
    expect(shown.code).toBe(4);
    expect((await home.here(['runs', 'show', short])).code).toBe(0);
    expect((await home.here(['runs', 'cancel', short])).stdout).toContain('was cancelled already');
    worker.signal('SIGTERM');
    await worker.ended;
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

  test('a failed well is taken up again by retry, and what is done stays', async () => {
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
