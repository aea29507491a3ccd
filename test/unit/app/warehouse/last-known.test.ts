/** What pages show of a warehouse that is away. */
import { expect, test, vi } from 'vitest';
import { directReader, LastKnownReader, ReadsOfPage } from '../../../../src/app/warehouse/last-known.ts';
import { OutageError, UsageError } from '../../../../src/core/base/errors.ts';

const busy = new OutageError('warehouse', 'warehouse-busy', 'process 9994 holds the warehouse');

/** A warehouse that answers with its own value, or by a fault. */
function warehouseUnderTest(maxBytes = 1_000) {
  const clock = { now: 1_000_000 };
  const state: { fault: Error | undefined; value: unknown; reads: number } = { fault: undefined, value: 1, reads: 0 };
  const reader = new LastKnownReader(
    directReader(() => clock.now),
    { now: () => clock.now, maxBytes },
  );
  const read = (key: string) =>
    reader.read([key], async () => {
      state.reads += 1;
      if (state.fault !== undefined) throw state.fault;
      return state.value;
    });
  return { clock, state, reader, read };
}

test('each read is a new one while the warehouse answers', async () => {
  const { state, read } = warehouseUnderTest();
  await read('runs');
  state.value = 2;
  expect(await read('runs')).toEqual({ value: 2, atMs: 1_000_000 });
});

test('of a warehouse that is away the last known result is shown with its time and the fault, at once, until it is back', async () => {
  const { clock, state, read } = warehouseUnderTest();
  await read('runs');
  state.fault = busy;
  clock.now += 60_000;
  const known = { value: 1, atMs: 1_000_000, fault: busy };
  expect(await read('runs')).toEqual(known);
  state.fault = undefined;
  state.value = 2;
  // Shown before the warehouse has answered, whose answer is that of the next one.
  expect(await read('runs')).toEqual(known);
  await vi.waitFor(async () => expect(await read('runs')).toEqual({ value: 2, atMs: 1_060_000 }));
});

test('what is not known is refused with the reason, and the warehouse is not waited for by each', async () => {
  const { clock, state, read } = warehouseUnderTest();
  state.fault = busy;
  for (let index = 0; index < 3; index += 1) await expect(read('runs')).rejects.toBe(busy);
  expect(state.reads).toBe(1);
  clock.now += 5_000;
  await expect(read('runs')).rejects.toBe(busy);
  expect(state.reads).toBe(2);
});

test('what is not known does not wait for a warehouse that is away', async () => {
  const { clock, state, reader, read } = warehouseUnderTest();
  state.fault = busy;
  await expect(read('runs')).rejects.toBe(busy);
  clock.now += 60_000;
  // A lock that is waited for: the answer comes while this read has none.
  let settle: (value: number) => void = () => undefined;
  const waiting = new Promise<number>((resolve) => (settle = resolve));
  await expect(reader.read(['run page'], () => waiting)).rejects.toBe(busy);
  settle(2);
  // It is back, which the read that waited has found.
  state.fault = undefined;
  await vi.waitFor(async () => expect(await read('runs')).toEqual({ value: 1, atMs: clock.now }));
  expect(await reader.read(['run page'], async () => 3)).toMatchObject({ value: 3 });
});

test('what is not known is shown at once where the warehouse is back', async () => {
  const { clock, state, read } = warehouseUnderTest();
  state.fault = busy;
  await expect(read('runs')).rejects.toBe(busy);
  state.fault = undefined;
  clock.now += 60_000;
  expect(await read('runs')).toEqual({ value: 1, atMs: clock.now });
  expect(state.reads).toBe(2);
});

test('a fault of the request itself is its answer', async () => {
  const { state, read } = warehouseUnderTest();
  await read('runs');
  state.fault = new UsageError('not a cursor');
  await expect(read('runs')).rejects.toBe(state.fault);
});

test('memory is bounded: what was read longest ago goes', async () => {
  const { clock, state, read } = warehouseUnderTest(1_000);
  state.value = { rows: ['x'.repeat(400)] };
  for (const key of ['a', 'b', 'a', 'c']) await read(key);
  state.fault = busy;
  await expect(read('a')).resolves.toMatchObject({ fault: busy });
  await expect(read('c')).resolves.toMatchObject({ fault: busy });
  await expect(read('b')).rejects.toBe(busy);
  // One that is larger than all is not kept.
  state.fault = undefined;
  state.value = 'x'.repeat(2_000);
  clock.now += 5_000;
  expect(await read('d')).not.toHaveProperty('fault');
  state.fault = busy;
  await expect(read('d')).rejects.toBe(busy);
});

test('a page is as old as the oldest of its data, beside what stands in its frame', async () => {
  const { clock, state, reader, read } = warehouseUnderTest();
  await read('well');
  state.fault = busy;
  await read('well');
  clock.now += 1;
  const page = new ReadsOfPage(reader);
  expect(await page.readAside(['service'], async () => 1)).toBe(undefined);
  expect(page.fault).toBe(busy);
  await page.read(['well'], async () => 1);
  expect(page.asOfMs).toBe(1_000_000);
});
