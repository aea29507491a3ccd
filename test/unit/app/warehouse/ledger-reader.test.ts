/** What clients see of a warehouse that is opened seldom, or is away. */
import { describe, expect, test } from 'vitest';
import { directReader, RationedReader } from '../../../../src/app/warehouse/last-known.ts';
import { TransientError, UsageError } from '../../../../src/core/base/errors.ts';
import { deferred } from '../../../support/deferred.ts';

const busy = new TransientError('warehouse-busy', 'another process has the file');

/** A warehouse that counts how often it is opened: for all reads of one turn together. */
function seldomOpened(everyMs: number) {
  const clock = { now: 1_000_000 };
  const reads: string[] = [];
  const reader = new RationedReader({ everyMs, now: () => clock.now });
  const read = (key: string, value: unknown = key) =>
    reader.read([key], async () => {
      reads.push(key);
      if (value instanceof Error) throw value;
      return value;
    });
  return { clock, reads, read };
}

describe('beside a worker', () => {
  test('the last known result is shown with its time, until the file may be opened again', async () => {
    const { clock, reads, read } = seldomOpened(10_000);
    const first = await read('runs', 1);
    expect(first).toEqual({ value: 1, atMs: 1_000_000 });
    clock.now += 9_999;
    expect(await read('runs', 2)).toEqual(first);
    expect(reads).toEqual(['runs']);
    clock.now += 1;
    expect(await read('runs', 2)).toEqual({ value: 2, atMs: 1_010_000 });
  });

  test('whatever else is asked for meanwhile waits for the next opening, each once', async () => {
    const { reads, read } = seldomOpened(50);
    await read('runs');
    const answers = await Promise.all([read('run a'), read('run b'), read('run a')]);
    expect(answers.map(({ value }) => value)).toEqual(['run a', 'run b', 'run a']);
    expect(reads).toEqual(['runs', 'run a', 'run b']);
  });

  test('what nobody has seen yet waits for a second, and what was seen is shown until it is old', async () => {
    const { clock, reads, read } = seldomOpened(10_000);
    await read('runs');
    clock.now += 1_000;
    await read('run a');
    await read('runs');
    expect(reads).toEqual(['runs', 'run a']);
    clock.now += 9_000;
    await read('runs');
    expect(reads).toEqual(['runs', 'run a', 'runs']);
  });

  test('a file that is held shows what was known before; what was not known is refused with its reason', async () => {
    const { clock, read } = seldomOpened(10);
    await read('runs', 1);
    clock.now += 60_000;
    expect(await read('runs', busy)).toEqual({ value: 1, atMs: 1_000_000, fault: busy });
    clock.now += 60_000;
    await expect(read('run a', busy)).rejects.toBe(busy);
    clock.now += 60_000;
    const wrong = new UsageError('not a cursor');
    await expect(read('runs', wrong)).rejects.toBe(wrong);
  });

  test('it keeps the last results of a hundred questions', async () => {
    const { clock, read } = seldomOpened(10);
    for (let index = 0; index <= 100; index += 1) {
      await read(`run ${index}`);
      clock.now += 10;
    }
    await expect(read('run 0', busy)).rejects.toBe(busy);
    clock.now += 10;
    expect(await read('run 1', busy)).toMatchObject({ value: 'run 1', fault: busy });
  });
});

test('what two questions are about keeps their answers apart', async () => {
  const reader = new RationedReader({ now: () => 0 });
  await reader.read(['well', 'page W 1'], async () => 'of the one');
  expect(await reader.read(['well page', 'W 1'], async () => 'of the other')).toMatchObject({ value: 'of the other' });
});

test('of many that ask the same at once, those that come during a read share the next one', async () => {
  const reader = directReader(() => 7);
  const begun: number[] = [];
  const { promise: held, resolve: letGo } = deferred();
  const read = (who: number) =>
    reader.read(['runs'], async () => {
      begun.push(who);
      await held;
      if (who === 2) throw new Error('of the second');
      return who;
    });
  const [first, second, third] = [read(1), read(2), read(3)];
  const ended = Promise.allSettled([first, second, third]);
  letGo();
  const values = await ended;
  expect(begun).toEqual([1, 2]);
  expect(values.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await read(4)).toEqual({ value: 4, atMs: 7 });
  expect(begun).toEqual([1, 2, 4]);
});

test('a process that has the warehouse to itself reads it at every request', async () => {
  let count = 0;
  const reader = directReader(() => 7);
  const read = () => reader.read(['runs'], async () => (count += 1));
  expect([await read(), await read()]).toEqual([
    { value: 1, atMs: 7 },
    { value: 2, atMs: 7 },
  ]);
});
