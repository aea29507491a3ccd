/**
 * A file that one host pushes, and workers of other hosts that share no folder with it: each process has a working folder
 * and a data folder of its own; the warehouse and Redis are shared, and the place of `files.url`.
 */
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { deferred } from '../support/deferred.ts';
import { pushedNetwork } from '../support/pushed-network.ts';
import { s3Secret } from '../support/s3-server.ts';
import { hostOf, sharedPlaces } from '../support/shared-files.ts';

const rows = 30_000;
const kills = 3;

const reportSchema = z.object({
  runId: z.string(),
  state: z.string(),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean() }),
});

test.each(Object.entries(sharedPlaces))(
  'G1, G2, G5, G7, G10: a file pushed through %s is worked by hosts that never saw it, and by the next one when a worker is killed',
  async (_, open) => {
    const network = pushedNetwork({ rows, wrong: 20, refused: 9, repeated: 60 });
    let requests = 0;
    let due = deferred();
    await using server = await startTestingServer({
      latencyMs: 15,
      rejectSourceIds: [...network.refusedSourceIds],
      onRequest: async () => {
        requests += 1;
        if (requests % 25 === 0) due.resolve();
        return undefined;
      },
    });
    await using place = await open();
    await using pusher = await hostOf(place, server.url);
    await using one = await hostOf(place, server.url, pusher);
    await using two = await hostOf(place, server.url, pusher);

    const file = await pusher.write('pipes.csv', network.text);
    const queued = await pusher.run(['push', 'network-pipes', file, '--json']);
    expect(queued.code, queued.stderr).toBe(0);
    const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));
    await rm(file);

    const hosts = [one, two];
    const said: string[] = [queued.stdout, queued.stderr];
    let worker = one.start(['worker', '--queues', 'push', '--log-level', 'trace']);
    for (let kill = 1; kill <= kills; kill += 1) {
      await due.promise;
      due = deferred();
      worker.signal('SIGKILL');
      said.push(...Object.values(await worker.ended).map(String));
      worker = (hosts[kill % 2] ?? two).start(['worker', '--queues', 'push', '--log-level', 'trace']);
    }
    const shown = await pusher.run(['runs', 'show', runId, '--wait', '--json']);
    worker.signal('SIGTERM');
    said.push(...Object.values(await worker.ended).map(String));

    const report = reportSchema.parse(JSON.parse(shown.stdout));
    expect(report, said.join('\n')).toMatchObject({
      state: 'done',
      balance: { balanced: true },
      counts: {
        rows: network.rowCount,
        rejectedByUs: network.wrongLines.size,
        rejectedByService: network.refusedLines.size,
      },
    });
    const stored = new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]));
    expect(stored).toEqual(network.lastBodies);
    const rejects = await pusher.run(['runs', 'rejects', runId]);
    const lines = rejects.stdout.trimEnd().split('\n').slice(1);
    const guilty = [...network.wrongLines.keys(), ...network.refusedLines.keys()];
    expect(lines.map((line) => Number.parseInt(line, 10)).toSorted((a, b) => a - b)).toEqual(
      guilty.toSorted((a, b) => a - b),
    );
    for (const text of [...said, shown.stdout, rejects.stderr]) expect(text).not.toContain(s3Secret);
  },
);

test('G7: a push waits, in words, while no worker that has its place is running', async () => {
  const network = pushedNetwork({ rows: 300, wrong: 0, refused: 0, repeated: 5 });
  await using server = await startTestingServer();
  await using place = await sharedPlaces['a shared folder']();
  await using pusher = await hostOf(place, server.url);
  await using stranger = await hostOf({ env: {}, files: '{}' }, server.url, pusher);
  await using worker = await hostOf(place, server.url, pusher);
  const file = await pusher.write('pipes.csv', network.text);
  const queued = await pusher.run(['push', 'network-pipes', file, '--json']);
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));

  const without = stranger.start(['worker', '--queues', 'push']);
  await without.hears('this host has no files.url: a worker of another may have it');
  const having = worker.start(['worker', '--queues', 'push']);
  const shown = await pusher.run(['runs', 'show', runId, '--wait', '--json']);
  expect(reportSchema.parse(JSON.parse(shown.stdout))).toMatchObject({
    state: 'done',
    counts: { rows: network.rowCount },
  });
  for (const each of [without, having]) {
    each.signal('SIGTERM');
    await each.ended;
  }
});
