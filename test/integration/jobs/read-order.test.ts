/** Two runs of one well side by side, over HTTP: the answer of the older one comes last. */
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { createListJob, describeList } from '../../../jobs/definitions.ts';
import { timeSeries } from '../../../src/core/definitions/record-list.ts';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { deferred, type Deferred } from '../../support/deferred.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { type Reply, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';
import { ask, xidOf } from '../../support/warehouse-batches.ts';

const jobs = [
  ...createDailyProductionJobs(dailyProductionSettings).map(anyJob),
  anyJob(createListJob(timeSeries, { shrink: dailyProductionSettings.shrink, chunkTargets: 10, concurrency: 2 })),
];
const nowMs = Date.parse('2024-01-11T04:00:00Z');

/** Passes requests on. Keeps the next answer, once it is told to, until it is released. */
async function slowProxy(target: string): Promise<
  ScriptedServer & {
    /** Resolves when the service has given the answer that is kept; the result lets it go. */
    keepNext(): Promise<() => void>;
  }
> {
  let kept: Deferred<() => void> | undefined;
  const proxy = await startScriptedServer(async ({ url }): Promise<Reply> => {
    const own = kept;
    kept = undefined;
    const answer = await fetch(`${target}${url}`);
    const reply = { status: answer.status, body: await answer.text(), headers: { 'content-type': 'application/json' } };
    if (own !== undefined) await new Promise<void>((resolve) => own.resolve(() => resolve()));
    return reply;
  });
  const keepNext = async (): Promise<() => void> => {
    const answered = deferred<() => void>();
    kept = answered;
    return answered.promise;
  };
  return Object.assign(proxy, { keepNext });
}

describe('two runs of one well', () => {
  test('G1: an answer from before a restatement that comes last takes nothing back', async () => {
    const rows = januaryRows(10);
    await using server = await startTestingServer({ data: givenDaily(rows) });
    await using proxy = await slowProxy(server.url);
    await using engine = await engineHere(proxy.baseUrl, jobs);
    const params = { nowMs, allowShrink: false };
    await engine.run(dailyProductionJobName, params, [UWI]);
    const isKept = proxy.keepNext();
    const older = await engine.start(dailyProductionJobName, { ...params, nowMs: nowMs + 1 }, [UWI]);
    const release = await isKept;
    server.state.changeDaily(JSON.stringify({ ...rows[8], oilRate: 200 }));
    const newer = await engine.run(dailyProductionJobName, { ...params, nowMs: nowMs + DAY_MS }, [UWI]);
    expect(newer).toMatchObject({ state: 'done', counts: { updated: 1 } });
    const stored = () =>
      ask(engine.warehouse, `SELECT oil_rate FROM daily_production WHERE production_day = '2024-01-09'`);
    expect(await stored()).toEqual([[200]]);
    release();
    expect(await engine.reportOf(older)).toMatchObject({ state: 'done', counts: { updated: 0, windows: 1 } });
    expect(await stored()).toEqual([[200]]);
    expect(await ask(engine.warehouse, 'SELECT oil_rate FROM daily_production_history')).toEqual([[9]]);
  });

  test('G1: an answer about equipment from before a change that comes last takes nothing back', async () => {
    let unit = 'bar';
    const record = { xid: xidOf(1), equipmentXid: xidOf(2), sourceId: 's', measurement: 'P' };
    await using service = await startScriptedServer(() => ({ body: [{ ...record, unit }] }));
    await using proxy = await slowProxy(service.baseUrl);
    await using engine = await engineHere(proxy.baseUrl, jobs);
    const read = { allowShrink: false };
    await engine.run(describeList(timeSeries).name, read, ['E']);
    const isKept = proxy.keepNext();
    const older = await engine.start(describeList(timeSeries).name, read, ['E']);
    const release = await isKept;
    unit = 'Pa';
    expect(await engine.run(describeList(timeSeries).name, read, ['E'])).toMatchObject({ counts: { updated: 1 } });
    release();
    expect(await engine.reportOf(older)).toMatchObject({
      state: 'done',
      counts: { read: 1, updated: 0, unchanged: 1 },
    });
    expect(await ask(engine.warehouse, 'SELECT unit FROM time_series')).toEqual([['Pa']]);
    expect(service.requests).toHaveLength(4);
  });
});
