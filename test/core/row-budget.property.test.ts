import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AbortedError } from '../../src/core/errors.ts';
import { RowBudget, type RowReservation } from '../../src/runs/row-budget.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('G8: the rows reserved never pass the budget, unless one reservation alone is larger, and all are served in order', async () => {
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
  expect(budget.isWaitedFor).toBe(true);
  gone.abort();
  await expect(aborted).rejects.toBeInstanceOf(AbortedError);
  await turn();
  expect(second).toBeUndefined();
  first.hold(40);
  await turn();
  expect(second).toBeDefined();
  expect(budget.isWaitedFor).toBe(false);
});
