/** A well that kills every worker which reads it, among wells that do not. */
import { expect, it } from 'vitest';
import { queueKinds } from '../../src/core/run/warehouse-queue.ts';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type RunningCommand } from '../support/cli.ts';
import { queuedRun } from '../support/queued-run.ts';
import { startScriptedServer } from '../support/scripted-server.ts';

const config = `
service: { concurrency: 2 }
export: { chunkWells: 10 }
`;

it.each(queueKinds)(
  'G7: a well that kills its worker whenever it is read fails with words, and the wells beside it are stored (queue: %s)',
  async (queue) => {
    const data = generatedDaily({ seed: 21, wells: 6, fromDay: '2024-01-01', toDay: '2024-03-01' });
    const guilty = data.uwis[2] as string;
    let isQueuing = false;
    // Without Redis the command that was killed may have been the first of them.
    const isExpected = (deaths: number): boolean => deaths === 5 || (queue === 'embedded' && deaths === 4);
    let worker: RunningCommand | undefined;
    await using server = await startTestingServer({ data });
    await using between = await startScriptedServer(async ({ url }) => {
      if (isQueuing) return { fault: 'hang' };
      const isRead = decodeURIComponent(url).includes(`/daily/${guilty}`);
      if (isRead && worker !== undefined) {
        worker.signal('SIGKILL');
        return { fault: 'hang' };
      }
      const answer = await fetch(new URL(url, server.url));
      return { status: answer.status, body: await answer.json() };
    });
    await using home = await cliHome(between.baseUrl, { config, queue });
    const innocent = data.uwis.filter((uwi) => uwi !== guilty);
    // A profile, so that no probe meets the well.
    const probed = await home.run(['export', 'daily-production', '--uwi', innocent[0] as string, '--inline', '--json']);
    expect(probed.code, probed.stderr).toBe(0);
    const wells = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
    isQueuing = true;
    const runId = await queuedRun(home, queue, ['export', 'daily-production', '--wells', wells]);
    isQueuing = false;

    const following = home.start(['runs', 'show', runId, '--wait', '--json']);
    let deaths = 0;
    for (;;) {
      worker = home.start(['worker']);
      const first = await Promise.race([worker.ended.then(() => 'worker'), following.ended.then(() => 'run')]);
      if (first === 'run') break;
      deaths += 1;
    }
    worker.signal('SIGTERM');
    const { code, stdout } = await following.ended;
    const report = JSON.parse(stdout) as { failures: unknown; units: unknown };
    expect({ code, deaths }).toEqual({ code: 1, deaths: expect.toSatisfy(isExpected) as number });
    expect(report.units).toMatchObject({ total: 6, done: 5, failed: 1 });
    expect(JSON.stringify(report.failures)).toMatch(/worker-died.*worker\.memoryMb/);
    const stored = await home.run(['query', 'SELECT DISTINCT uwi FROM daily_production ORDER BY uwi', '--json']);
    expect((JSON.parse(stored.stdout) as Array<{ uwi: string }>).map(({ uwi }) => uwi)).toEqual(innocent.toSorted());
  },
);
