/**
 * A push under every fault at once: invalid rows, pipes that the service refuses, repeated pipes, a service that
 * answers 429 and 503, resets connections after it has stored, and refuses whole chunks and too large bodies; and a
 * worker that is killed repeatedly.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { queueKinds } from '../../src/core/run/warehouse-queue.ts';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { deferred, type Deferred } from '../support/deferred.ts';
import { queuedRun } from '../support/queued-run.ts';
import { pushedNetwork, type PushedNetwork } from '../support/pushed-network.ts';

const rows = 100_000;
const kills = 5;

const reportSchema = z.object({
  state: z.string(),
  exitCode: z.number(),
  durationMs: z.number(),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean(), statement: z.string() }),
});

const chunkItems = 1_500;
const maxBodyBytes = 256 * 1_024;

const config = `
service: { retry: { attempts: 3, baseDelayMs: 20, maxDelayMs: 100 } }
queue: { baseDelayMs: 100, maxDelayMs: 400 }
push: { chunkItems: ${chunkItems}, checkpointMs: 150, concurrency: 4 }
`;

/** Resolves the next kill after every `requestsBetween` requests. */
function killsByRequests(requestsBetween: number) {
  const due: Deferred<void>[] = Array.from({ length: kills }, () => deferred());
  let requests = 0;
  return {
    due: due.map(({ promise }) => promise),
    onRequest: async () => {
      requests += 1;
      if (requests % requestsBetween === 0) due[requests / requestsBetween - 1]?.resolve();
      return undefined;
    },
    requests: () => requests,
  };
}

const rejectLine = /^((\d+),[^,]*,(?:"(?:[^"]|"")*"|[^",]*),)(.*)$/;

/** By line of the pushed file, the original cells in a rejects file. */
function rejectsOf(text: string): ReadonlyMap<number, string> {
  const [, ...lines] = text.trimEnd().split('\n');
  const entries = lines.map((line): [number, string] => {
    const [, , number = '', raw = ''] = rejectLine.exec(line) ?? [];
    return [Number(number), raw];
  });
  expect(new Set(entries.map(([line]) => line)).size).toBe(entries.length);
  return new Map(entries);
}

/** Corrects the fault in each line, as an operator would. */
function mendedRejects(text: string, mendedLines: ReadonlyMap<number, string>): string {
  return text.replaceAll(
    new RegExp(rejectLine, 'gm'),
    (_, before: string, line: string) => before + (mendedLines.get(Number(line)) ?? ''),
  );
}

function sorted(lines: ReadonlyMap<number, string>): readonly (readonly [number, string])[] {
  return [...lines].toSorted(([left], [right]) => left - right);
}

async function startKilledAgainAndAgain(home: CliHome, configFile: string, due: readonly Promise<void>[]) {
  let worker = home.start(['worker', '--queues', 'push', '--config', configFile]);
  for (const moment of due) {
    await Promise.race([moment, worker.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
    worker.signal('SIGKILL');
    await worker.ended;
    worker = home.start(['worker', '--queues', 'push', '--config', configFile]);
  }
  return worker;
}

function expectedOf(network: PushedNetwork) {
  return {
    rows: network.rowCount,
    rejectedByUs: network.wrongLines.size,
    rejectedByService: network.refusedLines.size,
  };
}

function storedIn(server: TestingServer): ReadonlyMap<string, string> {
  return new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]));
}

/**
 * Each chunk once; each guilty pipe is isolated in 2 * log2 of its chunk, plus a tenth for the faults of the service;
 * and after each kill the requests of 16 open chunks again, since their outcome was not durable yet.
 */
function mostRequests({ text, refusedLines }: PushedNetwork): number {
  const chunks = text.length / (maxBodyBytes / 2) + rows / chunkItems;
  const perGuilty = 2 * Math.ceil(Math.log2(chunkItems));
  const whole = chunks + refusedLines.size * perGuilty;
  return Math.ceil(1.1 * (whole + kills * Math.min(whole, 16 * (1 + (perGuilty * refusedLines.size) / chunks))));
}

test.each(queueKinds)(
  'G1, G2, G5, G7: a push whose worker is killed on the way balances, rejects just the guilty rows, and ends with the last version of each pipe (queue: %s)',
  async (queue) => {
    const network = pushedNetwork({ rows, wrong: 100, refused: 37, repeated: 300 });
    const { due, onRequest, requests } = killsByRequests(rows / 2_000);
    await using server = await startTestingServer({
      latencyMs: 20,
      maxBodyBytes,
      rejectSourceIds: [...network.refusedSourceIds],
      retryAfterSeconds: 0,
      faults: { tooManyRequests: 0.02, unavailable: 0.02, resetAfterStoring: 0.02 },
      onRequest,
    });
    await using home = await cliHome(server.url, { queue });
    const file = await home.write('pipes.csv', network.text);
    const configFile = await home.write('wellsync.yaml', config);

    const runId = await queuedRun(home, queue, ['push', 'network-pipes', file, '--config', configFile]);
    const worker = await startKilledAgainAndAgain(home, configFile, due);
    const shown = await home.run(['runs', 'show', runId, '--wait', '--json']);
    worker.signal('SIGTERM');
    await worker.ended;

    const report = reportSchema.parse(JSON.parse(shown.stdout));
    expect(report).toMatchObject({
      state: 'done',
      exitCode: 3,
      balance: { balanced: true },
      counts: expectedOf(network),
    });
    expect(storedIn(server)).toEqual(network.lastBodies);
    const guilty = new Map([...network.wrongLines, ...network.refusedLines]);
    const rejects = await home.run(['runs', 'rejects', runId]);
    expect(sorted(rejectsOf(rejects.stdout))).toEqual(sorted(guilty));
    expect(requests()).toBeLessThan(mostRequests(network));
    const seconds = (report.durationMs / 1_000).toFixed(1);
    console.log(`${rows} rows, ${kills} kills: ${seconds} s, ${requests()} requests; ${report.balance.statement}`);

    server.state.setOptions({ rejectSourceIds: [], faults: {} });
    const mended = await home.write('mended.csv', mendedRejects(rejects.stdout, network.mendedLines));
    const pushed = await home.run(['push', 'network-pipes', mended, '--inline', '--json', '--config', configFile]);
    expect(reportSchema.parse(JSON.parse(pushed.stdout))).toMatchObject({
      state: 'done',
      exitCode: 0,
      counts: { rows: guilty.size, accepted: guilty.size },
    });
    expect(storedIn(server)).toEqual(new Map([...network.lastBodies, ...network.mendedBodies]));
  },
);
