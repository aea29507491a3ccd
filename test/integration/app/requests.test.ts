/**
 * Requests about runs as a console, an HTTP API or a schedule makes them: no command line, no terminal, no signals of
 * the process.
 */
import path from 'node:path';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { type App, createApp } from '../../../src/app/app.ts';
import {
  type DailyProductionInput,
  planDailyProduction,
  requestDailyProduction,
} from '../../../src/app/exports/daily-production.ts';
import { definitionExport, requestDefinitions } from '../../../src/app/exports/definitions.ts';
import { followRun, type RunObserver } from '../../../src/app/runs/follow-run.ts';
import { reportDocument } from '../../../src/app/runs/run-document.ts';
import { jobDescriptionOf, listRuns } from '../../../src/app/runs/run-status.ts';
import { isUnattended, startRun } from '../../../src/app/runs/start-run.ts';
import { workInline } from '../../../src/app/runs/worker-host.ts';
import { probeService, wellsToProbe } from '../../../src/app/service/service-requests.ts';
import { askService } from '../../../src/app/service/ask-service.ts';
import { AbortedError } from '../../../src/core/base/errors.ts';
import type { TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const nowMs = Date.parse('2024-02-01T00:00:00Z');
const asker = { actor: 'schedule@host', connection: 'lasting' } as const;
const log = pino({ level: 'silent' });
const stdin = Readable.from([]);
const running = (): AbortSignal => new AbortController().signal;
const unwatched: RunObserver = { show: () => {}, remark: () => {}, end: () => {} };

describe('runs without a command line', () => {
  let server: TestingServer;
  let home: CliHome;
  let app: App;

  beforeAll(async () => {
    server = await startWithTenDays();
    home = await cliHome(server.url);
    app = createApp(loadConfig({ environment: home.env }));
  });

  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    await server.close();
  });

  const request = (input: DailyProductionInput) => requestDailyProduction(app, input, { stdin, nowMs });

  test('a request names its targets once, beside its parameters, and what it comes to as data', async () => {
    const { params, targets, summary } = await request({
      uwis: [UWI, ` ${UWI} `],
      from: '2024-01-01',
      to: '2024-01-11',
    });
    const bounds = { fromMs: Date.parse('2024-01-01T00:00:00Z'), toMs: Date.parse('2024-01-11T00:00:00Z') };
    expect(targets).toEqual([UWI]);
    expect(params).toEqual({ nowMs, allowShrink: false, ...bounds });
    expect(summary).toEqual({ kind: 'daily-production', wells: 1, repeatedWells: 1, ...bounds });
    const timeSeries = definitionExport(({ name }) => name === 'time-series');
    expect((await requestDefinitions(app, timeSeries, { names: ['EQ 1', 'EQ 1'] }, { stdin })).summary).toEqual({
      title: 'time series definitions of 1 equipment id',
      targets: 1,
      repeatedTargets: 1,
    });
  });

  test('a request of all wells of a source names it, and one of some wells or days none', async () => {
    const wellsFile = await home.write('wells.csv', `uwi\n${UWI}\n`);
    const relative = path.relative(process.cwd(), wellsFile);
    const sourceOf = async (input: DailyProductionInput, schedule?: string) =>
      (await requestDailyProduction(app, input, { stdin, nowMs, ...(schedule && { schedule }) })).params.source;
    expect(await sourceOf({ wellsFile: relative, lookbackDays: 30, allowShrink: true })).toBe(wellsFile);
    expect(await sourceOf({ wellsFile }, 'nightly')).toBe('schedule nightly');
    expect(await sourceOf({ wellsFile, fromWarehouse: true }, 'nightly')).toBe('warehouse');
    expect(await sourceOf({ wellsFile, uwis: [UWI] })).toBeUndefined();
    for (const bound of [{ from: '2024-01-01' }, { to: '2024-01-11' }, { gaps: true }]) {
      expect(await sourceOf({ wellsFile, ...bound })).toBeUndefined();
    }
    const configured = async (settings: string) => {
      const config = await home.write('configured.yaml', `export: { ${settings} }\n`);
      await using other = createApp(loadConfig({ environment: { ...home.env, WELLSYNC_CONFIG: config } }));
      return (await requestDailyProduction(other, {}, { stdin, nowMs })).params.source;
    };
    expect(await configured(`wellsFile: ${wellsFile}`)).toBe(wellsFile);
    expect(await configured(`wells: ['B'], wellsFile: ${wellsFile}`)).toBe('configuration');
  });

  test('the plan of an export is data', async () => {
    const plan = await planDailyProduction(app, await request({ uwis: [UWI], from: '2024-01-01', to: '2024-01-11' }));
    const [from, to] = ['2024-01-01T00:00:00.000Z', '2024-01-11T00:00:00.000Z'];
    expect(plan).toEqual({
      job: 'export daily-production',
      windows: [{ uwi: UWI, from, to, mode: 'backfill', isVerified: true, lookback: null, reach: null, chunk: 0 }],
    });
  });

  test('a run is left when the signal aborts, goes on, is worked here, and is listed with who asked for it', async () => {
    const run = await startRun(app, await request({ uwis: [UWI] }), asker);
    expect(await isUnattended(app, run.job)).toBe(true);
    const left = followRun(app, run, { observer: unwatched, signal: AbortSignal.abort() });
    await expect(left).rejects.toThrow(AbortedError);
    const queued = await listRuns(app, { limit: 5 });
    expect(queued).toMatchObject({ unattendedJobs: [run.job], liveFault: null, cursor: null });
    expect(queued.runs).toMatchObject([{ ...run, state: 'queued', units: null, requestedBy: 'schedule@host' }]);

    let ends = 0;
    const observer = { ...unwatched, end: () => void (ends += 1) };
    const how = { observer, log, signal: running(), onStopping: () => expect.unreachable() };
    const report = await workInline(app, run, how, (ended) => Promise.resolve(ended));
    expect(reportDocument(report, jobDescriptionOf(run.job, app.jobs), () => undefined)).toMatchObject({
      ...run,
      state: 'done',
      counts: { inserted: 10 },
      exitCode: 0,
    });
    expect(ends).toBe(1);
    const { runs } = await listRuns(app, { limit: 5 });
    expect(runs).toMatchObject([{ ...run, state: 'done', requestedBy: 'schedule@host' }]);
  });

  test('work that the signal stops says so before it waits, and the run can be worked to its end later', async () => {
    server.state.setOptions({ latencyMs: 300 });
    const run = await startRun(app, await request({ uwis: [UWI] }), asker);
    const stop = new AbortController();
    let isStopping = false;
    const onStopping = (): void => void (isStopping = true);
    const worked = workInline(app, run, { observer: unwatched, log, signal: stop.signal, onStopping }, () =>
      Promise.resolve('ended'),
    ).catch((error: unknown) => error);
    stop.abort();
    const outcome = await worked;
    server.state.setOptions({ latencyMs: 0 });
    expect(isStopping).toBe(true);
    // Work in flight may have been the last of the run.
    expect(outcome === 'ended' || outcome instanceof AbortedError).toBe(true);
    const how = { observer: unwatched, log, signal: running(), onStopping: () => {} };
    expect(await workInline(app, run, how, ({ state }) => Promise.resolve(state))).toBe('done');
  });

  test('the service is probed by a well of the warehouse, and a probe that is stopped keeps nothing', async () => {
    const wells = await wellsToProbe(app, {}, { stdin });
    expect(wells).toEqual([UWI]);
    const { timeZone } = app.config;
    const stopped = askService(app, { log, signal: AbortSignal.abort() }, (parts, { signal }) =>
      probeService(parts, wells, { timeZone, signal }),
    );
    await expect(stopped).rejects.toThrow('nothing was kept');
    const found = await askService(app, { log, signal: running() }, (parts, { signal }) =>
      probeService(parts, wells, { timeZone, signal }),
    );
    expect(found.profile).toMatchObject({ uwi: UWI, pagingHonoured: true });
    expect(found.requests).toBeGreaterThan(1);
  });
});
