/** What is known of one well beside its rows, by the port. */
import { describe, expect, it } from 'vitest';
import type { DayInterval } from '../../../../src/core/daily/coverage.ts';
import type { RunEffect } from '../../../../src/warehouse/port/wells.ts';
import { dayNumber, dayText } from '../../../../src/core/time/production-day.ts';
import {
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  loadOne,
  reading,
  row,
  unreadable,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const question = { columns: ['oil_rate', 'gas_rate', 'choke'], mostQuarantined: 1, mostReads: 2 };
const texts = (days: readonly DayInterval[]) => days.map(({ fromDay, toDay }) => [dayText(fromDay), dayText(toDay)]);

export function describeWellHistory(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('what is known of a well beside its rows', () => {
    it('has its days, its quarantine and the runs that read it', async () => {
      const { warehouse } = test();
      await loadOne(
        warehouse,
        reading([row(1, dayOf(1), { oilRate: 3, gasRate: 0 }), row(2, dayOf(2)), row(4, dayOf(4))]),
      );
      const quarantined = [unreadable({ day: dayOf(9), xid: 9 }), unreadable({ day: dayOf(8), xid: 8, raw: '{}' })];
      await loadOne(warehouse, reading([], { from: dayOf(8), to: dayOf(11), quarantined }));
      await loadOne(warehouse, reading([row(30, dayOf(3))], { uwi: 'B' }));
      const history = await warehouse.coverage.history(uwi, question);
      expect(texts(history.read)).toEqual([['2024-01-01', '2024-02-01']]);
      expect(texts(history.present)).toEqual([
        [dayOf(1), dayOf(3)],
        [dayOf(4), dayOf(5)],
      ]);
      expect(texts(history.quarantinedDays)).toEqual([[dayOf(8), dayOf(10)]]);
      expect(history.quarantinedRecords).toBe(2);
      expect(history.quarantined).toMatchObject([{ day: dayOf(9), raw: quarantined[0]?.raw, accepted: null }]);
      const { alerts } = warehouse.ledger;
      const ofDay = (await alerts.list({ limit: 9, nowMs: committedAtMs, target: uwi })).alerts.filter(
        ({ detail }) => detail['day'] === dayOf(9),
      );
      const act = { by: 'a person', because: 'agreed', atMs: committedAtMs };
      await alerts.accept({ ...act, ids: ofDay.map(({ id }) => id) });
      const accepted = await warehouse.coverage.history(uwi, question);
      expect(accepted.quarantined).toMatchObject([{ day: dayOf(9), accepted: act }]);
      expect(accepted).toMatchObject({ quarantinedRecords: 2, acceptedRecords: 1 });
      expect(texts(accepted.quarantinedDays)).toEqual([[dayOf(8), dayOf(10)]]);
      expect(texts(accepted.unacceptedDays)).toEqual([[dayOf(8), dayOf(9)]]);
      expect(history.columns).toContain('oil_rate');
      expect(history.columns).not.toContain('choke');
      expect(history.reads.map(({ state }) => state)).toEqual(['done', 'done']);
      expect(history.reads.reduce((sum, { changed }) => sum + changed, 0)).toBe(3);
    });

    it('has no more runs than were asked for, and none of another well', async () => {
      const { warehouse } = test();
      for (const days of [2, 3, 4]) await loadOne(warehouse, reading(dailyRows(days)));
      await loadOne(warehouse, reading([], { uwi: 'B' }));
      expect((await warehouse.coverage.history(uwi, question)).reads).toHaveLength(2);
      expect((await warehouse.coverage.history('B', question)).reads).toHaveLength(1);
    });

    it('has the rows that are held, and the months of them and of restatements', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const later = committedAtMs + 1_000;
      const changed = [row(1, dayOf(1), { oilRate: 7 }), ...dailyRows(12).slice(1)];
      await load(warehouse, [reading(changed)], guard, later);
      const { holds, reads } = await warehouse.coverage.history(uwi, question);
      const held = reads.find(({ state }) => state === 'held');
      expect(holds).toEqual([
        {
          rows: 8,
          firstDay: dayNumber(dayOf(13)),
          lastDay: dayNumber(dayOf(20)),
          runId: held?.runId,
          sinceMs: later,
        },
      ]);
      expect(held).toMatchObject({ changed: 1, fault: { code: 'rows-held' } });
      expect(await warehouse.coverage.disputedWells()).toEqual({ held: [uwi], restated: [uwi] });
      expect(await warehouse.coverage.disputedMonths([uwi, 'B'])).toEqual([
        { uwi, month: '2024-01', heldRows: 8, restatedDays: 1 },
      ]);
      expect(await warehouse.coverage.disputedMonths(['B'])).toEqual([]);
    });

    it('has what a run brought, also where later runs have changed it', async () => {
      const { warehouse } = test();
      const loaded = async (rows: Parameters<typeof reading>[0], hours: number): Promise<RunEffect> => {
        await load(warehouse, [reading(rows)], guard, committedAtMs + hours * 3_600_000);
        const [last] = (await warehouse.coverage.history(uwi, { ...question, mostReads: 99 })).reads.toSorted(
          (left, right) => right.runId.localeCompare(left.runId, 'en', { numeric: true }),
        );
        runIds.push(last?.runId ?? '');
        return warehouse.coverage.effectOf(uwi, runIds.at(-1) ?? '');
      };
      const runIds: string[] = [];
      const none = { quarantined: 0, heldRows: 0, state: 'done' };
      expect(await loaded(dailyRows(5), 0)).toMatchObject({ ...none, hadRows: false, changed: [] });
      const second = await loaded([row(1, dayOf(1), { oilRate: 7 }), ...dailyRows(7).slice(1)], 1);
      expect(second).toMatchObject({ ...none, hadRows: true });
      expect(texts(second.filled)).toEqual([[dayOf(6), dayOf(8)]]);
      expect(texts(second.changed)).toEqual([[dayOf(1), dayOf(2)]]);
      const third = await loaded([row(1, dayOf(1), { oilRate: 8 }), ...dailyRows(7).slice(1)], 2);
      expect([third.filled, texts(third.changed)]).toEqual([[], [[dayOf(1), dayOf(2)]]]);
      const [first = '', again = ''] = runIds;
      expect(await warehouse.coverage.effectOf(uwi, again)).toEqual(second);
      expect(texts((await warehouse.coverage.effectOf(uwi, first)).filled)).toEqual([[dayOf(1), dayOf(6)]]);
      expect(await warehouse.coverage.effectOf(uwi, 'none')).toMatchObject({ state: undefined, filled: [] });
    });

    it('knows the wells of which backfills alone were read', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3), { mode: 'backfill' }));
      await loadOne(warehouse, reading(dailyRows(3), { uwi: 'B' }));
      expect(await warehouse.coverage.partlyRead(0)).toEqual([uwi]);
      expect(await warehouse.coverage.partlyRead(dayNumber(dayOf(1)))).toEqual([]);
    });

    it('of a well that nobody read is empty', async () => {
      expect(await test().warehouse.coverage.history('nobody', question)).toEqual({
        read: [],
        present: [],
        quarantinedDays: [],
        quarantined: [],
        quarantinedRecords: 0,
        acceptedRecords: 0,
        unacceptedDays: [],
        holds: [],
        reads: [],
        columns: [],
      });
    });
  });
}
