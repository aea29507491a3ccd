import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/base/errors.ts';
import { ReadingPlaces } from '../../../../jobs/daily-production/row-budget.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('G8: no more readings of a run are under way than there are places, and every one gets its turn', async () => {
  const readers = fc.array(
    fc.record({ runId: fc.constantFrom('a' as const, 'b' as const), chunkNo: fc.nat(3), turns: fc.nat(3) }),
    {
      maxLength: 20,
    },
  );
  await fc.assert(
    fc.asyncProperty(readers, fc.integer({ min: 1, max: 5 }), async (each, count) => {
      const places = new ReadingPlaces(count);
      const underWay = { a: 0, b: 0 };
      const done = await Promise.all(
        each.map(({ runId, chunkNo, turns }, index) =>
          places.during({ runId, chunkNo, signal: never }, async () => {
            underWay[runId] += 1;
            expect(underWay[runId]).toBeLessThanOrEqual(count);
            for (let left = turns; left > 0; left -= 1) await turn();
            underWay[runId] -= 1;
            return index;
          }),
        ),
      );
      expect(done).toEqual(each.map((_, index) => index));
    }),
    { numRuns: 200 },
  );
});

/** Readings of one turn each; returns their names in the order in which they began. */
async function order(places: ReadingPlaces, readers: ReadonlyArray<readonly [runId: string, chunkNo: number]>) {
  const begun: string[] = [];
  await Promise.all(
    readers.map(([runId, chunkNo]) =>
      places.during({ runId, chunkNo, signal: never }, async () => {
        begun.push(`${runId}${chunkNo}`);
        await turn();
      }),
    ),
  );
  return begun;
}

it('the oldest chunk of a run is read first', async () => {
  const begun = await order(new ReadingPlaces(2), [
    ['a', 1],
    ['a', 2],
    ['a', 2],
    ['a', 1],
    ['a', 1],
  ]);
  expect(begun).toEqual(['a1', 'a2', 'a1', 'a1', 'a2']);
});

it('a small run that comes late begins at once beside a large one', async () => {
  const begun = await order(new ReadingPlaces(2), [
    ['large', 1],
    ['large', 1],
    ['large', 1],
    ['large', 1],
    ['small', 9],
  ]);
  expect(begun.slice(0, 3)).toEqual(['large1', 'large1', 'small9']);
});

it('a reading that fails gives its place back, and one that is aborted leaves the line', async () => {
  const places = new ReadingPlaces(1);
  const ender = new AbortController();
  const failing = places.during({ runId: 'a', chunkNo: 1, signal: never }, async () => {
    await turn();
    throw new Error('the service is down');
  });
  const aborted = places.during({ runId: 'a', chunkNo: 1, signal: ender.signal }, () => Promise.resolve('never'));
  const last = places.during({ runId: 'a', chunkNo: 1, signal: never }, () => Promise.resolve('read'));
  ender.abort();
  await expect(aborted).rejects.toBeInstanceOf(AbortedError);
  await expect(failing).rejects.toThrow('the service is down');
  await expect(last).resolves.toBe('read');
});
