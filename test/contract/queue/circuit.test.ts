/** The circuit, which holds back the requests of all workers while the service is down. */
import { describe, expect, it } from 'vitest';
import { AbortedError, TransientError } from '../../../src/core/base/errors.ts';
import type { FailedRequest, SharedLimiter } from '../../../src/queue/limiter.ts';
import { limiterForms, never } from '../../support/limiters.ts';

type Pair = [SharedLimiter, SharedLimiter];

function failed(name: string): FailedRequest {
  return { name, fault: `${name} answered 503`, hasNoConnection: false };
}

/** Requests to five wells fail, some in each process. */
async function breakDown([one, other]: readonly SharedLimiter[]): Promise<void> {
  for (const [place, well] of ['A', 'B', 'C', 'D', 'E'].entries()) {
    await (place % 2 === 0 ? one : other)?.recordFailure(failed(`GET /${well}`));
  }
}

describe.each(limiterForms)('the circuit of a service, in $form', ({ openScene }) => {
  it('opens for all workers when different requests fail in a row, and lets one try at a time', async () => {
    await using scene = await openScene();
    const pair = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    const [one, other] = pair;
    await breakDown(pair);
    expect(await scene.holds.readOutage()).toMatchObject({ fault: 'GET /E answered 503' });
    const entered: string[] = [];
    const callers = ['first', 'second', 'third', 'fourth'].map(async (name, place) => {
      const leave = await (place % 2 === 0 ? one : other).enter(never);
      entered.push(name);
      return leave;
    });
    await expect.poll(() => entered.length, { timeout: 60_000 }).toBe(1);
    // Its answer is not there yet: the others stay back, although there are places.
    await expect(other.enter(AbortSignal.timeout(1_500))).rejects.toBeInstanceOf(AbortedError);
    expect(entered).toHaveLength(1);
    one.recordAnswer();
    const leaveFirst = await Promise.race(callers);
    leaveFirst();
    for (const leave of await Promise.all(callers)) leave();
    expect(await scene.holds.readOutage()).toBeUndefined();
  });

  it('is not closed by an answer of the moment before the failures', async () => {
    await using scene = await openScene();
    const [worker] = (await scene.limiters(1, { concurrency: 8 })) as [SharedLimiter];
    worker.recordAnswer();
    await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(async (well) => worker.recordFailure(failed(`GET /${well}`))));
    await expect(worker.enter(AbortSignal.timeout(200))).rejects.toBeInstanceOf(AbortedError);
    expect(await scene.holds.readOutage()).toBeDefined();
  });

  it('waits longer after each request that tried and failed', async () => {
    await using scene = await openScene();
    const pair = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    await breakDown(pair);
    const pausesMs: number[] = [];
    for (let trial = 0; trial < 3; trial += 1) {
      const leave = await pair[0].enter(never);
      // Nothing is known of a request without a connection: it is sent again.
      expect(await pair[0].recordFailure({ ...failed('GET /A'), hasNoConnection: true })).toBe(true);
      pausesMs.push((await scene.holds.readOutage())?.nextTryMs ?? 0);
      leave();
    }
    expect(pausesMs).toEqual(pausesMs.toSorted((left, right) => left - right));
    expect(pausesMs[2]).toBeGreaterThan(2_000);
  });

  it('lets the request that tried fail by itself where it was answered badly: what nobody gets answered ends', async () => {
    await using scene = await openScene();
    const pair = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    await breakDown(pair);
    const leave = await pair[0].enter(never);
    expect(await pair[0].recordFailure(failed('GET /A'))).toBe(false);
    leave();
    expect(await scene.holds.readOutage()).toMatchObject({ fault: 'GET /A answered 503' });
    // Another one that was sent before says nothing of itself.
    expect(await pair[1].recordFailure(failed('GET /B'))).toBe(true);
  });

  it('stays closed however often one request fails, and when another is answered in between', async () => {
    await using scene = await openScene();
    const [one, other] = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect(await one.recordFailure(failed('GET /A'))).toBe(false);
    }
    for (const well of ['B', 'C', 'D', 'E', 'F', 'G', 'H']) {
      (await other.enter(never))();
      other.recordAnswer();
      (await other.enter(never))();
      expect(await one.recordFailure(failed(`GET /${well}`))).toBe(false);
    }
  });

  it('opens for a run of one request that cannot even connect', async () => {
    await using scene = await openScene();
    const [one] = await scene.limiters(1, { concurrency: 8 });
    const refused = { name: 'GET /A', fault: 'reached nobody', hasNoConnection: true };
    const isDown: (boolean | undefined)[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) isDown.push(await one?.recordFailure(refused));
    expect(isDown).toEqual([false, false, true]);
  });

  it('G7: lets another request try where the process of the one that tried has died', async () => {
    await using scene = await openScene();
    const pair = (await scene.limiters(2, { concurrency: 8, leaseMs: 300 })) as Pair;
    await breakDown(pair);
    await pair[0].enter(never);
    await pair[0].close();
    await expect(pair[1].enter(never)).resolves.toBeDefined();
  });

  it('ends requests that waited for as long as the longest hold, with what the service last did', async () => {
    await using scene = await openScene();
    const pair = (await scene.limiters(2, { concurrency: 8, maxHoldMs: 10 })) as Pair;
    await breakDown(pair);
    const trial = await pair[0].enter(never);
    await pair[0].recordFailure(failed('GET /E'));
    trial();
    const error = await pair[0].enter(never).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(TransientError);
    expect(error).toMatchObject({ code: 'service-down', serviceDown: true });
    expect(String(error)).toMatch(/the service is down since \S+ \S+Z, and all requests wait: GET \/E answered 503$/);
  });

  it('ends the request of a command where one may try only later, and has it fail as it would', async () => {
    await using scene = await openScene();
    const workers = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    const [command] = (await scene.limiters(1, { concurrency: 8, maxWaitMs: 1 })) as [SharedLimiter];
    await breakDown(workers);
    await expect(command.enter(never)).rejects.toMatchObject({ code: 'service-down' });
    expect(await command.recordFailure(failed('GET /A'))).toBe(false);
  });

  it('is told once when it opens and once when it closes, and is closed by an operator', async () => {
    await using scene = await openScene();
    const told: string[] = [];
    const outages = {
      down: (_part: string, reason: string) => told.push(`down: ${reason}`),
      up: () => void told.push('up'),
    };
    const [one, other] = (await scene.limiters(2, { concurrency: 8 })) as Pair;
    const [telling] = (await scene.limiters(1, { concurrency: 8, outages })) as [SharedLimiter];
    await breakDown([one, other]);
    const leave = one.enter(never);
    const waiting = telling.enter(never);
    await expect.poll(() => told.length, { timeout: 60_000 }).toBeGreaterThan(0);
    await scene.holds.lift();
    (await leave)();
    (await waiting)();
    expect(new Set(told)).toEqual(new Set(['down: GET /E answered 503', 'up']));
    expect(told.filter((line) => line === 'up')).toHaveLength(1);
  });

  it('is not waited for by a process that stops', async () => {
    await using scene = await openScene();
    const stop = new AbortController();
    const pair = (await scene.limiters(2, { concurrency: 8, stopping: stop.signal })) as Pair;
    await breakDown(pair);
    const trial = await pair[0].enter(never);
    const waiting = pair[0].enter(never);
    stop.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    trial();
  });
});
