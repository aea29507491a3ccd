/** The limit of requests per second, counted where they arrive, from processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { RedisSettings } from '../../../src/queue/redis/settings.ts';
import { privateRedisLack, sharedRedisUrl } from '../../support/redis.ts';
import { startSentinelRedis } from '../../support/redis-topologies.ts';
import { type RecordedRequest, startScriptedServer } from '../../support/scripted-server.ts';
import { sleep } from '../../../src/timers/sleep.ts';

const rate = 50;
/** A second has 50 times of sending, or 51 with both of its ends, and what is sent up to 40 ms late makes 53. */
const mostPerSecond = 53;
const usuallyLateMs = 40;
const callersEach = 8;
const measuredMs = 12_000;
const none = { sent: 0, arrived: 0 };

interface Sent {
  readonly sentMs: number;
  readonly arrivedMs: number;
  /** By how much its process was late at most, shortly before. */
  readonly lateMs: number;
}

/**
 * Most requests of a second by these times, and most beyond what each second may have. What a busy machine keeps back is sent,
 * or arrives, at once: more by what could be sent in the longest travel, and in the time by which a process was late, but by
 * no more than its callers.
 */
function busiestSecond(
  requests: readonly Sent[],
  time: 'sentMs' | 'arrivedMs',
): { readonly most: number; readonly beyond: number } {
  const seconds = requests.map(({ [time]: begin }) => {
    const inIt = requests.filter(({ [time]: at }) => at >= begin && at < begin + 1_000);
    const travelMs = time === 'sentMs' ? 0 : Math.max(...inIt.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs));
    const lateMs = Math.max(0, Math.max(...inIt.map((request) => request.lateMs)) - usuallyLateMs);
    const ofTravel = Math.floor((rate * travelMs) / 1_000);
    const ofLate = Math.min(callersEach, Math.floor((rate * lateMs) / 1_000));
    return { count: inIt.length, beyond: inIt.length - mostPerSecond - ofTravel - ofLate };
  });
  return {
    most: Math.max(...seconds.map(({ count }) => count)),
    beyond: Math.max(0, ...seconds.map(({ beyond }) => beyond)),
  };
}

/** When requests were let go by their processes, and when they arrived, on the clock of this process. */
class Traffic {
  readonly #requests: Sent[] = [];

  get arrivedMs(): readonly number[] {
    return this.#requests.map(({ arrivedMs }) => arrivedMs);
  }

  note({ headers }: RecordedRequest): number {
    const arrivedMs = performance.now();
    const sentMs = Number(headers['x-sent-at-ms']) - performance.timeOrigin;
    this.#requests.push({ sentMs, arrivedMs, lateMs: Number(headers['x-late-ms']) });
    return arrivedMs;
  }

  /** The requests of the busiest second beyond what it may have, of those that arrived from `fromMs` on. */
  burst(what: string, fromMs = -Infinity): { readonly sent: number; readonly arrived: number } {
    const counted = this.#requests.filter(({ arrivedMs }) => arrivedMs >= fromMs);
    const sent = busiestSecond(counted, 'sentMs');
    const arrived = busiestSecond(counted, 'arrivedMs');
    const longestMs = Math.max(...counted.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs));
    const latestMs = Math.max(...counted.map(({ lateMs }) => lateMs));
    console.log(
      `${what}: at most ${sent.most} requests sent in any second, ${arrived.most} arrived; ${Math.round(longestMs)} ms on their way, senders ${Math.round(latestMs)} ms late`,
    );
    return { sent: sent.beyond, arrived: arrived.beyond };
  }
}

function longestPauseMs(instantsMs: readonly number[]): number {
  return Math.round(Math.max(...instantsMs.slice(1).map((at, place) => at - (instantsMs[place] ?? at))));
}

interface Callers extends AsyncDisposable {
  /** Processes that have not ended. */
  living(): number;
}

function isLiving({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** So many processes of eight callers each; they work when it resolves, and end with `await using`. */
async function callers(
  processes: number,
  env: Readonly<Record<string, string>>,
  redis: RedisSettings = { url: sharedRedisUrl() },
): Promise<Callers> {
  const common = { CALLERS: String(callersEach), RATE: String(rate), REDIS: JSON.stringify(redis) };
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['test/support/limited-callers.mjs'], {
      env: { ...env, ...common, PREFIX: `test-${env['PREFIX']}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  return {
    living: () => children.filter(isLiving).length,
    [Symbol.asyncDispose]: async () => {
      const living = children.filter(isLiving);
      const ended = living.map((child) => once(child, 'exit'));
      for (const child of living) child.kill();
      await Promise.all(ended);
    },
  };
}

const lack = privateRedisLack();

describe('the receiver of requests at a limit of 50 per second', () => {
  it.each(['8', '32'])('G9: gets no burst from four processes with %s places', async (concurrency) => {
    const traffic = new Traffic();
    await using server = await startScriptedServer((request) => {
      traffic.note(request);
      return { body: [] };
    });
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: concurrency, PREFIX: randomUUID() });
    await sleep(measuredMs);
    expect(senders.living()).toBe(4);
    const perSecond = traffic.arrivedMs.length / (measuredMs / 1_000);
    expect(traffic.burst(`${concurrency} places, ${perSecond.toFixed(1)} requests per second`)).toEqual(none);
    expect(traffic.arrivedMs.length).toBeGreaterThan(50);
  });

  it('G9: gets nothing during a Retry-After, and no burst after it', async () => {
    const traffic = new Traffic();
    let heldAtMs = Infinity;
    await using server = await startScriptedServer((request, index) => {
      const nowMs = traffic.note(request);
      if (index !== 100) return { body: [] };
      heldAtMs = nowMs;
      return { status: 429, headers: { 'retry-after': '4' } };
    });
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: '8', PREFIX: randomUUID() });
    await expect.poll(() => traffic.arrivedMs.length, { timeout: 60_000 }).toBeGreaterThan(250);
    expect(senders.living()).toBe(4);
    // Those that were admitted before the answer came are under way.
    const inHold = traffic.arrivedMs.filter((at) => at > heldAtMs + 500 && at < heldAtMs + 4_000);
    expect(inHold).toEqual([]);
    expect(traffic.burst('after a Retry-After of 4 s', heldAtMs + 4_000)).toEqual(none);
  });
});

describe.skipIf(lack !== undefined)(`the same${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  it('G9: gets no burst over two failovers of Redis', async () => {
    const traffic = new Traffic();
    await using server = await startScriptedServer((request) => {
      traffic.note(request);
      return { body: [] };
    });
    await using sentinel = await startSentinelRedis({ replicas: 3 });
    const redis = { sentinel: { nodes: sentinel.sentinels, name: sentinel.name } };
    await using senders = await callers(4, { URL: server.baseUrl, CONCURRENCY: '8', PREFIX: randomUUID() }, redis);
    const goOn = async (requests: number): Promise<void> => {
      const before = traffic.arrivedMs.length;
      await expect.poll(() => traffic.arrivedMs.length, { timeout: 120_000 }).toBeGreaterThan(before + requests);
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
    expect(traffic.burst(`over two failovers, longest pause ${longestPauseMs(traffic.arrivedMs)} ms`)).toEqual(none);
  });
});
