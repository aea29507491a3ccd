/** A push that resumes from its checkpoint, and meets at once what it met before: to resume is no progress. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { queueKinds } from '../../src/core/run/warehouse-queue.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type RunningCommand } from '../support/cli.ts';
import { queuedRun } from '../support/queued-run.ts';

const pipes = 1_000;
const chunkItems = 50;
/** In the middle of a chunk, behind chunks whose checkpoints are passed. */
const guilty = 'P320';
const chunksBefore = Math.floor(320 / chunkItems);
/**
 * Two starts that settle nothing, then three of the pipe alone (src/core/run/retry-decision.ts). A start that passes a chunk
 * before it dies begins the count anew; up to two that did not may come before it.
 */
const mostDeaths = chunksBefore * 3 + 2 + 3;
/**
 * In each of three attempts the chunk is halved to one pipe, which is sent alone twice more, each request twice. The halves may open
 * the circuit of the service: the attempt is held then, and begins anew.
 */
const mostBreaks = 3 * 2 * (2 * (1 + Math.ceil(Math.log2(chunkItems)) + 2));
const config = `
service: { retry: { attempts: 2, baseDelayMs: 10, maxDelayMs: 20 } }
queue: { attempts: 3, baseDelayMs: 20, maxDelayMs: 50 }
push: { chunkItems: ${chunkItems}, checkpointMs: 1, concurrency: 1 }
`;

const file = ['sourceNetworkId,sourceId', ...Array.from({ length: pipes }, (_, index) => `N,P${index}`)].join('\n');

const reportSchema = z.object({
  state: z.string(),
  counts: z.record(z.string(), z.number()),
  failures: z.array(z.object({ code: z.string() })),
});

it.each(queueKinds)(
  'G1, G7: ends after its attempts where the service breaks over one pipe whenever it gets it (queue: %s)',
  async (queue) => {
    let breaks = 0;
    await using server = await startTestingServer({
      rejectPipe: ({ sourceId }) => {
        if (sourceId !== guilty) return false;
        breaks += 1;
        throw new Error('the service breaks');
      },
    });
    await using home = await cliHome(server.url, { config, queue });
    const args = ['push', 'network-pipes', await home.write('pipes.csv', file), '--json'];
    const { stdout, stderr } = await home.run(queue === 'embedded' ? args : [...args, '--inline']);
    expect(stdout, stderr).not.toBe('');
    const { state, counts } = reportSchema.parse(JSON.parse(stdout));
    expect({ state, counts }).toMatchObject({ state: 'done', counts: { rows: pipes, accepted: pipes - 1, failed: 1 } });
    expect(breaks).toBeLessThanOrEqual(mostBreaks);
  },
);

it.each(queueKinds)(
  'G7: fails with words where it kills its worker whenever it comes to one pipe (queue: %s)',
  async (queue) => {
    let worker: RunningCommand | undefined;
    await using server = await startTestingServer({
      rejectPipe: ({ sourceId }) => {
        if (sourceId === guilty) worker?.signal('SIGKILL');
        return false;
      },
    });
    await using home = await cliHome(server.url, { config, queue });
    // Nothing is sent before the worker that is to be killed is there.
    server.state.setOptions({ latencyMs: 3_600_000 });
    const runId = await queuedRun(home, queue, ['push', 'network-pipes', await home.write('pipes.csv', file)]);
    server.state.setOptions({ latencyMs: 0 });
    const following = home.start(['runs', 'show', runId, '--wait', '--json']);
    let deaths = 0;
    for (; deaths <= mostDeaths; deaths += 1) {
      worker = home.start(['worker']);
      const first = await Promise.race([worker.ended.then(() => 'worker'), following.ended.then(() => 'run')]);
      if (first === 'run') break;
    }
    worker?.signal('SIGTERM');
    expect(deaths).toBeLessThanOrEqual(mostDeaths);
    const { failures } = reportSchema.parse(JSON.parse((await following.ended).stdout));
    expect(failures).toMatchObject([{ code: 'worker-died' }]);
  },
);
