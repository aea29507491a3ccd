/** A verification beside an export of the same well, over HTTP: commits come between its read and its comparison. */
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { createVerificationJob, verificationJobName } from '../../../jobs/verification/job.ts';
import { readingRoomOf } from '../../../jobs/daily-production/row-budget.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { type Reply, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';

const room = readingRoomOf(dailyProductionSettings);
const jobs = [
  ...createDailyProductionJobs(dailyProductionSettings, room).map(anyJob),
  anyJob(createVerificationJob(dailyProductionSettings, room)),
];
const nowMs = Date.parse('2024-01-11T04:00:00Z');
const verified = { nowMs, isWhole: false };
const exported = { nowMs, allowShrink: false };

/** Passes requests on, and awaits `after` between an answer of the service and its delivery, for a while. */
async function delayingProxy(target: string): Promise<ScriptedServer & { after: (() => Promise<void>) | undefined }> {
  const proxy: { after: (() => Promise<void>) | undefined } = { after: undefined };
  const server = await startScriptedServer(async ({ url }): Promise<Reply> => {
    const answer = await fetch(`${target}${url}`);
    const reply = { status: answer.status, body: await answer.text(), headers: { 'content-type': 'application/json' } };
    const { after } = proxy;
    proxy.after = undefined;
    await after?.();
    return reply;
  });
  return Object.assign(proxy, server, { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() });
}

describe('a verification beside an export', () => {
  async function scene() {
    const rows = januaryRows(10);
    const server = await startTestingServer({ data: givenDaily(rows) });
    const proxy = await delayingProxy(server.url);
    // An answer waits for a whole export, and is not asked for again meanwhile.
    const engine = await engineHere(proxy.baseUrl, jobs, { timeoutMs: 120_000 });
    let rate = 100;
    /** A day is restated, and an export commits it. */
    const restate = async (): Promise<void> => {
      rate += 1;
      server.state.changeDaily(JSON.stringify({ ...rows[8], oilRate: rate }));
      await engine.run(dailyProductionJobName, { ...exported, nowMs: nowMs + rate }, [UWI]);
    };
    await engine.run(dailyProductionJobName, exported, [UWI]);
    return {
      server,
      proxy,
      engine,
      rows,
      restate,
      async [Symbol.asyncDispose]() {
        await engine[Symbol.asyncDispose]();
        await proxy[Symbol.asyncDispose]();
        await server.close();
      },
    };
  }

  test('an answer from before a commit makes no difference: the well is read again', async () => {
    await using given = await scene();
    const { proxy, engine, restate } = given;
    const before = proxy.requests.length;
    proxy.after = restate;
    expect(await engine.run(verificationJobName, verified, [UWI])).toMatchObject({
      state: 'done',
      counts: { same: 10, differing: 0, missingHere: 0, missingThere: 0 },
    });
    expect(proxy.requests.length).toBeGreaterThan(before + 2);
  });

  test('a commit that changes nothing of the window lets the comparison stand', async () => {
    await using given = await scene();
    const { proxy, engine, server, rows } = given;
    server.state.changeDaily(JSON.stringify({ ...rows[2], oilRate: 55 }));
    proxy.after = async () => void (await engine.run(dailyProductionJobName, { ...exported, nowMs: nowMs + 1 }, ['B']));
    expect(await engine.run(verificationJobName, verified, [UWI])).toMatchObject({
      state: 'done',
      counts: { same: 9, differing: 1 },
      differences: { samples: [{ field: 'oil_rate', here: 3, there: 55 }] },
    });
  });

  test('a well that changes each time fails, and says so', async () => {
    await using given = await scene();
    const { proxy, engine, restate } = given;
    const always = async (): Promise<void> => {
      await restate();
      proxy.after = always;
    };
    proxy.after = always;
    expect(await engine.run(verificationJobName, verified, [UWI])).toMatchObject({
      state: 'failed',
      failures: [{ target: UWI, code: 'changed-meanwhile' }],
      counts: {},
    });
  });
});
