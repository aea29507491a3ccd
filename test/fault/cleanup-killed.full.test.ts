/** A cleanup under every fault at once: refusals, connections lost after the deletion, and killed workers. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { queueKinds } from '../../src/core/run/warehouse-queue.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cleanupField, deletedAt } from '../support/cleanup-field.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { queuedRun } from '../support/queued-run.ts';
import { deferred } from '../support/deferred.ts';

const targetCount = 10_000;
const shares = [0.15, 0.4, 0.7];
const faults = { tooManyRequests: 0.02, unavailable: 0.02, resetAfterStoring: 0.02 };
const config = `
service: { concurrency: 8, retry: { baseDelayMs: 20, maxDelayMs: 200 } }
queue: { baseDelayMs: 100, maxDelayMs: 1000 }
cleanup: { maxTargets: ${targetCount}, maxShareOfWellsPercent: 100 }
`;

const reportSchema = z.object({
  state: z.string(),
  units: z.record(z.string(), z.number()),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean(), statement: z.string() }),
  durationMs: z.number(),
});

async function json(home: CliHome, args: readonly string[]): Promise<unknown> {
  const { stdout, stderr, code } = await home.run([...args, '--json']);
  if (stdout === '') throw new Error(`wellsync ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Counts the requests to the service, and resolves at given numbers of deletions. */
function milestones() {
  const marks = shares.map((share) => ({ at: Math.round(share * targetCount), reached: deferred() }));
  const asked = { reads: 0, deletions: 0 };
  return {
    marks,
    asked,
    onRequest(method: string) {
      if (method === 'GET') asked.reads += 1;
      else asked.deletions += 1;
      for (const { at, reached } of marks) if (asked.deletions === at) reached.resolve();
    },
  };
}

test.each(queueKinds)(
  'G1, G2, G6, G7: deletions under refusals, resets and three kills end each in one outcome, touch nothing else, and the audit proves it (queue: %s)',
  async (queue) => {
    const field = cleanupField(targetCount);
    const { marks, asked, onRequest } = milestones();
    await using server = await startTestingServer({
      assets: field.assets,
      retryAfterSeconds: 0,
      onRequest: ({ method }) => {
        onRequest(method);
        return undefined;
      },
    });
    await using home = await cliHome(server.url, { queue });
    const configFile = await home.write('cleanup.yaml', config);
    const file = await home.write('targets.csv', field.csv);
    const command = ['--config', configFile];

    const { planId } = z
      .object({ planId: z.string() })
      .parse(await json(home, ['cleanup', '--file', file, ...command]));
    const runId = await queuedRun(home, queue, ['cleanup', '--yes', '--apply', planId, ...command]);
    if (queue === 'redis') expect(server.state.deletions()).toEqual([]);
    server.state.setOptions({ faults });

    for (const { reached } of marks) {
      const worker = home.start(['worker', ...command]);
      await reached.promise;
      worker.signal('SIGKILL');
      await worker.ended;
    }
    const last = home.start(['worker', ...command]);
    const report = reportSchema.parse(await json(home, ['runs', 'show', runId, '--wait', ...command]));
    last.signal('SIGTERM');
    await last.ended;
    const took = `${Math.round(report.durationMs / 1_000)} s, ${asked.reads} reads and ${asked.deletions} deletions asked for`;
    console.log(`${report.balance.statement}; took ${took}`);

    expect(report).toMatchObject({
      state: 'done',
      units: { total: targetCount, done: targetCount },
      balance: { balanced: true },
    });
    expect(report.counts['alreadyGone']).toBeGreaterThan(0);
    expect(report.counts['stillThere']).toBeUndefined();
    expect(deletedAt(server.state.deletions())).toEqual(field.targets);
    const outcomes = "SELECT unit, count(*) AS n FROM deletion_audit WHERE event = 'outcome' GROUP BY unit";
    expect(await json(home, ['query', `SELECT count(*) AS units, max(n) AS most FROM (${outcomes})`])).toEqual([
      { units: targetCount, most: 1 },
    ]);
    const early = `SELECT count(*) AS n FROM deletion_audit o WHERE event = 'outcome' AND NOT EXISTS (
      FROM deletion_audit i WHERE i.unit = o.unit AND i.event = 'intent' AND i.seq < o.seq)`;
    expect(await json(home, ['query', early])).toEqual([{ n: 0 }]);
    expect(await json(home, ['audit', 'verify'])).toMatchObject({ intact: true, broken: null });
  },
);
