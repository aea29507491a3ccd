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
});
