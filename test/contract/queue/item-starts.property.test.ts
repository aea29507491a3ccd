/** Starts of work, and the course of an item whose workers die. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import type { PlannedUnit } from '../../../src/core/run/run.ts';
import { createItemStarts } from '../../../src/queue/redis/run-progress.ts';
import { WorkGate, workItem } from '../../../src/runs/chunk-worker.ts';
import type { UnsettledUnit } from '../../../src/runs/job.ts';
import { deferred } from '../../support/deferred.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { queueForms } from '../../support/queue-forms.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

// Asks Redis itself.
it('starts of work go by themselves', async () => {
  const [redis, prefix] = [new Redis(sharedRedisUrl()), `test-${randomUUID()}`];
  await createItemStarts(redis, prefix).begin('run', { chunk: 1 });
  expect(await redis.ttl(`${prefix}:run:run:starts`)).toBeGreaterThan(0);
  redis.disconnect();
});

describe.each(queueForms)('starts of work in $name', (form) => {
  const stores = form.stores(`test-${randomUUID()}`);
  const { starts, progress } = stores;
  let runs = 0;
  const newRun = (): string => `run-${(runs += 1)}`;
  afterAll(() => stores.close());

  it('are counted until one of them ends, each work for itself', async () => {
    const run = newRun();
    const begun: number[] = [];
    for (const work of [{ chunk: 1 }, { chunk: 1 }, { unit: 1 }, { chunk: 1 }])
      begun.push(await starts.begin(run, work));
    expect(begun).toEqual([0, 1, 0, 2]);
    await starts.end(run, { chunk: 1 });
    expect(await starts.begin(run, { chunk: 1 })).toBe(0);
    expect(await starts.ofUnits(run)).toEqual(new Map([[1, 1]]));
  });

  it('are forgotten with the progress of their run', async () => {
    const run = newRun();
    await starts.begin(run, { chunk: 1 });
    await progress.forget(run);
    expect(await starts.begin(run, { chunk: 1 })).toBe(0);
  });

  /** One process that works the item: resolves with what it left, or with `died` once it works a unit that kills. */
  async function startProcess(
    run: string,
    open: readonly PlannedUnit[],
    killers: ReadonlySet<number>,
    done: Set<number>,
  ) {
    const { promise: died, resolve } = deferred<'died'>();
    const work = async (units: readonly PlannedUnit[], noteProgress: () => Promise<void>) => {
      if (units.some(({ unit }) => killers.has(unit))) {
        resolve('died');
        return deferred<readonly UnsettledUnit[]>().promise;
      }
      for (const { unit } of units) done.add(unit);
      await noteProgress();
      return [];
    };
    const item = { runId: run, generation: 0, chunk: 0 };
    const left = workItem(item, open, { starts, gate: new WorkGate(), work, onSingly: () => {} });
    return Promise.race([left, died]);
  }

  it('G7: units that kill their worker fail after five starts or three more each, and all others are done', async () => {
    await expectForAllAsync(
      fc.asyncProperty(fc.uniqueArray(fc.nat(5), { maxLength: 4 }), async (killing) => {
        const run = newRun();
        const killers = new Set(killing);
        const done = new Set<number>();
        const all = Array.from({ length: 6 }, (_, unit): PlannedUnit => ({
          unit,
          chunk: 0,
          target: `well ${unit}`,
          spec: {},
        }));
        let deaths = 0;
        for (;;) {
          const open = all.filter(({ unit }) => !done.has(unit));
          const left = await startProcess(run, open, killers, done);
          if (left === 'died') {
            deaths += 1;
            continue;
          }
          expect(new Set(left.map(({ unit }) => unit.unit))).toEqual(killers);
          expect(left.every(({ error }) => (error as { code?: string }).code === 'worker-died')).toBe(true);
          break;
        }
        expect(done.size).toBe(6 - killers.size);
        expect(deaths).toBe(killers.size === 0 ? 0 : 2 + 3 * killers.size);
      }),
      10,
    );
  });

  it('G7: an item that settles something before each kill is never worked singly, nor condemned', async () => {
    const run = newRun();
    const unit = { unit: 0, chunk: 0, target: 'a file', spec: {} };
    for (let kill = 0; kill < 8; kill += 1) {
      const { promise: killed, resolve } = deferred<'killed'>();
      const work = async (_: readonly PlannedUnit[], noteProgress: () => Promise<void>) => {
        await noteProgress();
        resolve('killed');
        return deferred<readonly UnsettledUnit[]>().promise;
      };
      const onSingly = (): void => expect.unreachable('it is worked singly');
      const item = { runId: run, generation: 0, chunk: 0 };
      await Promise.race([workItem(item, [unit], { starts, gate: new WorkGate(), work, onSingly }), killed]);
    }
    expect(await starts.begin(run, { chunk: 0 })).toBe(0);
  });
});
