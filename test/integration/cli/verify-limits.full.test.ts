/** G9: a verification beside an export, counted at the service: both keep the limits together, and each has its share. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { sleep } from '../../../src/timers/sleep.ts';
import { cliHome } from '../../support/cli.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';

const wells = 300;
const concurrency = 4;
const requestsPerSecond = 60;
const latencyMs = 20;
const reportSchema = z.object({
  exitCode: z.number(),
  durationMs: z.number(),
  counts: z.object({ read: z.number(), same: z.number().optional(), requests: z.number() }),
});

test('G9: a verification keeps the limits beside an export, which goes on', async () => {
  const data = generatedDaily({ seed: 5, wells, fromDay: '2024-01-01', toDay: '2024-12-31' });
  await using source = await startTestingServer({ data });
  const arrivals: number[] = [];
  let [active, mostActive] = [0, 0];
  await using server = await startScriptedServer(async ({ url }) => {
    arrivals.push(performance.now());
    active += 1;
    mostActive = Math.max(mostActive, active);
    try {
      await sleep(latencyMs);
      const answer = await fetch(`${source.url}${url}`);
      return { status: answer.status, body: await answer.text(), headers: { 'content-type': 'application/json' } };
    } finally {
      active -= 1;
    }
  });
  const config = `service: { concurrency: ${concurrency}, requestsPerSecond: ${requestsPerSecond} }\n`;
  await using home = await cliHome(server.baseUrl, { config });
  for (let host = 0; host < 2; host += 1) await home.start(['worker']).hears('Working');
  const list = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  const range = ['--from', '2024-01-01', '--to', '2024-12-31'];
  const whole = ['export', 'daily-production', '--wells', list, ...range];
  const run = async (args: readonly string[]) => {
    const { stdout, stderr } = await home.run([...args, '--wait', '--json']);
    expect(stdout, stderr).not.toBe('');
    return reportSchema.parse(JSON.parse(stdout));
  };
  const measured = async (what: string, work: () => Promise<readonly z.output<typeof reportSchema>[]>) => {
    const [before, fromMs] = [arrivals.length, performance.now()];
    mostActive = 0;
    const reports = await work();
    const seconds = (performance.now() - fromMs) / 1_000;
    const own = arrivals.slice(before);
    const most = own.reduce((high, atMs) => {
      return Math.max(high, own.filter((other) => other >= atMs && other < atMs + 1_000).length);
    }, 0);
    const each = reports.map(({ counts, durationMs }) => `${counts.requests} in ${(durationMs / 1_000).toFixed(1)} s`);
    console.log(
      `${what}: ${own.length} requests in ${seconds.toFixed(1)} s (${each.join(' and ')}); at most ${mostActive} at a time, ${most} in a second`,
    );
    expect(mostActive).toBeLessThanOrEqual(concurrency);
    // Requests are spread evenly when they are sent, and come at a busy machine a little closer.
    expect(most).toBeLessThanOrEqual(requestsPerSecond * 1.2);
    return reports;
  };
  await measured('export alone', async () => [await run(whole)]);
  const [alone] = await measured('verify alone', async () => [await run(['verify', ...range])]);
  expect(alone).toMatchObject({ exitCode: 0, counts: { read: alone?.counts.same } });
  const [night, verified] = await measured('verify beside an export', () =>
    Promise.all([run(whole), run(['verify', ...range])]),
  );
  expect([night?.exitCode, verified?.exitCode]).toEqual([0, 0]);
  const [{ requests: requestsAlone = 0, ...recordsAlone } = {}, { requests = 0, ...records } = {}] = [
    alone?.counts,
    verified?.counts,
  ];
  expect(records).toEqual(recordsAlone);
  // On a busy machine a request may be sent again.
  expect(Math.abs(requests - requestsAlone)).toBeLessThanOrEqual(requestsAlone / 100);
});
