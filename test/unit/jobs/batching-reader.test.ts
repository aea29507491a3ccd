import { describe, expect, it } from 'vitest';
import { readInBatches } from '../../../jobs/exports.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const unitsOf = (count: number) =>
  Array.from({ length: count }, (_, unit) => ({ unit, chunk: 0, target: '', spec: null }));

describe('commits of a chunk', () => {
  it('a full batch is committed before more is read, and the rest at the end', async () => {
    const batches: number[][] = [];
    let isCommitting = false;
    await readInBatches<number>(unitsOf(10), {
      concurrency: 1,
      maxWeight: 4,
      weigh: () => 1,
      async read({ unit }) {
        await turn();
        expect(isCommitting).toBe(false);
        return unit;
      },
      async commit(readings) {
        isCommitting = true;
        batches.push([...readings]);
        await turn();
        isCommitting = false;
      },
    });
    expect(batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
  });

  it('a commit that fails leaves its units, and the next goes on', async () => {
    let count = 0;
    const left = await readInBatches<number>(unitsOf(6), {
      concurrency: 1,
      maxWeight: 4,
      weigh: () => 1,
      read: ({ unit }) => turn().then(() => unit),
      async commit() {
        count += 1;
        await turn();
        if (count === 1) throw new Error('the disk is full');
      },
    });
    expect(left.map(({ unit: { unit } }) => unit)).toEqual([0, 1, 2, 3]);
  });

  it('a commit has the oldest readings that fit, one at least, and the others are in the next', async () => {
    const batches: number[][] = [];
    const weights = [3, 3, 9, 1, 1, 1, 1];
    const fitting = [5, 2, 4];
    await readInBatches<number>(unitsOf(weights.length), {
      concurrency: 1,
      maxWeight: 6,
      weigh: (unit) => weights[unit] ?? 0,
      mostFitting: () => fitting[batches.length] ?? 6,
      read: ({ unit }) => turn().then(() => unit),
      async commit(readings) {
        batches.push([...readings]);
        await turn();
      },
    });
    expect(batches).toEqual([[0], [1], [2], [3, 4, 5, 6]]);
  });

  it('G8: what is read and not committed stays below a batch for each reader and one more, however much does not fit', async () => {
    const weight = 3;
    let [inMemory, most] = [0, 0];
    await readInBatches<number>(unitsOf(300), {
      concurrency: 2,
      maxWeight: 10,
      weigh: () => weight,
      mostFitting: () => 5,
      async read({ unit }) {
        await turn();
        inMemory += weight;
        most = Math.max(most, inMemory);
        return unit;
      },
      async commit(readings) {
        await turn();
        inMemory -= weight * readings.length;
      },
    });
    expect(inMemory).toBe(0);
    expect(most).toBeLessThanOrEqual(2 * 10 + 2 * weight);
  });

  it('a commit that fails leaves its units alone, also where not all fit', async () => {
    let count = 0;
    const left = await readInBatches<number>(unitsOf(5), {
      concurrency: 1,
      maxWeight: 3,
      weigh: () => 1,
      mostFitting: () => 2,
      read: ({ unit }) => turn().then(() => unit),
      async commit() {
        count += 1;
        if (count === 2) throw new Error('the warehouse was closed');
      },
    });
    expect(left.map(({ unit: { unit } }) => unit)).toEqual([2, 3]);
  });
});
