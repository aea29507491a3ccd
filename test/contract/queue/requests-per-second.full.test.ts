/** The limit of requests per second, counted where they arrive, from processes of their own. */
import { availableParallelism, loadavg } from 'node:os';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { RedisSettings } from '../../../src/queue/redis/settings.ts';
import { privateRedisLack, sharedRedisUrl } from '../../support/redis.ts';
import { startSentinelRedis } from '../../support/redis-topologies.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { sleep } from '../../../src/timers/sleep.ts';

const rate = 50;
/** A second has 50 times of sending, or 51 with both of its ends, and what is sent up to 40 ms late makes 53. */
const mostPerSecond = 53;
/** With more work than cores, what is sent up to 100 ms late makes three more. */
const moreWhereBusy = 3;
const measuredMs = 12_000;

/** Most of these instants that lie within one second. */
function mostInASecond(instantsMs: readonly number[]): number {
  const counts = instantsMs.map((begin) => instantsMs.filter((at) => at >= begin && at < begin + 1_000).length);
  return Math.max(...counts);
}

/** Notes when requests arrive, and how long this process was kept from noting them. */
function arrivals() {
  const arrivedMs: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  return {
    arrivedMs,
    /** What comes in while a busy machine keeps this process waiting arrives at once. */
    mayArriveInASecond: () => {
      const isBusy = (loadavg()[0] ?? 0) > availableParallelism();
      return mostPerSecond + (isBusy ? moreWhereBusy : 0) + Math.floor((rate * delay.max) / 1e9);
    },
  };
}

function longestPauseMs(instantsMs: readonly number[]): number {
  return Math.round(Math.max(...instantsMs.slice(1).map((at, place) => at - (instantsMs[place] ?? at))));
}

interface Callers extends AsyncDisposable {
  /** Processes that have not ended. */
  living(): number;
}

/** So many processes of eight callers each; they work when it resolves, and end with `await using`. */
async function callers(
  processes: number,
  env: Readonly<Record<string, string>>,
  redis: RedisSettings = { url: sharedRedisUrl() },
): Promise<Callers> {
  const common = { CALLERS: '8', RATE: String(rate), REDIS: JSON.stringify(redis) };
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['test/support/limited-callers.mjs'], {
      env: { ...env, ...common, PREFIX: `test-${env['PREFIX']}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  return {
    living: () => children.filter(({ exitCode }) => exitCode === null).length,
    [Symbol.asyncDispose]: async () => {
      const ended = children.map((child) => once(child, 'close'));
      for (const child of children) child.kill();
      await Promise.all(ended);
    },
  };
}

const lack = privateRedisLack();

describe('the receiver of requests at a limit of 50 per second', () => {
  it.each(['8', '32'])('G9: gets no burst from four processes with %s places', async (concurrency) => {
    const { arrivedMs, mayArriveInASecond } = arrivals();
    await using server = await startScriptedServer(() => {
      arrivedMs.push(performance.now());
      return { body: [] };
    });
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: concurrency, PREFIX: randomUUID() });
    await sleep(measuredMs);
    expect(senders.living()).toBe(4);
    const most = mostInASecond(arrivedMs);
    const perSecond = arrivedMs.length / (measuredMs / 1_000);
    console.log(`${concurrency} places: ${perSecond.toFixed(1)} requests per second, at most ${most} in any second`);
    expect(most).toBeLessThanOrEqual(mayArriveInASecond());
    expect(arrivedMs.length).toBeGreaterThan(50);
  });

  it('G9: gets nothing during a Retry-After, and no burst after it', async () => {
    const { arrivedMs, mayArriveInASecond } = arrivals();
    let heldAtMs = Infinity;
    await using server = await startScriptedServer((_, index) => {
      const nowMs = performance.now();
      arrivedMs.push(nowMs);
      if (index !== 100) return { body: [] };
      heldAtMs = nowMs;
      return { status: 429, headers: { 'retry-after': '4' } };
    });
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: '8', PREFIX: randomUUID() });
    await expect.poll(() => arrivedMs.length, { timeout: 60_000 }).toBeGreaterThan(250);
    expect(senders.living()).toBe(4);
    // Those that were admitted before the answer came are under way.
    const inHold = arrivedMs.filter((at) => at > heldAtMs + 500 && at < heldAtMs + 4_000);
    expect(inHold).toEqual([]);
    const after = arrivedMs.filter((at) => at >= heldAtMs + 4_000);
    const most = mostInASecond(after);
    console.log(`after a Retry-After of 4 s: at most ${most} in any second`);
    expect(most).toBeLessThanOrEqual(mayArriveInASecond());
  });
});

describe.skipIf(lack !== undefined)(`the same${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  it('G9: gets no burst over two failovers of Redis', async () => {
    const { arrivedMs, mayArriveInASecond } = arrivals();
    await using server = await startScriptedServer(() => {
      arrivedMs.push(performance.now());
      return { body: [] };
    });
    await using sentinel = await startSentinelRedis({ replicas: 3 });
    const redis = { sentinel: { nodes: sentinel.sentinels, name: sentinel.name } };
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: '8', PREFIX: randomUUID() }, redis);
    const goOn = async (requests: number): Promise<void> => {
      const before = arrivedMs.length;
      await expect.poll(() => arrivedMs.length, { timeout: 120_000 }).toBeGreaterThan(before + requests);
    };
    await goOn(150);
    const first = await sentinel.primary();
    await sentinel.failOver();
    await goOn(150);
    const second = await sentinel.primaryAfter(first);
    await second.kill();
    await sentinel.primaryAfter(second);
    await goOn(150);
    expect(senders.living()).toBe(4);
    const most = mostInASecond(arrivedMs);
    console.log(`over two failovers: at most ${most} in any second, longest pause ${longestPauseMs(arrivedMs)} ms`);
    expect(most).toBeLessThanOrEqual(mayArriveInASecond());
  });
});
