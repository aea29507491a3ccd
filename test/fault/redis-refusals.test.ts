/** A Redis that answers and refuses: workers pause, ask little, say so once, and go on when it is over. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { OutageJournal } from '../../src/runs/outage-journal.ts';
import { createRunQueue } from '../../src/queue/redis/run-queue.ts';
import { startWorkers } from '../../src/queue/redis/workers.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';

const lack = privateRedisLack();
const patiently = { timeout: 60_000, interval: 100 };

/** Commands by which an operator brings a refusal about, and ends it. */
const refusals = [
  [
    'no replica left',
    ['CONFIG SET min-replicas-to-write 1'],
    ['CONFIG SET min-replicas-to-write 0'],
    'no replica follows',
  ],
  ['become a replica', ['REPLICAOF 127.0.0.1 1'], ['REPLICAOF NO ONE'], 'work waits for Redis'],
  [
    'taken a right from them',
    ['ACL SETUSER wells -bzpopmin -evalsha'],
    ['ACL SETUSER wells +bzpopmin +evalsha'],
    'its user may not do',
  ],
] as const;

async function refusedSoFar(redis: Redis): Promise<number> {
  return Number(/total_error_replies:(\d+)/.exec(await redis.info('stats'))?.[1]);
}

async function scene(url: string) {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const address = { redis: { url }, prefix: `t-${randomUUID()}`, service: 's' };
  const queue = await createRunQueue(address, 'lasting');
  const done: string[] = [];
  const workers = await startWorkers({
    address,
    settings: {
      queues: ['export', 'push', 'cleanup'],
      chunkConcurrency: () => 2,
      retry: { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 },
      graceMs: 200,
    },
    handlers: {
      coordinate: async (runId) => {
        done.push(runId);
        return { kind: 'finished' };
      },
      work: async () => ({ kind: 'settled' }),
    },
    log,
    outages: new OutageJournal(log),
  });
  return {
    lines,
    async work(runId: string): Promise<void> {
      await queue.submit(runId, 0);
      await vi.waitFor(() => expect(done).toContain(runId), patiently);
    },
    async [Symbol.asyncDispose]() {
      await workers.stop();
      await queue.close();
    },
  };
}

describe.skipIf(lack !== undefined)(
  `workers whose Redis refuses them${lack === undefined ? '' : ` (skipped: ${lack})`}`,
  () => {
    it.concurrent.each(refusals)(
      'G7: workers whose Redis has %s pause, and go on when it is over',
      async (_, begin, end, words) => {
        await using server = await startPrivateRedis({ appendonly: false });
        const operator = new Redis(server.url);
        const command = async (text: string): Promise<void> => {
          const [name = '', ...rest] = text.split(' ');
          await operator.call(name, ...rest);
        };
        await command('ACL SETUSER wells on >pass ~* &* +@all');
        {
          await using workers = await scene(server.url.replace('//', '//wells:pass@'));
          await workers.work('before');
          for (const each of begin) await command(each);
          await vi.waitFor(() => expect(workers.lines.join('')).toContain(words), patiently);
          const before = await refusedSoFar(operator);
          const atMs = performance.now();
          await vi.waitFor(async () => expect(await refusedSoFar(operator)).toBeGreaterThan(before + 1), patiently);
          const seconds = Math.max(1, (performance.now() - atMs) / 1_000);
          // Four workers that ask without a pause are thousands a second.
          expect(((await refusedSoFar(operator)) - before) / seconds).toBeLessThan(60);
          for (const each of end) await command(each);
          await workers.work('after');
          expect(workers.lines.filter((line) => line.includes('"level":"warn"')).length).toBeLessThan(8);
          expect(workers.lines.join('')).not.toMatch(/"level":"error"|stack|pass\b/);
        }
        operator.disconnect();
      },
    );
  },
);
