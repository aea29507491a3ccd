import { expect, it } from 'vitest';
import { WorkLine } from '../../../src/warehouse/duckdb/file/database-file.ts';

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
