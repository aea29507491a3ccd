/** Items that nothing of wellsync added, in its own queues: given up in words, beside items that are worked. */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { queueName } from '../../../src/queue/redis/queue-names.ts';
import { startWorkers } from '../../../src/queue/redis/workers.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const service = 'http://pds.example.com';
const patiently = { timeout: 30_000, interval: 20 };
const open: Array<{ close(): Promise<void> }> = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

/** Workers of queues of their own, with what they log and what they take. */
async function scene() {
  const address = { redis: { url: sharedRedisUrl() }, prefix: `foreign-${randomUUID()}`, service };
  const logged: string[] = [];
  const taken: unknown[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(line) });
  const running = await startWorkers({
    address,
    outages: new OutageJournal(log),
    settings: {
      queues: ['export'],
      chunkConcurrency: () => 2,
      retry: { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 20, maxHoldMs: 1_000 },
      graceMs: 5_000,
    },
    handlers: {
      coordinate: async (runId) => {
        taken.push(runId);
        return { kind: 'finished' };
      },
      work: async (item) => {
        taken.push(item);
        return { kind: 'settled' };
      },
    },
    log,
  });
  open.push({ close: () => running.stop() });
  const redis = new Redis(sharedRedisUrl());
  open.push({ close: async () => redis.disconnect() });
  const queueOf = (name: 'runs' | 'export'): Queue => {
    const queue = new Queue(queueName(name, service), { connection: redis, prefix: address.prefix });
    open.push(queue);
    return queue;
  };
  return { logged, taken, runs: queueOf('runs'), chunks: queueOf('export') };
}

test.each([
  ['null', null, 'its data has no object'],
  ['an empty object', {}, 'its data has a wrong runId'],
  ['wrong types', { runId: 7, round: 'x', chunk: -1 }, 'its data has a wrong runId'],
  ['a run id of a megabyte', { runId: 'r'.repeat(1_000_000), round: 0, chunk: 0 }, 'longer than 4096 bytes'],
  ['ten megabytes', { runId: 'r', pad: 'x'.repeat(10_000_000) }, 'longer than 4096 bytes'],
])('an item with %s is given up in a short line, and the next one is worked', async (_, data, words) => {
  const { logged, taken, runs, chunks } = await scene();
  await runs.add('coordinate', data, { jobId: `a-${'i'.repeat(1_000)}` });
  await chunks.add('chunk', data, { jobId: 'b-1' });
  await vi.waitFor(() => expect(logged.filter((line) => line.includes(words))).toHaveLength(2), patiently);
  for (const line of logged) {
    expect(line.length).toBeLessThan(500);
    expect(line).not.toContain('stack');
  }
  await chunks.add('chunk', { runId: 'r', round: 0, chunk: 1 }, { jobId: 'r-0-1' });
  await vi.waitFor(() => expect(taken).toEqual([{ runId: 'r', generation: 0, chunk: 1 }]), patiently);
});
