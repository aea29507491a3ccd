/** Schedules: from the configuration to their runs. */
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { AlertKeeper } from '../../../src/app/alerts/keeper.ts';
import { type App, createApp } from '../../../src/app/app.ts';
import { chunkQueues } from '../../../src/core/run/job-description.ts';
import { applySchedules } from '../../../src/app/schedules/apply-schedules.ts';
import { scheduleOf } from '../../../src/app/schedules/schedule.ts';
import { scheduledRequest, Scheduler, takeTick } from '../../../src/app/schedules/scheduler.ts';
import { workHere } from '../../../src/app/runs/worker-host.ts';
import type { Ticks } from '../../../src/core/time/schedule-ticks.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { instantText } from '../../../src/core/base/text.ts';
import { startReceiver } from '../../support/alert-receiver.ts';
import { type CliHome, cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exported = (cron = '15 2 * * *', more = ''): string =>
  `{ cron: "${cron}", timeZone: Europe/Oslo, job: export daily-production, parameters: { wells: ["${UWI}"] }${more} }`;
const configOf = (revision: number, entries: Readonly<Record<string, string>>): string =>
  `schedules:\n  revision: ${revision}\n  entries:\n${Object.entries(entries)
    .map(([name, entry]) => `    ${name}: ${entry}\n`)
    .join('')}`;

function loggedApp(home: CliHome): App & { readonly lines: string[] } {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  return Object.assign(createApp(loadConfig({ environment: home.env }), { log }), { lines, log });
}
const logOf = (lines: string[]) => pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });

const listSchema = z.object({
  revision: z.number().nullable(),
  schedules: z.array(
    z.object({
      name: z.string(),
      next: z.string().nullable(),
      paused: z.object({ by: z.string() }).nullable(),
      lastTick: z.object({ due: z.string(), outcome: z.string(), because: z.string().nullable() }).nullable(),
      runs: z.array(z.object({ runId: z.string(), state: z.string(), byHand: z.string().nullable() })),
    }),
  ),
});
const listed = async (home: CliHome) =>
  listSchema.parse(JSON.parse((await home.here(['schedules', 'list', '--json'])).stdout));
const runs = async (home: CliHome): Promise<readonly { readonly actor: string; readonly state: string }[]> => {
  const { stdout } = await home.here(['query', 'SELECT actor, state FROM run ORDER BY run_id', '--json']);
  return z.array(z.object({ actor: z.string(), state: z.string() })).parse(JSON.parse(stdout));
};

describe('wellsync schedules', () => {
  test('takes them from the configuration, by revision, and shows what comes next', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, {
      config: configOf(1, { nightly: exported(), weekly: exported('0 5 * * 0') }),
    });
    const apply = () => home.here(['schedules', 'apply']);
    expect((await apply()).stdout).toBe('Revision 1 with 2 schedules: applied.\n');
    expect((await apply()).stdout).toContain('had been applied before');
    expect((await home.here(['schedules', 'pause', 'nightly'])).code).toBe(0);
    const list = await listed(home);
    expect(list).toMatchObject({ revision: 1, schedules: [{ name: 'nightly', lastTick: null }, { name: 'weekly' }] });
    expect(list.schedules[0]?.paused?.by).toMatch(/@/);
    const next = Date.parse(list.schedules[1]?.next ?? '');
    expect(new Date(next).getUTCDay()).toBe(0);

    await home.write('wellsync.yaml', configOf(1, { nightly: exported() }));
    const changed = await apply();
    expect(changed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('other schedules of the same revision 1'),
    });
    await home.write('wellsync.yaml', configOf(3, { nightly: exported('30 3 * * *') }));
    expect((await apply()).code).toBe(0);
    await home.write('wellsync.yaml', configOf(2, { other: exported() }));
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringContaining('of revision 3') });
    const text = await home.here(['schedules', 'list']);
    expect(text.stdout).toMatch(/^nightly +30 3 \* \* \* +Europe\/Oslo +export daily-production +paused by \S+@\S+$/m);
    expect((await home.here(['schedules', 'resume', 'nightli'])).stderr).toContain('Do you mean nightly?');
    expect((await home.here(['schedules', 'resume', 'nightly'])).code).toBe(0);
    expect((await listed(home)).schedules[0]?.paused).toBeNull();
  });

  test('G11: are bound to the service that they were applied for', async () => {
    await using home = await cliHome('http://one.example', { config: configOf(1, { nightly: exported() }) });
    expect((await home.here(['schedules', 'apply'])).code).toBe(0);
    await home.write('wellsync.yaml', `service: { url: http://other.example }\n${configOf(2, { weekly: exported() })}`);
    const env = { WELLSYNC_SERVICE_URL: 'http://other.example' };
    const refused = await home.run(['schedules', 'apply'], { env });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/one\.example.*other\.example/) });
    expect(await listed(home)).toMatchObject({ revision: 1, schedules: [{ name: 'nightly' }] });
  });

  test('refuses crons and zones that nobody means, and a cleanup that is no saved selection', async () => {
    const faults: readonly (readonly [entry: string, words: string])[] = [
      [exported('* 15 2 * * *'), 'must have five fields'],
      [exported('@daily'), 'must have five fields'],
      [exported('0 0 L * *'), 'day of month'],
      [exported().replace('Europe/Oslo', '"+01:00"'), 'must be the name of a time zone'],
      [exported().replace('Europe/Oslo', 'Oslo'), 'must be the name of a time zone'],
      ['{ cron: "0 1 * * *", timeZone: UTC, job: cleanup, parameters: { selection: none } }', 'names no selection'],
      ['{ cron: "0 1 * * *", timeZone: UTC, job: cleanup, parameters: { file: t.csv } }', 'selection'],
    ];
    for (const [entry, words] of faults) {
      await using home = await cliHome('http://127.0.0.1:1', { config: configOf(1, { wrong: entry }) });
      const { code, stderr } = await home.here(['schedules', 'apply']);
      expect([code, stderr], entry).toEqual([2, expect.stringContaining(words)]);
      expect(stderr).toContain('schedules.entries.wrong');
    }
  });

  test('triggers a run now, as the operator, and no second one of the same work', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config: configOf(1, { nightly: exported() }) });
    await home.here(['schedules', 'apply']);
    expect((await home.here(['schedules', 'trigger', 'nightly'])).stdout).toContain('Queued.');
    const [first] = await runs(home);
    await home.here(['schedules', 'trigger', 'nightly']);
    expect(await runs(home)).toEqual([first]);
    expect(first?.actor).not.toContain('schedule');
    const [nightly] = (await listed(home)).schedules;
    expect(nightly).toMatchObject({ lastTick: null, runs: [{ state: 'queued', byHand: first?.actor }] });
    expect((await home.here(['schedules', 'list'])).stdout).toContain(`${nightly?.runs[0]?.runId} queued, by hand`);
  });
});

/** Ticks at the multiples of a period. */
const every = (periodMs: number): Ticks => {
  const latest = (afterMs: number, upToMs: number): number | undefined => {
    const tick = Math.floor(upToMs / periodMs) * periodMs;
    return tick > afterMs ? tick : undefined;
  };
  return { next: (afterMs) => Math.floor(afterMs / periodMs) * periodMs + periodMs, latest };
};

describe('a schedule', () => {
  test('of every second, worked by two workers of one queue, runs again and again and never twice at once', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config: configOf(1, { nightly: exported() }) });
    await using app = loggedApp(home);
    const log = logOf(app.lines);
    const outages = new OutageJournal(log);
    await applySchedules(app);
    const [one, other] = [1, 2].map(
      () =>
        new Scheduler({
          app,
          log,
          outages,
          alerts: new AlertKeeper(app, log, { role: 'worker', outages, hasScheduler: true }),
          ticksOf: () => every(1_000),
          pollEveryMs: 600_000,
        }),
    );
    const ending = new AbortController();
    await workHere({ app, queues: chunkQueues, log }, async () => {
      const workers = await Promise.all(
        [one, other].map((ticks) => app.startWorkers({ queues: [], log, outages, ...(ticks && { ticks }) })),
      );
      const keeping = [one, other].map(async (scheduler) => scheduler?.keep(ending.signal));
      const isEnough = async (): Promise<boolean> =>
        (await runs(home)).filter(({ state }) => state === 'done').length >= 2;
      await expect.poll(isEnough, { timeout: 120_000, interval: 500 }).toBe(true);
      ending.abort();
      await Promise.all(keeping);
      await Promise.all(workers.map((each) => each.stop()));
    });
    const found = await home.here([
      'query',
      `SELECT count(*) AS overlaps FROM run a JOIN run b ON a.run_id < b.run_id
       AND b.requested_at < coalesce(a.finished_at, now())`,
      '--csv',
    ]);
    expect(found.stdout).toBe('overlaps\n0\n');
    expect((await runs(home)).every(({ actor }) => actor.startsWith('schedule/nightly@'))).toBe(true);
    expect(app.lines.join('')).toContain('a schedule started a run');
  });

  test('G7: of a worker that was away runs its last missed tick, once, or leaves it out', async () => {
    await using server = await startWithTenDays();
    const entries = { latest: exported('0 * * * *'), none: exported('0 * * * *', ', catchUp: none') };
    await using home = await cliHome(server.url, { config: configOf(1, entries) });
    await using app = loggedApp(home);
    const context = { app, log: logOf(app.lines), ticksOf: () => every(3_600_000) };
    await applySchedules(app);
    const laterMs = (Math.floor(Date.now() / 3_600_000) + 30) * 3_600_000 + 1_800_000;
    const takeAll = async (): Promise<void> => {
      const { schedules } = await app.ledger.schedules.read();
      await Promise.all(schedules.flatMap((each) => [1, 2].map(() => takeTick(scheduleOf(each), context, laterMs))));
    };
    await takeAll();
    await takeAll();
    const due = new Date(laterMs - 1_800_000).toISOString();
    expect((await listed(home)).schedules).toMatchObject([
      { name: 'latest', lastTick: { due, outcome: 'started' } },
      { name: 'none', lastTick: { due, outcome: 'missed' }, runs: [] },
    ]);
    expect(await runs(home)).toHaveLength(1);
  });

  test('skips and says so while its last run has not ended, while the same work is under way, and while it is paused', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config: configOf(1, { nightly: exported() }) });
    await using app = loggedApp(home);
    const context = { app, log: logOf(app.lines), ticksOf: () => every(3_600_000) };
    await applySchedules(app);
    let nowMs = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
    const tick = async () => {
      nowMs += 3_600_000;
      const { schedules } = await app.ledger.schedules.read();
      for (const each of schedules) await takeTick(scheduleOf(each), context, nowMs);
      return (await app.ledger.schedules.read()).schedules[0]?.lastTick;
    };
    expect(await tick()).toMatchObject({ outcome: 'started' });
    expect(await tick()).toMatchObject({
      outcome: 'skipped',
      words: expect.stringMatching(/^its run \S+ has not ended$/),
    });
    await home.here(['schedules', 'pause', 'nightly']);
    expect(await tick()).toMatchObject({ outcome: 'skipped', words: expect.stringMatching(/^paused by /) });
    await home.here(['schedules', 'resume', 'nightly']);
    const [run] = (await app.ledger.runs.list({ limit: 1 })).runs;
    await home.here(['runs', 'cancel', run?.runId ?? '']);
    const [stored] = (await app.ledger.schedules.read()).schedules;
    if (stored === undefined) throw new Error('there is no schedule');
    const asked = await scheduledRequest(scheduleOf(stored), app, { requestedBy: 'ana', nowMs });
    const { job, params, targets = [] } = asked;
    const other = await (await app.runService()).start(job, params, { actor: 'ana', targets });
    expect(await tick()).toMatchObject({
      outcome: 'skipped',
      words: expect.stringMatching(/for the same work has not ended$/),
    });
    await home.here(['runs', 'cancel', other]);
    // One that a person began is its run as well.
    await home.here(['schedules', 'trigger', 'nightly']);
    expect(await tick()).toMatchObject({ outcome: 'skipped', words: expect.stringMatching(/^its run \S+ has not/) });
    expect(app.lines.filter((line) => line.includes('a schedule was skipped'))).toHaveLength(4);
  });

  test('that nobody takes, or that cannot start, is told of once over restarts, and again when it is over', async () => {
    await using receiver = await startReceiver();
    await using server = await startWithTenDays();
    const entries = { nightly: exported('0 * * * *', ', catchUp: none') };
    const config = `alerts: { url: '${receiver.url}' }\n${configOf(1, entries)}`;
    await using home = await cliHome(server.url, { config });
    await using app = loggedApp(home);
    const ticksOf = () => every(3_600_000);
    await applySchedules(app);
    /** As a process does it that starts, looks, and ends. */
    const look = async (nowMs: number): Promise<void> => {
      const log = logOf(app.lines);
      const alerts = new AlertKeeper(app, log, { role: 'worker', outages: new OutageJournal(log), hasScheduler: true });
      await alerts.recordSchedules((await app.ledger.schedules.read()).schedules, ticksOf, nowMs);
      await alerts.sendLast();
    };
    const take = async (nowMs: number): Promise<void> => {
      const { schedules } = await app.ledger.schedules.read();
      for (const each of schedules) {
        await takeTick(scheduleOf(each), { app, log: logOf(app.lines), ticksOf }, nowMs);
      }
    };
    const told = () =>
      receiver.calls.map(({ body }) => z.object({ change: z.string(), kind: z.string() }).parse(JSON.parse(body)));
    const dueMs = (Math.floor(Date.now() / 3_600_000) + 1) * 3_600_000;
    await look(dueMs + 60_000);
    expect(told()).toEqual([]);
    await look(dueMs + 600_000);
    await take(dueMs + 610_000);
    await look(dueMs + 620_000);
    expect(told()).toEqual([{ change: 'opened', kind: 'schedule-missed' }]);
    await take(dueMs + 3_600_000);
    await look(dueMs + 3_610_000);
    await look(dueMs + 3_605_000);
    expect(told().slice(1)).toEqual([{ change: 'resolved', kind: 'schedule-missed' }]);
    expect(JSON.parse(receiver.calls[0]?.body ?? '')).toMatchObject({
      targets: ['nightly'],
      summary: `nightly was due at ${instantText(dueMs)}, and no worker took it in time`,
    });
  });

  test('G1: whose worker died before its run was made has that run, and one that cannot start says why', async () => {
    await using server = await startWithTenDays();
    const lacking = exported('0 * * * *').replace('{ wells:', '{ wellsFile: lacking.csv, wells:');
    await using home = await cliHome(server.url, { config: configOf(1, { nightly: exported(), wrong: lacking }) });
    await using app = loggedApp(home);
    const context = { app, log: logOf(app.lines), ticksOf: () => every(3_600_000) };
    await applySchedules(app);
    const dueMs = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
    const [nightly] = (await app.ledger.schedules.read()).schedules;
    const runId = '20240101-000000-abcdef';
    if (nightly !== undefined) await app.ledger.schedules.take(nightly, { dueMs, outcome: 'starting', runId });
    for (const each of (await app.ledger.schedules.read()).schedules) await takeTick(scheduleOf(each), context, dueMs);
    expect((await listed(home)).schedules).toMatchObject([
      { lastTick: { outcome: 'started' }, runs: [{ runId, state: 'queued', byHand: null }] },
      {
        lastTick: { outcome: 'failed', because: expect.stringContaining('lacking.csv cannot be read') },
        runs: [],
      },
    ]);
    expect(await runs(home)).toHaveLength(1);
  });
});
