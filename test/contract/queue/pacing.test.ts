/** Times of sending as Redis gives them out: in its own numbers, whatever this machine does meanwhile. */
import { describe, expect, it } from 'vitest';
import type { Admission, AdmissionAnswer } from '../../../src/queue/admission.ts';
import { RedisAdmission } from '../../../src/queue/redis/limiter/redis-admission.ts';
import { limiterKeys } from '../../../src/queue/redis/limiter/fair-shares-script.ts';
import { limiterScene, type RedisScene } from '../../support/limiters.ts';

interface Paced {
  readonly admissions: readonly Admission[];
  /** The next time of sending, in microseconds. */
  nextMicros(): Promise<number>;
}

function pacedBy({ redis, prefix }: RedisScene, requestsPerSecond: number): Paced {
  const keys = limiterKeys(prefix);
  const limits = { concurrency: 1_000, requestsPerSecond, leaseMs: 60_000 };
  return {
    admissions: Array.from({ length: 4 }, () => new RedisAdmission(redis, keys, limits)),
    nextMicros: async () => Number(await redis.get(keys.rate)),
  };
}

/** Asks for the leave to send one request. */
function askOnce(admission: Admission | undefined): Promise<AdmissionAnswer | undefined> {
  return Promise.resolve(admission?.ask([{ runId: 'run', requests: 1 }]));
}

/** Milliseconds until a request may be sent; undefined where it got no leave. */
function waitOf(answer: AdmissionAnswer | undefined): number | undefined {
  return answer?.kind === 'admitted' ? answer.grants[0]?.waitMs : undefined;
}

/** Most of these instants that lie within one second. */
function mostInASecond(instantsMicros: readonly number[]): number {
  const sorted = instantsMicros.toSorted((left, right) => left - right);
  const counts = sorted.map((begin, index) => sorted.slice(index).filter((at) => at < begin + 1_000_000).length);
  return Math.max(...counts);
}

describe('the pace of requests', () => {
  it.each([50, 7, 300])('G9: at most %s requests are due in any second, over four processes', async (perSecond) => {
    await using scene = await limiterScene();
    const { admissions, nextMicros } = pacedBy(scene, perSecond);
    const interval = Math.ceil(1_000_000 / perSecond);
    const due: number[] = [];
    for (let request = 0; request < 3 * perSecond; request += 1) {
      await askOnce(admissions[request % 4]);
      due.push((await nextMicros()) - interval);
    }
    expect(mostInASecond(due)).toBeLessThanOrEqual(perSecond);
    const gaps = due.slice(1).map((at, index) => at - (due[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(interval);
  });

  it('G9: the start after a hold is spread', async () => {
    await using scene = await limiterScene();
    const { admissions } = pacedBy(scene, 20);
    const [first] = admissions as [Admission];
    await first.holdAll(200, 60_000);
    await expect.poll(async () => waitOf(await askOnce(first))).toBeDefined();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, request) => askOnce(admissions[request % 4])));
    const waitsMs = answers.map((answer) => waitOf(answer) ?? Number.NaN);
    // The sixtieth is due 59 intervals of 50 ms after the first, less what the asking took.
    expect(Math.max(...waitsMs)).toBeGreaterThan(300);
    expect(new Set(waitsMs.filter((waitMs) => waitMs > 0)).size).toBeGreaterThanOrEqual(waitsMs.length / 2);
  });

  it('refuses a time of sending more than 30 seconds ahead, and reserves nothing for it', async () => {
    await using scene = await limiterScene();
    const { admissions, nextMicros } = pacedBy(scene, 0.1);
    const [admission] = admissions as [Admission];
    const answers: (AdmissionAnswer | undefined)[] = [];
    for (let request = 0; request < 8; request += 1) answers.push(await askOnce(admission));
    const granted = answers.filter((answer) => waitOf(answer) !== undefined).length;
    expect(granted).toBeLessThanOrEqual(5);
    const before = await nextMicros();
    const refused = await askOnce(admission);
    expect(refused).toMatchObject({ kind: 'admitted', grants: [], reason: 'far' });
    const delayMs = refused?.kind === 'admitted' ? refused.delayMs : 0;
    expect(delayMs > 0 && delayMs <= 30_000).toBe(true);
    expect(await nextMicros()).toBe(before);
    expect(await scene.redis.zcard(limiterKeys(scene.prefix).leases)).toBe(granted);
  });
});
