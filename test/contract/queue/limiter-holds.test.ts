/** The hold that a Retry-After puts on the requests of all workers. */
import { describe, expect, it } from 'vitest';
import { AbortedError, ServiceHoldError } from '../../../src/core/base/errors.ts';
import type { ServiceHold } from '../../../src/core/run/service-hold.ts';
import type { SharedLimiter } from '../../../src/queue/limiter.ts';
import { sleep } from '../../../src/timers/sleep.ts';
import { limiterForms, never } from '../../support/limiters.ts';

type Pair = [SharedLimiter, SharedLimiter];

describe.each(limiterForms)('a hold of the service, in $form', ({ openScene }) => {
  it('G9: a Retry-After received by one worker pauses all workers', async () => {
    await using scene = await openScene();
    const [told, other] = (await scene.limiters(2, { concurrency: 2 })) as Pair;
    const heldAtMs = await scene.nowMs();
    await told.pauseAll(400);
    await told.pauseAll(10);
    (await other.enter(never))();
    expect((await scene.nowMs()) - heldAtMs).toBeGreaterThanOrEqual(400);
  });

  it('G9: a Retry-After holds requests of the same process that wait for a lease, from the moment that it is met', async () => {
    await using scene = await openScene();
    const [worker] = (await scene.limiters(1, { concurrency: 1 })) as [SharedLimiter];
    const leave = await worker.enter(never);
    const waiting = worker.enter(never);
    const heldAtMs = await scene.nowMs();
    await scene.loseScripts();
    const held = worker.pauseAll(400);
    leave();
    (await waiting)();
    expect((await scene.nowMs()) - heldAtMs).toBeGreaterThanOrEqual(400);
    await held;
  });

  it('G9: a Retry-After holds requests that wait for their time of sending already', async () => {
    await using scene = await openScene();
    const [told, other] = (await scene.limiters(2, { concurrency: 9, requestsPerSecond: 0.5 })) as Pair;
    const first = await other.enter(never);
    const waiting = other.enter(never);
    await sleep(200);
    const heldAtMs = await scene.nowMs();
    await told.pauseAll(2_500);
    for (const leave of [first, await waiting]) leave();
    expect((await scene.nowMs()) - heldAtMs).toBeGreaterThanOrEqual(2_500);
  });

  it.each([60_001, 1e12, 100 * 365.25 * 86_400_000, Number.MAX_SAFE_INTEGER / 10])(
    'G9: a Retry-After of %s ms ends requests with the time that was asked for, and holds all until the bound',
    async (askedMs) => {
      await using scene = await openScene();
      const [told, other] = (await scene.limiters(2, { concurrency: 2, maxHoldMs: 60_000 })) as Pair;
      const nowMs = await scene.nowMs();
      await expect(told.pauseAll(askedMs)).rejects.toBeInstanceOf(ServiceHoldError);
      const error = await other.enter(never).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'service-hold', action: { kind: 'release-service' } });
      const hold = await scene.holds.read();
      expect(hold?.isTooLong).toBe(true);
      expect(hold?.leftMs).toBeLessThanOrEqual(60_000);
      expect(hold?.untilMs).toBeLessThanOrEqual((await scene.nowMs()) + 60_000);
      expect(hold?.askedUntilMs).toBeGreaterThanOrEqual(nowMs + askedMs);
    },
  );

  it('G9: no request goes before the bound of a Retry-After that is longer, and then they go again', async () => {
    await using scene = await openScene();
    const [told, other] = (await scene.limiters(2, { concurrency: 2, maxHoldMs: 500 })) as Pair;
    const heldAtMs = await scene.nowMs();
    await expect(told.pauseAll(1e12)).rejects.toBeInstanceOf(ServiceHoldError);
    await expect.poll(() => other.enter(never).catch(() => undefined)).toBeDefined();
    expect((await scene.nowMs()) - heldAtMs).toBeGreaterThanOrEqual(500);
  });

  it('G9: holds that follow one another are bounded together, until the service answers', async () => {
    await using scene = await openScene();
    const [worker, answered] = (await scene.limiters(2, { concurrency: 2, maxHoldMs: 400 })) as Pair;
    await worker.pauseAll(300);
    (await worker.enter(never))();
    await expect(worker.pauseAll(300)).rejects.toBeInstanceOf(ServiceHoldError);
    await expect.poll(() => scene.holds.read()).toBeUndefined();
    (await answered.enter(never))();
    await expect(answered.pauseAll(300)).rejects.toBeInstanceOf(ServiceHoldError);
    await expect.poll(() => scene.holds.read()).toBeUndefined();
    answered.recordAnswer();
    await expect(answered.pauseAll(300)).resolves.toBeUndefined();
  });

  it('G9: an answer to a process that met no hold ends the series as well: who met it may be gone', async () => {
    await using scene = await openScene();
    const [gone, other] = (await scene.limiters(2, { concurrency: 2, maxHoldMs: 400 })) as Pair;
    await gone.pauseAll(300);
    await expect.poll(() => scene.holds.read()).toBeUndefined();
    (await other.enter(never))();
    other.recordAnswer();
    await expect(other.pauseAll(300)).resolves.toBeUndefined();
  });

  it('G9: the last answer ends it too, if another one came just before', { timeout: 30_000 }, async () => {
    await using scene = await openScene();
    const [gone, other] = (await scene.limiters(2, { concurrency: 2, maxHoldMs: 20_000 })) as Pair;
    other.recordAnswer();
    await gone.pauseAll(300);
    other.recordAnswer();
    await sleep(12_000);
    await expect(other.pauseAll(19_000)).resolves.toBeUndefined();
  });

  it('answers to requests of the same moment are one hold, even of the longest time', async () => {
    await using scene = await openScene();
    const [worker] = (await scene.limiters(1, { concurrency: 2, maxHoldMs: 60_000 })) as [SharedLimiter];
    await worker.pauseAll(60_000);
    await sleep(20);
    await expect(worker.pauseAll(60_000)).resolves.toBeUndefined();
  });

  it('is told once by each process that meets it, however many requests do', async () => {
    await using scene = await openScene();
    const told: ServiceHold[] = [];
    const onHold = (hold: ServiceHold): void => void told.push(hold);
    const [one, other] = (await scene.limiters(2, { concurrency: 9, onHold })) as Pair;
    for (let answer = 0; answer < 8; answer += 1) await one.pauseAll(50_000 + answer);
    const entered = Array.from({ length: 8 }, async () => (await other.enter(never))());
    await expect.poll(() => told.length).toBeGreaterThan(1);
    await scene.holds.lift();
    await Promise.all(entered);
    expect(told).toHaveLength(2);
  });

  it('ends a request that waits for a shorter time only, with the time at which requests go again', async () => {
    await using scene = await openScene();
    const [told] = (await scene.limiters(1, { concurrency: 1 })) as [SharedLimiter];
    const [command] = (await scene.limiters(1, { concurrency: 1, maxWaitMs: 5_000 })) as [SharedLimiter];
    await told.pauseAll(50_000);
    await expect(command.enter(never)).rejects.toThrow(/^the service asked all to wait until \d{4}-\d\d-\d\d [\d:]+Z$/);
    await expect(command.pauseAll(6_000)).rejects.toBeInstanceOf(ServiceHoldError);
  });

  it('is not waited for by a process that stops', async () => {
    await using scene = await openScene();
    const stop = new AbortController();
    const [worker] = (await scene.limiters(1, { concurrency: 2, stopping: stop.signal })) as [SharedLimiter];
    await worker.pauseAll(50_000);
    const waiting = [worker.enter(never), worker.enter(never)];
    stop.abort();
    const ends = await Promise.allSettled(waiting);
    expect(ends.map((end) => end.status === 'rejected' && end.reason instanceof AbortedError)).toEqual([true, true]);
    await scene.holds.lift();
    await expect(worker.enter(never)).resolves.toBeDefined();
  });

  it('can be lifted: who waits for its end goes on', async () => {
    await using scene = await openScene();
    const [worker] = (await scene.limiters(1, { concurrency: 1 })) as [SharedLimiter];
    await worker.pauseAll(50_000);
    const entered = worker.enter(never);
    expect(await scene.holds.lift()).toMatchObject({ isTooLong: false });
    (await entered)();
    expect(await scene.holds.lift()).toBeUndefined();
  });

  it('G11: a hold, a lease and a rate of one service are none of another under the same prefix', async () => {
    await using scene = await openScene();
    const limits = { concurrency: 1, requestsPerSecond: 0.01 };
    const [one] = (await scene.limiters(1, limits)) as [SharedLimiter];
    const [other] = (await scene.limiters(1, { ...limits, service: 'http://other' })) as [SharedLimiter];
    await one.enter(never);
    await one.pauseAll(50_000);
    await expect(other.enter(never)).resolves.toBeDefined();
  });
});
