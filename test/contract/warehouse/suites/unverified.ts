/** Unverified reads by the port: they add to a window, and take nothing from it. */
import { describe, expect, it } from 'vitest';
import {
  ask,
  at,
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  loadOne,
  planned,
  reading,
  row,
  unreadable,
  xidOf,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const storedOil = 'SELECT CAST(xid AS VARCHAR), oil_rate FROM daily_production ORDER BY uwi, date';
const isVerified = false;
const laterMs = committedAtMs + 86_400_000;

export function describeUnverified(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const verifiedAt = async (): Promise<number | undefined> =>
    (await test().warehouse.dailyProduction.watermarks([uwi])).get(uwi)?.verifiedAtMs;

  describe('an unverified read', () => {
    it('inserts and updates, moves the watermark, and notes no day as read', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      const rows = [...dailyRows(2), row(3, dayOf(3), { oilRate: 7 }), row(4, dayOf(35))];
      const outcome = await loadOne(warehouse, reading(rows, { to: dayOf(40), isVerified }), guard, laterMs);
      expect(outcome).toMatchObject({
        state: 'done',
        counts: { inserted: 1, updated: 1, unchanged: 2, removed: 0, rowsBefore: 3, rowsAfter: 4, rowsAdrift: 0 },
      });
      expect(await ask(warehouse, 'SELECT from_day, to_day FROM coverage')).toEqual([[dayOf(1), dayOf(32)]]);
      expect(await ask(warehouse, 'SELECT watermark, last_day FROM watermark')).toEqual([
        ['2024-02-09T00:00:00Z', dayOf(35)],
      ]);
    });

    it('G4: leaves its whole window as it is where a stored row would leave, and its unit open', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      const windows = [
        reading([row(1, dayOf(1), { oilRate: 9 }), ...dailyRows(5).slice(2)], { to: dayOf(50), isVerified }),
        reading([row(1, dayOf(1))], { uwi: 'B', unit: 1, isVerified }),
      ];
      const runId = await planned(warehouse, windows);
      const commit = async (batch: typeof windows) => {
        const order = { runId, windows: batch, shrink: guard, committedAtMs: laterMs };
        return (await warehouse.dailyProduction.commit(order)).outcomes;
      };
      expect((await commit(windows)).map(({ unit }) => unit)).toEqual([1]);
      expect(await ask(warehouse, `${storedOil} LIMIT 3`)).toEqual([
        [xidOf(1), 0],
        [xidOf(1), 1],
        [xidOf(2), 2],
      ]);
      expect(await ask(warehouse, 'SELECT count(*) FROM daily_production_history')).toEqual([[0]]);
      expect(await ask(warehouse, `SELECT watermark FROM watermark WHERE uwi = '${uwi}'`)).toEqual([
        ['2024-02-01T00:00:00Z'],
      ]);
      expect((await warehouse.ledger.runs.openUnits(runId, 0)).map(({ unit }) => unit)).toEqual([0]);
      const again = windows.slice(0, 1).map((window) => ({ ...window, isVerified: true }));
      expect(await commit(again)).toMatchObject([{ unit: 0, counts: { updated: 1, inserted: 2, removed: 1 } }]);
    });

    it('G4: replaces no row by another one of its day: both may be at the service', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(2)));
      const renamed = [row(1, dayOf(1)), row(9, dayOf(2))];
      expect(await load(warehouse, [reading(renamed, { isVerified })])).toEqual([]);
      expect(await ask(warehouse, storedOil)).toEqual([
        [xidOf(1), 1],
        [xidOf(2), 2],
      ]);
    });

    it('G4: an empty one leaves the rows of its window, and settles an empty window', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(2)));
      const empty = reading([], { isVerified });
      expect(await load(warehouse, [empty], { ...guard, allow: true })).toEqual([]);
      expect(await load(warehouse, [{ ...empty, isWithoutContent: true }], { ...guard, allow: true })).toEqual([]);
      const beyond = reading([], { from: dayOf(10), to: dayOf(40), isVerified });
      expect(await loadOne(warehouse, beyond)).toMatchObject({ state: 'done', counts: { rowsAfter: 0 } });
    });

    it('G4: keeps a row whose record came in a window that has to be read again', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const early = reading(dailyRows(4), { to: dayOf(5), unit: 0 });
      // The record of day 3 came again, moved to day 15, in a read that lacks the row of day 16.
      const late = reading([row(3, dayOf(15)), row(15, dayOf(15), { oilRate: 15 })], {
        from: dayOf(15),
        to: dayOf(17),
        unit: 1,
        isVerified,
      });
      expect(await load(warehouse, [early, late])).toMatchObject([{ unit: 0, counts: { unchanged: 4, repeated: 0 } }]);
      expect(await ask(warehouse, 'SELECT count(*) FROM daily_production')).toEqual([[20]]);
    });

    it('keeps the entries of records that it lacks in quarantine, and lets go of those that it shows', async () => {
      const { warehouse } = test();
      const entries = 'SELECT xid, raw FROM quarantine ORDER BY raw';
      const quarantined = [
        unreadable({ xid: 1, day: dayOf(1), raw: '1' }),
        unreadable({ day: dayOf(2), raw: '2' }),
        unreadable({ raw: '3' }),
      ];
      await loadOne(warehouse, reading([], { quarantined }));
      const found = reading([row(1, dayOf(1))], { quarantined: [unreadable({ raw: '3' })], isVerified });
      await loadOne(warehouse, found);
      expect(await ask(warehouse, entries)).toEqual([
        [null, '2'],
        [null, '3'],
      ]);
      await loadOne(warehouse, reading([row(1, dayOf(1))]));
      expect(await ask(warehouse, entries)).toEqual([]);
    });
  });

  describe('a record without a day in quarantine', () => {
    it('leaves with the next verified read, if the window of the first reached beyond its time', async () => {
      const { warehouse } = test();
      const quarantined = [unreadable({ raw: '1' })];
      await loadOne(warehouse, reading([], { from: dayOf(20), to: '2030-01-01', quarantined, mode: 'backfill' }));
      const later = (isComplete: boolean) =>
        loadOne(warehouse, reading([], { to: dayOf(154), isVerified: isComplete }), guard, laterMs);
      await later(false);
      expect(await ask(warehouse, 'SELECT raw FROM quarantine')).toEqual([['1']]);
      await later(true);
      expect(await ask(warehouse, 'SELECT raw FROM quarantine')).toEqual([]);
    });
  });

  describe('the time up to which a well is verified', () => {
    const [february, march] = [at('2024-02-01'), at('2024-03-01')];
    const toMarch = { to: '2024-03-01' };

    it('is the end of the last window that was verified, held rows or not, and no backfill', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20), { isVerified }));
      expect(await verifiedAt()).toBeUndefined();
      await loadOne(warehouse, reading(dailyRows(20)));
      expect(await verifiedAt()).toBe(february);
      await loadOne(warehouse, reading(dailyRows(20), { ...toMarch, isVerified }));
      await loadOne(warehouse, reading(dailyRows(20), { ...toMarch, mode: 'backfill' }));
      expect(await verifiedAt()).toBe(february);
      expect(await loadOne(warehouse, reading([], toMarch))).toMatchObject({ state: 'held' });
      expect(await verifiedAt()).toBe(march);
    });

    it('G4: does not pass the days that unverified reads brought before an old run was retried, nor goes back', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20), { ...toMarch, isVerified }));
      await loadOne(warehouse, reading(dailyRows(20)), guard, laterMs);
      expect(await verifiedAt()).toBe(february);
      await loadOne(warehouse, reading(dailyRows(20), toMarch), guard, laterMs);
      await loadOne(warehouse, reading(dailyRows(20)), guard, laterMs + 1_000);
      expect(await verifiedAt()).toBe(march);
    });

    it('is not later than the commit', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([], { to: '2025-01-01' }));
      expect(await verifiedAt()).toBe(committedAtMs);
    });

    it('is the earlier end of two windows of the well, and stays where one of them is unverified', async () => {
      const { warehouse } = test();
      const early = reading([], { unit: 0 });
      const late = (isLateVerified: boolean) =>
        reading([], { unit: 1, from: '2024-02-01', ...toMarch, isVerified: isLateVerified });
      await load(warehouse, [early, late(false)]);
      expect(await verifiedAt()).toBeUndefined();
      await load(warehouse, [early, late(true)]);
      expect(await verifiedAt()).toBe(february);
    });
  });
}
