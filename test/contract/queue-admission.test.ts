import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, it } from 'vitest';
import { AbortedError, UnreachableError } from '../../src/core/errors.ts';
import { createAdmission, type SharedAdmission } from '../../src/queue/admission.ts';
import { sharedRedisUrl } from '../support/redis.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);

describe('leave to send a request', () => {
  const open: SharedAdmission[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });

  async function admissions(
    processes: number,
    limits: { concurrency: number; requestsPerSecond?: number; leaseMs?: number },
  ): Promise<readonly SharedAdmission[]> {
    const settings = { url: sharedRedisUrl(), prefix: `test-${randomUUID()}`, leaseMs: 5_000, ...limits };
    const made = await Promise.all(Array.from({ length: processes }, () => createAdmission(settings)));
    open.push(...made);
    return made;
  }

  it('G9: the number of requests at one time holds across all workers together', async () => {
    const workers = await admissions(3, { concurrency: 4 });
    let now = 0;
    let most = 0;
    const request = async (worker: SharedAdmission): Promise<void> => {
      const leave = await worker.enter(never);
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      leave();
    };
    await Promise.all(workers.flatMap((worker) => Array.from({ length: 30 }, () => request(worker))));
    expect(most).toBeLessThanOrEqual(4);
    expect(most).toBeGreaterThan(1);
  });

  it('G9: the requests a second hold across all workers together', async () => {
    const workers = await admissions(2, { concurrency: 50, requestsPerSecond: 20 });
    const entries: number[] = [];
    await Promise.all(
      workers.flatMap((worker) =>
        Array.from({ length: 25 }, async () => {
          const leave = await worker.enter(never);
          entries.push(performance.now());
          leave();
        }),
      ),
    );
    entries.sort((left, right) => left - right);
    // 50 requests at 20 a second: two whole windows lie between the first and the last.
    expect((entries.at(-1) as number) - (entries[0] as number)).toBeGreaterThan(1_000);
  });

  it('G9: a Retry-After that one worker was told holds all of them', async () => {
    const [told, other] = (await admissions(2, { concurrency: 2 })) as [SharedAdmission, SharedAdmission];
    await told.holdAll(400);
    await told.holdAll(10);
    const before = performance.now();
    (await other.enter(never))();
    expect(performance.now() - before).toBeGreaterThanOrEqual(350);
  });

  it('G7: the place of a worker that died is free again after its lease', async () => {
    const [dead, alive] = (await admissions(2, { concurrency: 1, leaseMs: 300 })) as [SharedAdmission, SharedAdmission];
    await dead.enter(never);
    await dead.close();
    const before = performance.now();
    (await alive.enter(never))();
    expect(performance.now() - before).toBeGreaterThan(100);
  });

  it('G9: a request that takes longer than a lease keeps its place', async () => {
    const [slow, other] = (await admissions(2, { concurrency: 1, leaseMs: 300 })) as [SharedAdmission, SharedAdmission];
    const leave = await slow.enter(never);
    const before = performance.now();
    const next = other.enter(never).then((left) => {
      left();
      return performance.now() - before;
    });
    setTimeout(leave, 900);
    expect(await next).toBeGreaterThanOrEqual(890);
  });

  it('waiting ends with an abort, and the place of one who went is given to the next', async () => {
    const [worker] = (await admissions(1, { concurrency: 1 })) as [SharedAdmission];
    const leave = await worker.enter(never);
    const gone = new AbortController();
    const waiting = worker.enter(gone.signal);
    const next = worker.enter(never);
    gone.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    leave();
    (await next)();
  });

  it('a Redis that is not there is said at once', async () => {
    const settings = { url: 'redis://127.0.0.1:1', prefix: 'test', concurrency: 1, leaseMs: 1_000 };
    await expect(createAdmission(settings)).rejects.toBeInstanceOf(UnreachableError);
  });
});
