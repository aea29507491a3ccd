/** Putting daily production in order in a DuckDB file: step by step, within its memory and without a growing file. */
import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { fillByNights, fingerprintOf, inOrder, putInOrder } from '../../support/storage-order.ts';
import { ask, dayOf, load, loadOne, reading, row } from '../../support/warehouse-batches.ts';
import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';

describe('the order of a DuckDB file', () => {
  it('G8: is made in steps within the least memory of the engine, and the file hardly grows', async () => {
    const { path, warehouse, dispose } = await openTemporaryDuckdb();
    try {
      await warehouse.check();
      await warehouse.close();
      const extras = `json_object('remark', repeat(md5(uwi || day), 8))`;
      const small = { wells: 50, extras };
      const nights = 31;
      await fillByNights(path, { ...small, days: 900, nights });
      const bytes: number[] = [];
      for (const rows of [46_550, 48_100, 49_650]) {
        const open = createDuckdbWarehouse({ path, now: Date.now, memoryLimitMb: 64 });
        const before = await fingerprintOf(open);
        expect(await open.ledger.order.measure()).toMatchObject({ rows, tailNights: 31, looseRows: rows });
        expect(await putInOrder(open)).toBe(rows);
        expect(await open.ledger.order.measure()).toMatchObject(inOrder);
        expect(await fingerprintOf(open)).toEqual(before);
        await open.close();
        bytes.push(statSync(path).size);
        await fillByNights(path, { ...small, from: 900 + bytes.length * nights, days: 0, nights });
      }
      // What one time leaves free the next ones use: the second may need a block more before it is free.
      expect(bytes[2]).toBeLessThan(1.3 * (bytes[0] ?? 0));
    } finally {
      await dispose();
    }
  });

  it('counts the nights of the tail, and is asked for nothing where there is none', async () => {
    const { warehouse, dispose } = await openTemporaryDuckdb();
    const night = (day: number, to: number) =>
      ['A', 'B', 'C'].map((uwi, unit) =>
        reading(
          Array.from({ length: to - day }, (_, index) => row(1_000 * unit + day + index, dayOf(day + index))),
          { unit, uwi, from: dayOf(day), to: dayOf(to) },
        ),
      );
    try {
      await load(warehouse, night(1, 20));
      expect(await warehouse.ledger.order.measure()).toEqual({ ...inOrder, rows: 57, wells: 3 });
      expect(await putInOrder(warehouse)).toBe(0);
      for (const day of [20, 21, 22]) await load(warehouse, night(day, day + 1));
      expect(await warehouse.ledger.order.measure()).toMatchObject({ rows: 66, tailNights: 3, looseRows: 66 });
      expect(await warehouse.ledger.order.tail()).toEqual({ tailNights: 3, isUnderWay: false });
      expect(await putInOrder(warehouse)).toBe(66);
      expect((await warehouse.describe()).order).toEqual({ ...inOrder, rows: 66, wells: 3 });
    } finally {
      await dispose();
    }
  });

  it('tells the tail of many wells by some of them', async () => {
    const { path, warehouse, another, dispose } = await openTemporaryDuckdb();
    try {
      await warehouse.check();
      await warehouse.close();
      await fillByNights(path, { wells: 1_000, days: 20, nights: 5 });
      const night = reading([row(7, '2026-01-01')], { uwi: 'NO 15/9-F-0550', from: '2026-01-01', to: '2026-01-02' });
      const open = another();
      expect(await open.ledger.order.tail()).toEqual({ tailNights: 5, isUnderWay: false });
      expect((await open.ledger.order.measure()).tailNights).toBe(5);
      await load(open, [night]);
      // The well is none of those that are looked at.
      expect((await open.ledger.order.measure()).tailNights).toBeGreaterThan(5);
      expect((await open.ledger.order.tail()).tailNights).toBe(5);
      await open.ledger.order.step();
      expect((await open.ledger.order.tail()).isUnderWay).toBe(true);
      await putInOrder(open);
      expect(await open.ledger.order.tail()).toEqual({ tailNights: 0, isUnderWay: false });
    } finally {
      await dispose();
    }
  });

  it('goes on at its place in another process, with commits between its steps', async () => {
    const { path, warehouse, another, dispose } = await openTemporaryDuckdb();
    try {
      await warehouse.check();
      await warehouse.close();
      await fillByNights(path, { wells: 50, days: 2_000, nights: 3 });
      const second = another();
      const first = await second.ledger.order.step();
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThanOrEqual(40_000);
      const uwi = 'NO 15/9-F-0049';
      const window = { uwi, from: '2026-01-01', to: '2026-01-02' };
      expect((await loadOne(second, reading([row(7, '2026-01-01')], window))).counts).toMatchObject({ inserted: 1 });
      expect(await second.ledger.order.measure()).toMatchObject({
        isUnderWay: true,
        looseRows: 100_151 - (first ?? 0),
      });
      await second.close();
      const third = another();
      expect(await putInOrder(third)).toBe(100_151 - (first ?? 0));
      expect(await third.ledger.order.measure()).toEqual({ ...inOrder, rows: 100_151, wells: 50 });
      expect(await ask(third, `SELECT count(*) FROM daily_production WHERE uwi = '${uwi}'`)).toEqual([[2_004]]);
    } finally {
      await dispose();
    }
  });
});
