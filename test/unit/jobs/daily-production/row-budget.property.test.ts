import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readInBatches } from '../../../../jobs/exports.ts';
import { ReadingSlots, RowBudget, type RowReservation } from '../../../../jobs/daily-production/row-budget.ts';
import { AbortedError } from '../../../../src/core/base/errors.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);

it('G8: no more readings of a run are under way than there are slots, and every one gets its turn', async () => {
  const readers = fc.array(
    fc.record({ runId: fc.constantFrom('a' as const, 'b' as const), chunkNo: fc.nat(3), turns: fc.nat(3) }),
    {
      maxLength: 20,
    },
  );
  await fc.assert(
    fc.asyncProperty(readers, fc.integer({ min: 1, max: 5 }), async (each, count) => {
      const slots = new ReadingSlots(count);
      const underWay = { a: 0, b: 0 };
      const done = await Promise.all(
        each.map(({ runId, chunkNo, turns }, index) =>
          slots.during({ runId, chunkNo, signal: never }, async () => {
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
async function order(slots: ReadingSlots, readers: ReadonlyArray<readonly [runId: string, chunkNo: number]>) {
  const begun: string[] = [];
  await Promise.all(
    readers.map(([runId, chunkNo]) =>
      slots.during({ runId, chunkNo, signal: never }, async () => {
        begun.push(`${runId}${chunkNo}`);
        await turn();
      }),
    ),
  );
  return begun;
}

it('the oldest chunk of a run is read first', async () => {
  const begun = await order(new ReadingSlots(2), [
    ['a', 1],
    ['a', 2],
    ['a', 2],
    ['a', 1],
    ['a', 1],
  ]);
  expect(begun).toEqual(['a1', 'a2', 'a1', 'a1', 'a2']);
});

it('a small run that comes late begins at once beside a large one', async () => {
  const begun = await order(new ReadingSlots(2), [
    ['large', 1],
    ['large', 1],
    ['large', 1],
    ['large', 1],
    ['small', 9],
  ]);
  expect(begun.slice(0, 3)).toEqual(['large1', 'large1', 'small9']);
});

it('a reading that fails gives its place back, and one that is aborted leaves the line', async () => {
  const slots = new ReadingSlots(1);
  const ender = new AbortController();
  const failing = slots.during({ runId: 'a', chunkNo: 1, signal: never }, async () => {
    await turn();
    throw new Error('the service is down');
  });
  const aborted = slots.during({ runId: 'a', chunkNo: 1, signal: ender.signal }, () => Promise.resolve('never'));
  const last = slots.during({ runId: 'a', chunkNo: 1, signal: never }, () => Promise.resolve('read'));
  ender.abort();
  await expect(aborted).rejects.toBeInstanceOf(AbortedError);
  await expect(failing).rejects.toThrow('the service is down');
  await expect(last).resolves.toBe('read');
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('G8: reserved rows never exceed the budget, unless a single reservation is larger, and all are served in order', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.scheduler(), async (rows, scheduler) => {
      const budget = new RowBudget(100);
      const held = new Map<number, number>();
      const served: number[] = [];
      const users = rows.map(async (size, place) => {
        const reservation = await budget.reserve(size, never);
        served.push(place);
        held.set(place, size);
        const sum = [...held.values()].reduce((total, each) => total + each, 0);
        expect(sum <= 100 || held.size === 1).toBe(true);
        await scheduler.schedule(Promise.resolve());
        held.delete(place);
        reservation.release();
        reservation.release();
      });
      await Promise.all([...users, scheduler.waitFor(Promise.all(users))]);
      expect(served).toEqual(rows.map((_, place) => place));
    }),
  );
});

it('fewer rows than were reserved let the next one in, and an abort leaves the line', async () => {
  const budget = new RowBudget(100);
  const first = await budget.reserve(90, never);
  const gone = new AbortController();
  const aborted = budget.reserve(50, gone.signal);
  let second: RowReservation | undefined;
  void budget.reserve(60, never).then((reservation) => (second = reservation));
  await turn();
  gone.abort();
  await expect(aborted).rejects.toBeInstanceOf(AbortedError);
  await turn();
  expect(second).toBeUndefined();
  first.hold(40);
  await turn();
  expect(second).toBeDefined();
});

interface Chunk {
  /** For each reading, the reserved rows, and the rows of each page. */
  readonly readings: ReadonlyArray<readonly [reserved: number, pages: readonly number[]]>;
  readonly concurrency: number;
}

/** The current and the largest number of rows in memory. */
class InMemory {
  rows = 0;
  mostRows = 0;

  come(rows: number): void {
    this.rows += rows;
    this.mostRows = Math.max(this.mostRows, this.rows);
  }

  go(rows: number): void {
    this.rows -= rows;
  }
}

/** Works a chunk as an export does; returns the sizes of its commits. */
async function work(
  { readings, concurrency }: Chunk,
  {
    budget,
    maxWeight,
    inMemory,
    commitTurns = 1,
    mostFitting = maxWeight,
  }: {
    readonly budget: RowBudget;
    readonly maxWeight: number;
    readonly inMemory: InMemory;
    readonly commitTurns?: number;
    readonly mostFitting?: number;
  },
): Promise<readonly number[]> {
  const commits: number[] = [];
  const units = readings.map((_, unit) => ({ unit, chunk: 0, target: '', spec: null }));
  const left = await readInBatches<{ readonly rows: number; readonly reservation: RowReservation }>(units, {
    concurrency,
    maxWeight,
    room: budget,
    mostFitting: () => mostFitting,
    weigh: ({ rows }) => rows,
    async read({ unit }) {
      const [reserved = 0, pages = []] = readings[unit] ?? [];
      const reservation = await budget.reserve(reserved, never);
      let rows = 0;
      for (const page of pages) {
        await turn();
        rows += page;
        inMemory.come(page);
        await reservation.came(rows);
      }
      reservation.hold(rows);
      return { rows, reservation };
    },
    async commit(batched) {
      for (let turns = 0; turns < commitTurns; turns += 1) await turn();
      commits.push(batched.length);
      for (const { rows, reservation } of batched) {
        inMemory.go(rows);
        reservation.release();
      }
    },
  });
  expect(left).toEqual([]);
  return commits;
}

it('G8: concurrent chunks all end, and hold at most the budget, one whole read, and a page of each other read', async () => {
  const page = fc.integer({ min: 0, max: 40 });
  const chunk = fc.record({
    readings: fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.array(page, { maxLength: 6 })), { maxLength: 12 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
  });
  const chunks = fc.array(chunk, { minLength: 1, maxLength: 3 });
  const weights = fc.integer({ min: 1, max: 200 });
  await fc.assert(
    fc.asyncProperty(chunks, weights, weights, async (side, maxWeight, mostFitting) => {
      const budget = new RowBudget(100);
      const inMemory = new InMemory();
      const commits = await Promise.all(side.map((each) => work(each, { budget, maxWeight, mostFitting, inMemory })));
      const readings = side.flatMap((each) => each.readings.map(([, pages]) => pages));
      expect(commits.flat().reduce((sum, size) => sum + size, 0)).toBe(readings.length);
      const largest = Math.max(0, ...readings.map((pages) => pages.reduce((sum, rows) => sum + rows, 0)));
      const others = side.reduce((sum, each) => sum + each.concurrency, 0) - 1;
      // While the others pause, the oldest reading alone proceeds to its end.
      expect(inMemory.mostRows).toBeLessThanOrEqual(100 + largest + others * 40);
      // All room is free again.
      await budget.reserve(100, never);
    }),
  );
});

it('readings that bring far less than they reserved are committed together, though others wait for room', async () => {
  const readings = Array.from({ length: 200 }, () => [50, [1]] as const);
  const how = { budget: new RowBudget(100), maxWeight: 20, inMemory: new InMemory() };
  expect(await work({ readings, concurrency: 8 }, how)).toHaveLength(200 / 20);
});

it('while a batch is committed, others wait for its room, and no small ones are cut beside it', async () => {
  const readings = Array.from({ length: 120 }, () => [10, [10]] as const);
  const how = { budget: new RowBudget(100), maxWeight: 60, inMemory: new InMemory(), commitTurns: 20 };
  const commits = await work({ readings, concurrency: 8 }, how);
  expect(commits.length).toBeLessThanOrEqual(120 / 3);
});

it('a reading that pauses goes on with what others give back, and an abort ends its pause', async () => {
  const budget = new RowBudget(100);
  const oldest = await budget.reserve(50, never);
  const gone = new AbortController();
  const [second, third] = [await budget.reserve(10, never), await budget.reserve(10, gone.signal)];
  await oldest.came(80);
  let isOn = false;
  const going = second.came(30).then(() => (isOn = true));
  const aborted = third.came(20);
  await turn();
  expect(isOn).toBe(false);
  gone.abort();
  await expect(aborted).rejects.toBeInstanceOf(AbortedError);
  third.release();
  await turn();
  expect(isOn).toBe(false);
  oldest.release();
  await going;
});
