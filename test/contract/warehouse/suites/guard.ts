/** The protection of rows and watermarks by the port: shrink guard, quarantine, watermark. */
import { describe, expect, it } from 'vitest';
import {
  ask,
  at,
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

export function describeGuards(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const stored = async (): Promise<number> =>
    Number((await ask(test().warehouse, 'SELECT count(*) FROM daily_production'))[0]?.[0]);
  const watermark = async (): Promise<number | undefined> =>
    (await test().warehouse.dailyProduction.watermarks([uwi])).get(uwi)?.watermarkMs;

  describe('the shrink guard', () => {
    it('G4: a window that would lose more than its share is held: no row is removed, new and changed rows are merged', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const rest = [
        ...dailyRows(15).map((each, index) => (index === 0 ? row(1, dayOf(1), { oilRate: 7 }) : each)),
        row(50, dayOf(25)),
      ];
      const outcome = await loadOne(warehouse, reading(rest, { to: '2024-03-01' }));
      expect(outcome).toMatchObject({
        state: 'held',
        counts: { read: 16, inserted: 1, updated: 1, unchanged: 14, removed: 0, heldRows: 5 },
        fault: {
          code: 'rows-held',
          message: `${uwi}: the service no longer has 5 of the 20 rows (25 %) from 2024-01-01 to 2024-03-01; they stay until they are released (2024-01)`,
          action: { kind: 'release-rows' },
        },
      });
      expect(await stored()).toBe(21);
      expect(await watermark()).toBe(at('2024-03-01'));
    });

    it('G4: an empty read of a full window removes nothing', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      expect(await loadOne(warehouse, reading([]))).toMatchObject({ state: 'held', counts: { heldRows: 20 } });
      expect(await stored()).toBe(20);
    });

    it('lets a window lose exactly its share, and any window a few rows', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      expect(await loadOne(warehouse, reading(dailyRows(16)))).toMatchObject({ state: 'done', counts: { removed: 4 } });
      await loadOne(warehouse, reading(dailyRows(3), { uwi: 'B' }));
      expect(await loadOne(warehouse, reading([], { uwi: 'B' }))).toMatchObject({
        state: 'done',
        counts: { removed: 3 },
      });
    });

    it('lets everything go that the operator allows', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const outcome = await loadOne(warehouse, reading([]), { ...guard, allow: true });
      expect(outcome).toMatchObject({ state: 'done', counts: { removed: 20, heldRows: 0 } });
      expect(await stored()).toBe(0);
    });

    it('does not count records that took a new xid as lost, and replaces them in a held window too', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const renamed = dailyRows(10).map((each, index) => ({ ...each, xid: xidOf(100 + index) }));
      expect(await loadOne(warehouse, reading(renamed))).toMatchObject({
        state: 'held',
        counts: { inserted: 0, updated: 10, removed: 0, heldRows: 10 },
      });
      expect(await stored()).toBe(20);
    });

    it('holds one window of a batch and not its neighbours', async () => {
      const { warehouse } = test();
      const wells = ['A', 'B'].map((name, unit) => ({ uwi: name, unit }));
      await load(
        warehouse,
        wells.map((well) => reading(dailyRows(20), well)),
      );
      const outcomes = await load(warehouse, [reading([], wells[0]), reading(dailyRows(19), wells[1])]);
      expect(outcomes.map(({ state }) => state)).toEqual(['held', 'done']);
      expect(await stored()).toBe(39);
    });

    it('counts only the rows that stood inside the window', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(100), { to: '2024-12-01' }));
      const outcome = await loadOne(warehouse, reading([], { from: dayOf(91), to: dayOf(101) }));
      expect(outcome).toMatchObject({ state: 'held', counts: { heldRows: 10 } });
    });
  });

  describe('the quarantine', () => {
    const entries = 'SELECT CAST(production_day AS VARCHAR), xid, raw FROM quarantine ORDER BY 1, 2';

    it('G4: a quarantined record keeps the row with its xid', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      const outcome = await loadOne(warehouse, reading([], { quarantined: [unreadable({ xid: 2, day: dayOf(9) })] }));
      expect(outcome.counts).toMatchObject({ read: 1, quarantined: 1, removed: 2 });
      expect(await ask(warehouse, 'SELECT CAST(xid AS VARCHAR) FROM daily_production')).toEqual([[xidOf(2)]]);
    });

    it('G4: a quarantined record without xid keeps the row of its day', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      await loadOne(warehouse, reading([], { quarantined: [unreadable({ day: dayOf(3) })] }));
      expect(await ask(warehouse, 'SELECT CAST(xid AS VARCHAR) FROM daily_production')).toEqual([[xidOf(3)]]);
    });

    it('G4: a quarantined record without xid and day keeps all rows of its window', async () => {
      const { warehouse } = test();
      await load(warehouse, [reading(dailyRows(3)), reading(dailyRows(3), { uwi: 'B', unit: 1 })]);
      const [first, second] = await load(warehouse, [
        reading([], { quarantined: [unreadable()] }),
        reading([], { uwi: 'B', unit: 1 }),
      ]);
      expect([first?.counts, second?.counts]).toMatchObject([{ removed: 0 }, { removed: 3 }]);
      expect(first).toMatchObject({ state: 'done' });
      expect(await stored()).toBe(3);
    });

    it('keeps the record as it came, with well, window, reason, unit and run', async () => {
      const { warehouse } = test();
      const raw = `{"xid":"\\ud800","note":"it's \\"so\\" \\\\"}`;
      await loadOne(warehouse, reading([], { unit: 0, quarantined: [unreadable({ xid: 4, day: dayOf(4), raw })] }));
      const kept = await ask(
        warehouse,
        'SELECT uwi, unit, window_from, window_to, reason, raw, noticed_at FROM quarantine',
      );
      const [from, to, noticed] = ['2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z', '2024-06-01T04:00:00Z'];
      expect(kept).toEqual([[uwi, 0, from, to, 'oilRate: expected number', raw, noticed]]);
    });

    it('is replaced by what the next reading of the window finds', async () => {
      const { warehouse } = test();
      await loadOne(
        warehouse,
        reading([], { quarantined: [unreadable({ xid: 1, day: dayOf(5) }), unreadable({ raw: '{}' })] }),
      );
      await loadOne(warehouse, reading([], { uwi: 'B', quarantined: [unreadable({ xid: 1, day: dayOf(5) })] }));
      await loadOne(warehouse, reading([], { quarantined: [unreadable({ xid: 2, day: dayOf(6), raw: '[2]' })] }));
      const all = await ask(warehouse, 'SELECT uwi, xid FROM quarantine ORDER BY uwi');
      expect(all).toEqual([
        ['B', xidOf(1)],
        [uwi, xidOf(2)],
      ]);
    });

    it('forgets a record that a later, overlapping window shows in order, and does not tell one twice', async () => {
      const { warehouse } = test();
      const [inOrderLater, otherwiseLater, sameLater] = [
        unreadable({ xid: 8, day: dayOf(8), raw: '8' }),
        unreadable({ xid: 9, day: dayOf(9), raw: '9' }),
        unreadable({ raw: '"?"' }),
      ];
      const early = { from: dayOf(1), to: dayOf(10), quarantined: [inOrderLater, otherwiseLater, sameLater] };
      await loadOne(warehouse, reading([], early));
      const late = { from: dayOf(8), to: dayOf(10), quarantined: [{ ...otherwiseLater, raw: '"9"' }, sameLater] };
      await loadOne(warehouse, reading([row(8, dayOf(8))], late));
      expect(await ask(warehouse, entries)).toEqual([
        [dayOf(9), xidOf(9), '"9"'],
        [null, null, '"?"'],
      ]);
    });

    it('G2: tells two long records that begin alike apart by their reasons, and does not tell one twice', async () => {
      const { warehouse } = test();
      const cut = (digest: string) => ({ ...unreadable({ raw: `"${'x'.repeat(65_535)}` }), reason: digest });
      await loadOne(warehouse, reading([], { from: dayOf(1), to: dayOf(10), quarantined: [cut('a')] }));
      await loadOne(warehouse, reading([], { from: dayOf(8), to: dayOf(12), quarantined: [cut('b'), cut('a')] }));
      expect(await ask(warehouse, 'SELECT reason FROM quarantine ORDER BY 1')).toEqual([['a'], ['b']]);
      await loadOne(warehouse, reading([], { from: dayOf(10), to: dayOf(14), quarantined: [cut('b')] }));
      expect(await ask(warehouse, 'SELECT reason FROM quarantine ORDER BY 1')).toEqual([['a'], ['b']]);
    });

    it('keeps what a window does not reach, though it finds a record of its own', async () => {
      const { warehouse } = test();
      const early = [unreadable({ xid: 1, day: dayOf(5) }), unreadable({ raw: '"early"' })];
      await loadOne(warehouse, reading([], { quarantined: early }));
      const late = { from: dayOf(10), to: dayOf(40), quarantined: [unreadable({ raw: '"late"' })] };
      await loadOne(warehouse, reading([], late));
      expect(await ask(warehouse, entries)).toHaveLength(3);
    });
  });

  describe('the watermark', () => {
    it('G3: the watermark of a well is the end of its durable window', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([]));
      expect(await warehouse.dailyProduction.watermarks([uwi, 'B'])).toEqual(
        new Map([[uwi, { watermarkMs: at('2024-02-01'), lastDay: undefined, verifiedAtMs: at('2024-02-01') }]]),
      );
      expect(await warehouse.dailyProduction.watermarks([])).toEqual(new Map());
    });

    it('G3: a watermark never moves back, by a backfill, or across a gap', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([]));
      const others = [
        reading([], { from: '2023-01-01', to: '2023-02-01' }),
        reading([], { from: '2024-01-15', to: '2024-04-01', mode: 'backfill' }),
        reading([], { from: '2024-02-02', to: '2024-04-01' }),
      ];
      for (const window of others) {
        await loadOne(warehouse, window);
        expect(await watermark()).toBe(at('2024-02-01'));
      }
      await loadOne(warehouse, reading([], { from: '2024-01-25', to: '2024-04-01' }));
      expect(await watermark()).toBe(at('2024-04-01'));
    });

    it('is reached by a share of the wells, whichever lag', async () => {
      const { warehouse } = test();
      expect(await warehouse.coverage.reachedWatermarks([0.5, 0.9])).toBeUndefined();
      await loadOne(warehouse, reading([]));
      const lagging = { ...reading([], { from: '2023-12-01', to: '2024-01-01' }), uwi: 'B' };
      await loadOne(warehouse, lagging);
      expect(await warehouse.coverage.reachedWatermarks([0.5, 0.9])).toEqual([at('2024-02-01'), at('2024-01-01')]);
    });

    it('G3: a backfill of a new well leaves it without a watermark', async () => {
      await loadOne(test().warehouse, reading([], { mode: 'backfill' }));
      expect(await watermark()).toBeUndefined();
    });

    it('G3: two windows of one well move its watermark together, in any order', async () => {
      const { warehouse } = test();
      const early = reading([], { unit: 0 });
      const late = reading([], { unit: 1, from: '2024-02-01', to: '2024-03-01' });
      await load(warehouse, [late, early]);
      expect(await watermark()).toBe(at('2024-03-01'));
    });

    it('G3: a watermark stays below a window whose transaction failed', async () => {
      const { warehouse } = test();
      const windows = [reading([{ ...row(1, dayOf(1)), extras: 'no JSON' }])];
      const runId = await planned(warehouse, windows);
      await expect(
        warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs: 0 }),
      ).rejects.toThrow(/json/i);
      expect(await watermark()).toBeUndefined();
    });
  });
}
