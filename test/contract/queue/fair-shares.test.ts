/** Shares of the runs in the requests to a service, counted as they are let in, over processes that wait for each other. */
import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { SharedLimiter } from '../../../src/queue/limiter.ts';
import { sleep } from '../../../src/timers/sleep.ts';
import { limiterForms } from '../../support/limiters.ts';

interface Field {
  /** The runs of the requests, in the order in which they were let in. */
  readonly letIn: readonly string[];
  /** So many callers of a run in each of these processes, until the field ends. */
  work(runId: string, processes: readonly SharedLimiter[], callers: number): void;
  end(): Promise<void>;
}

/** Requests that take `requestMs` each. */
function field(requestMs: (runId: string) => number): Field {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const letIn: string[] = [];
  const callers: Promise<void>[] = [];
  const callOnAndOn = async (runId: string, limiter: SharedLimiter): Promise<void> => {
    while (!stop.signal.aborted) {
      const leave = await limiter.enter(stop.signal, runId).catch(() => undefined);
      if (leave === undefined) return;
      letIn.push(runId);
      await sleep(requestMs(runId));
      leave();
    }
  };
  return {
    letIn,
    work(runId, processes, count) {
      for (const limiter of processes) {
        for (let caller = 0; caller < count; caller += 1) callers.push(callOnAndOn(runId, limiter));
      }
    },
    end: async () => {
      stop.abort();
      await Promise.all(callers);
    },
  };
}

const shareOf = (runId: string, letIn: readonly string[]): number =>
  letIn.filter((each) => each === runId).length / letIn.length;

/** The requests that follow the first of a run: about a second of them at 8 places and 50 ms. */
const aSecond = 160;

describe.each(limiterForms)('the share of a run in the requests, in $form', ({ openScene }) => {
  it.each([
    ['in a process that works them all', [0], [0], [0]],
    ['in another process than they', [0, 1], [0, 1], [2]],
    ['while they are on four hosts', [0, 1, 2, 3], [1], [3]],
  ] as const)('is a third from its first second beside two large ones, %s', async (_title, exports, pushes, small) => {
    await using scene = await openScene();
    const processes = await scene.limiters(4, { concurrency: 8 });
    const some = (places: readonly number[]) => processes.filter((_, place) => places.includes(place));
    const requests = field(() => 50);
    requests.work('export', some(exports), 16);
    requests.work('push', some(pushes), 8);
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(100);
    requests.work('small', some(small), 16);
    await expect.poll(() => requests.letIn.includes('small'), { timeout: 60_000 }).toBe(true);
    const first = requests.letIn.indexOf('small');
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(first + 2 * aSecond);
    await requests.end();
    expect(shareOf('small', requests.letIn.slice(first, first + aSecond))).toBeGreaterThan(0.8 / 3);
    expect(shareOf('small', requests.letIn.slice(first + aSecond, first + 2 * aSecond))).toBeGreaterThan(0.8 / 3);
    // Nor does it take the share of the others.
    expect(shareOf('push', requests.letIn.slice(first))).toBeGreaterThan(0.6 / 3);
    expect(shareOf('export', requests.letIn.slice(first))).toBeGreaterThan(0.6 / 3);
  });

  it('is counted in requests, however long those of the others take', async () => {
    await using scene = await openScene();
    const [one, other] = (await scene.limiters(2, { concurrency: 4 })) as [SharedLimiter, SharedLimiter];
    const requests = field((runId) => (runId === 'slow' ? 60 : 20));
    requests.work('slow', [one], 8);
    requests.work('quick', [other], 8);
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(200);
    await requests.end();
    expect(shareOf('slow', requests.letIn.slice(50))).toBeGreaterThan(0.4);
    expect(shareOf('quick', requests.letIn.slice(50))).toBeGreaterThan(0.4);
  });

  it('is all of them for a run that is alone, and for one whose neighbour wants fewer', async () => {
    await using scene = await openScene();
    const [one, other] = (await scene.limiters(2, { concurrency: 4 })) as [SharedLimiter, SharedLimiter];
    const requests = field(() => 20);
    requests.work('large', [one], 8);
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(50);
    requests.work('one at a time', [other], 1);
    const before = requests.letIn.length;
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(before + 200);
    await requests.end();
    expect(shareOf('large', requests.letIn.slice(before))).toBeGreaterThan(0.6);
    expect(shareOf('one at a time', requests.letIn.slice(before))).toBeGreaterThan(0.05);
  });

  it('G7: a run goes on beside one whose process died while it waited', async () => {
    await using scene = await openScene();
    const [dead, alive] = (await scene.limiters(2, { concurrency: 2 })) as [SharedLimiter, SharedLimiter];
    const requests = field(() => 20);
    requests.work('of the living', [alive], 4);
    requests.work('of the dead', [dead], 4);
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(20);
    await dead.close();
    const before = requests.letIn.length;
    await expect.poll(() => requests.letIn.length, { timeout: 60_000 }).toBeGreaterThan(before + 50);
    await requests.end();
  });
});
