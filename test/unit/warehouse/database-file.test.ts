import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LoggedRows, rowGroupRows, rowsThatFit, WorkLine } from '../../../src/warehouse/duckdb/file/database-file.ts';

/** The rows with which the log is brought in, for commits of these sizes. */
function fillings(commits: readonly number[]): readonly number[] {
  const logged = new LoggedRows();
  const found: number[] = [];
  let rows = 0;
  for (const commit of commits) {
    rows += commit;
    if (!logged.takeIn(commit)) continue;
    found.push(rows);
    rows = 0;
  }
  return found;
}

const times = (count: number, rows: number): readonly number[] => Array.from({ length: count }, () => rows);

describe('the log of a DuckDB file', () => {
  it.each([
    [times(10, 29_600), [118_400, 118_400]],
    [times(4, 60_000), [120_000, 120_000]],
    [times(4, 48_000), [96_000, 96_000]],
    [times(2, 300_000), [300_000, 300_000]],
    [times(100, 700), []],
    [times(1_000, 0), []],
  ])('is brought in once its rows fill three quarters of a row group', (commits, expected) => {
    expect(fillings(commits)).toEqual(expected);
  });

  it('has room behind the commits that wait, which may bring it in', () => {
    expect(rowsThatFit(0, [])).toBe(rowGroupRows);
    expect(rowsThatFit(20_000, [30_000, 7])).toBe(rowGroupRows - 50_007);
    expect(rowsThatFit(60_000, [60_000])).toBe(rowGroupRows);
    expect(rowsThatFit(60_000, [60_000, 1_000, 2_000])).toBe(rowGroupRows - 3_000);
    expect(rowsThatFit(0, [500_000])).toBe(rowGroupRows);
  });

  it('leaves no row groups that the engine would write again while the file is open, whatever sizes the commits have', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 70_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, (commits) => {
        const logged = new LoggedRows();
        const filled: number[] = [];
        for (const most of commits) {
          const rows = Math.min(most, rowsThatFit(logged.rows, []));
          const before = logged.rows;
          if (logged.takeIn(rows)) filled.push(before + rows);
        }
        // One of two, two of three, or three of four.
        for (const count of [2, 3, 4]) {
          for (let from = 0; from + count <= filled.length; from += 1) {
            const rows = filled.slice(from, from + count).reduce((sum, each) => sum + each, 0);
            expect(rows).toBeGreaterThan((count - 1) * rowGroupRows);
          }
        }
        expect(Math.max(0, ...filled)).toBeLessThanOrEqual(rowGroupRows);
      }),
    );
  });
});

/** Work that ends when it is told to, and says when it began. */
function workOf(begun: string[]) {
  const ends = new Map<string, () => void>();
  return {
    named: (name: string) => async (): Promise<string> => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    },
    end: (name: string) => ends.get(name)?.(),
  };
}

it('one piece of work is done at a time, short work before the long work that waits', async () => {
  const begun: string[] = [];
  const { named, end } = workOf(begun);
  const line = new WorkLine();
  const first = line.do(named('rows 1'), 'long');
  const all = [
    line.do(named('rows 2'), 'long'),
    line.do(named('rows 3'), 'long'),
    line.do(named('start of a chunk')),
    line.do(named('end of a chunk')),
  ];
  expect(begun).toEqual(['rows 1']);
  end('rows 1');
  await first;
  const order = ['start of a chunk', 'end of a chunk', 'rows 2', 'rows 3'];
  for (const [place, name] of order.entries()) {
    await expect.poll(() => begun.slice(1)).toEqual(order.slice(0, place + 1));
    end(name);
  }
  expect(await Promise.all(all)).toEqual(['rows 2', 'rows 3', 'start of a chunk', 'end of a chunk']);
});

it('long work has its turn although short work never ends', async () => {
  const line = new WorkLine();
  const over = new AbortController();
  const short = async (): Promise<void> => {
    while (!over.signal.aborted) await line.do(() => new Promise((resolve) => setImmediate(resolve)));
  };
  const streams = [short(), short()];
  await line.do(async () => over.abort(), 'long');
  await Promise.all(streams);
  expect(over.signal.aborted).toBe(true);
});

it('work that fails rejects for its caller alone', async () => {
  const line = new WorkLine();
  const failed = line.do(() => Promise.reject(new Error('the disk is full')));
  const next = line.do(async () => 'done');
  await expect(failed).rejects.toThrow('the disk is full');
  expect(await next).toBe('done');
});
