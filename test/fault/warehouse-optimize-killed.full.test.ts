/** A process that is killed while it puts a warehouse in order. */
import { expect, it } from 'vitest';
import { sleep } from '../../src/timers/sleep.ts';
import { fillByNights, fingerprintOf, inOrder, putInOrder } from '../support/storage-order.ts';
import { openTemporaryDuckdb } from '../support/warehouse-duckdb.ts';
import { startOptimizer } from '../support/warehouse-processes.ts';

it('G7: killed at any moment while it puts the warehouse in order, a process loses and doubles no row, and the next goes on', async () => {
  const { path, warehouse, another, dispose } = await openTemporaryDuckdb();
  try {
    await warehouse.check();
    await warehouse.close();
    await fillByNights(path, { wells: 120, days: 2_000, nights: 5 });
    const first = another();
    const before = await fingerprintOf(first);
    await first.close();
    for (const afterMs of [0, 40, 120, 250]) {
      await using victim = startOptimizer(path);
      await victim.line();
      await sleep(afterMs);
      await victim.kill();
    }
    await using last = startOptimizer(path);
    expect(await last.ended()).toBe(0);
    const second = another();
    // A kill leaves the place where the last whole step left it, so one more look finds nothing.
    expect(await putInOrder(second)).toBe(0);
    expect(await second.ledger.order.measure()).toMatchObject(inOrder);
    expect(await fingerprintOf(second)).toEqual(before);
  } finally {
    await dispose();
  }
});
