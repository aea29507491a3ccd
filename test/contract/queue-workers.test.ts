import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ChunkVerdict } from '../../src/core/verdict.ts';
import type { ChunkItem, QueueHandlers, RunningWorkers, RunQueue } from '../../src/queue/port.ts';
import { createRunQueue } from '../../src/queue/run-queue.ts';
import { startWorkers } from '../../src/queue/workers.ts';
import { deferred } from '../support/deferred.ts';
import { sharedRedisUrl } from '../support/redis.ts';

const log = pino({ level: 'silent' });
const retry = { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 20, maxHoldMs: 1_000 };

describe('queue items', () => {
  const open: Array<{ close(): Promise<void> }> = [];
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close();
  });

  async function newQueue(prefix: string): Promise<RunQueue> {
    const queue = await createRunQueue({ url: sharedRedisUrl(), prefix, kind: 'lasting' });
    open.push(queue);
    return queue;
  }

  async function workers(prefix: string, handlers: Partial<QueueHandlers>, graceMs = 5_000): Promise<RunningWorkers> {
    const running = await startWorkers({
      url: sharedRedisUrl(),
      prefix,
      settings: { queues: ['export'], chunkConcurrency: 2, retry, graceMs },
      handlers: { conduct: async () => ({ kind: 'finished' }), work: async () => ({ kind: 'settled' }), ...handlers },
      log,
    });
    open.push({ close: () => running.stop() });
    return running;
  }

  async function openRun(queue: RunQueue, chunks: number): Promise<void> {
    const all = Array.from({ length: chunks }, (_, chunk) => chunk);
    await queue.board.open('r', { queue: 'export', round: 0, units: chunks, settledUnits: 0, counts: {}, chunks: all });
  }

  /** Replies with the verdicts in turn, the last one for ever, and resolves when so many calls were made. */
  function scripted(calls: number, ...verdicts: ChunkVerdict[]) {
    const seen: Array<{ item: ChunkItem; attempt: number; atMs: number }> = [];
    const { promise: called, resolve } = deferred();
    const work: QueueHandlers['work'] = async (item, attempt) => {
      seen.push({ item, attempt, atMs: performance.now() });
      if (seen.length === calls) resolve();
      return verdicts[Math.min(seen.length, verdicts.length) - 1] as ChunkVerdict;
    };
    return { work, seen, called };
  }

  it('a conductor is called again until its run is finished', async () => {
    const prefix = `test-${randomUUID()}`;
    let looks = 0;
    const { promise: finished, resolve } = deferred();
    await workers(prefix, {
      conduct: async () => {
        looks += 1;
        if (looks < 3) return { kind: 'again', delayMs: 5 };
        resolve();
        return { kind: 'finished' };
      },
    });
    await (await newQueue(prefix)).submit('r', 0);
    await finished;
    expect(looks).toBe(3);
  });

  it('G1: a run that is submitted twice has one conductor', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await Promise.all([queue.submit('r', 0), queue.submit('r', 0)]);
    expect(await queue.isSubmitted('r', 0)).toBe(true);
    expect(await queue.isSubmitted('r', 1)).toBe(false);
    let looks = 0;
    const { promise: other, resolve } = deferred();
    await workers(prefix, {
      conduct: async (runId) => {
        if (runId === 'r') looks += 1;
        else resolve();
        return { kind: 'finished' };
      },
    });
    await queue.submit('later', 0);
    await other;
    expect(looks).toBe(1);
  });

  it('a wave adds so many chunks and no chunk twice', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 5);
    expect(await queue.addWave('r', 2)).toBe(2);
    expect(await queue.addWave('r', 9)).toBe(3);
    expect(await queue.addWave('r', 9)).toBe(0);
    const { work, seen, called } = scripted(5, { kind: 'settled' });
    await workers(prefix, { work });
    await called;
    expect(seen.map((call) => call.item.chunk).toSorted((left, right) => left - right)).toEqual([0, 1, 2, 3, 4]);
  });

  it('a verdict of retry comes back after its delay, as the next attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    const { work, seen, called } = scripted(2, { kind: 'retry', delayMs: 200 }, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.addWave('r', 1);
    await called;
    expect(seen.map((call) => call.attempt)).toEqual([1, 2]);
    expect((seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(190);
  });

  it('G7: a verdict of hold makes the whole queue wait and uses no attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 4);
    const { work, seen, called } = scripted(5, { kind: 'hold', delayMs: 400 }, { kind: 'settled' });
    await queue.addWave('r', 4);
    await workers(prefix, { work });
    await called;
    expect(seen.every((call) => call.attempt === 1)).toBe(true);
    // Two were begun at one time; the other three came after the hold.
    const afterHold = seen.filter((call) => call.atMs - (seen[0]?.atMs ?? 0) >= 350);
    expect(afterHold).toHaveLength(3);
  });

  it('G7: a stop hands back what does not finish within its grace, and another worker takes it as the same attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.addWave('r', 1);
    const { promise: begun, resolve: begin } = deferred();
    const first = await workers(
      prefix,
      {
        work: (_item, _attempt, signal) =>
          new Promise((resolve) => {
            begin();
            signal.addEventListener('abort', () => resolve({ kind: 'hand-back' }));
          }),
      },
      50,
    );
    await begun;
    await first.stop();
    expect(await queue.standings('r')).toMatchObject([{ standing: 'waiting' }]);
    const { work, seen, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await called;
    expect(seen[0]?.attempt).toBe(1);
  });

  it('an item whose handler meets a bug is given up, with the reason', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await workers(prefix, { work: () => Promise.reject(new TypeError('x is not a function')) });

    await queue.addWave('r', 1);
    await vi.waitFor(async () =>
      expect(await queue.standings('r')).toMatchObject([
        { standing: 'failed', reason: expect.stringContaining('x is not a function') },
      ]),
    );
  });

  it('an item that Redis lost is said to be gone, and can be added again', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.addWave('r', 1);
    const redis = new Redis(sharedRedisUrl());
    const itemKeys = await redis.keys(`${prefix}:export:*`);
    await redis.del(...itemKeys);
    redis.disconnect();
    const [lost] = await queue.standings('r');
    expect(lost?.standing).toBe('gone');
    const { work, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.addAgain('export', [{ runId: 'r', round: 0, chunk: 0 }]);
    await called;
  });

  it('counts the workers that listen at each queue', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 0 });
    await workers(prefix, {});
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 1 });
  });

  it('remembers since when the service is silent, for all workers, until it is heard again', async () => {
    const prefix = `test-${randomUUID()}`;
    const [one, two] = [await newQueue(prefix), await newQueue(prefix)];
    await one.noteDown('export');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await two.noteDown('export')).toBeGreaterThanOrEqual(15);
    await two.noteUp('export');
    expect(await one.noteDown('export')).toBeLessThan(15);
  });
});
