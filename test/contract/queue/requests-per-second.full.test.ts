/** The limit of requests per second, counted where they arrive, from processes of their own. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { sharedRedisUrl } from '../../support/redis.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { sleep } from '../../../src/timers/sleep.ts';

/** 50 and what is sent up to 40 ms late make 53; the rest is what the way through a busy machine may shift. */
const mostPerSecond = 56;
const measuredMs = 12_000;

/** Most of these instants that lie within one second. */
function mostInASecond(instantsMs: readonly number[]): number {
  const counts = instantsMs.map((begin) => instantsMs.filter((at) => at >= begin && at < begin + 1_000).length);
  return Math.max(...counts);
}

interface Callers extends AsyncDisposable {
  /** Processes that have not ended. */
  living(): number;
}

/** So many processes of eight callers each; they work when it resolves, and end with `await using`. */
async function callers(processes: number, env: Readonly<Record<string, string>>): Promise<Callers> {
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['test/support/limited-callers.mjs'], {
      env: { ...env, CALLERS: '8', RATE: '50', PREFIX: `test-${env['PREFIX']}`, REDIS: sharedRedisUrl() },
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

describe('the receiver of requests at a limit of 50 per second', () => {
  it.each(['8', '32'])('G9: gets no burst from four processes with %s places', async (concurrency) => {
    const arrivedMs: number[] = [];
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
    expect(most).toBeLessThanOrEqual(mostPerSecond);
    expect(arrivedMs.length).toBeGreaterThan(50);
  });

  it('G9: gets nothing during a Retry-After, and no burst after it', async () => {
    const arrivedMs: number[] = [];
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
    expect(most).toBeLessThanOrEqual(mostPerSecond);
  });
});
