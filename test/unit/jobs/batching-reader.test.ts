import { describe, expect, it } from 'vitest';
import { CommitsUnderWay, readInBatches } from '../../../jobs/batching-reader.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const unitsOf = (count: number) =>
  Array.from({ length: count }, (_, unit) => ({ unit, chunk: 0, target: '', spec: null }));

/** Reads units of one row, one by one; each commit takes so many turns. Returns the batches, and what overlapped. */
async function readOneByOne(count: number, maxWeight: number, commits?: CommitsUnderWay) {
  const batches: number[][] = [];
  let isCommitting = false;
  let readMeanwhile = 0;
  await readInBatches<number>(unitsOf(count), {
    concurrency: 1,
    maxWeight,
    weigh: () => 1,
    ...(commits === undefined ? {} : { commits }),
    async read({ unit }) {
      await turn();
      if (isCommitting) readMeanwhile += 1;
      return unit;
    },
    async commit(readings) {
      expect(isCommitting).toBe(false);
      isCommitting = true;
      batches.push([...readings]);
      for (let left = 3; left > 0; left -= 1) await turn();
      isCommitting = false;
    },
  });
  return { batches, readMeanwhile };
}

describe('commits of a chunk', () => {
  it('a full batch is committed before more is read', async () => {
    const { batches, readMeanwhile } = await readOneByOne(10, 4);
    expect(batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    expect(readMeanwhile).toBe(0);
  });

  it('half a batch is committed while the next is read, where nothing else is committed', async () => {
    const { batches, readMeanwhile } = await readOneByOne(10, 8, new CommitsUnderWay());
    expect(batches[0]).toEqual([0, 1, 2, 3]);
    expect(batches.flat()).toEqual(unitsOf(10).map(({ unit }) => unit));
    expect(readMeanwhile).toBeGreaterThan(0);
  });

  it('a batch fills up while another chunk commits', async () => {
    const commits = new CommitsUnderWay();
    let end = (): void => undefined;
    const other = commits.during(() => new Promise<void>((resolve) => (end = resolve)));
    const { batches } = await readOneByOne(10, 8, commits);
    expect(batches).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9],
    ]);
    end();
    await other;
  });

  it('a commit that fails leaves its units, and the next goes on', async () => {
    const commits = new CommitsUnderWay();
    let count = 0;
    const left = await readInBatches<number>(unitsOf(6), {
      concurrency: 1,
      maxWeight: 4,
      commits,
      weigh: () => 1,
      read: ({ unit }) => turn().then(() => unit),
      async commit() {
        count += 1;
        await turn();
        if (count === 1) throw new Error('the disk is full');
      },
    });
    expect(left.map(({ unit: { unit } }) => unit)).toEqual([0, 1]);
    expect(commits.isIdle).toBe(true);
  });
});
