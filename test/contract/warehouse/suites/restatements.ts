/** Restatements by the port: the rows known at a time, and their later changes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Restatement, restatementsOf } from '../../../../src/core/daily/row.ts';
import { dayText } from '../../../../src/core/time/production-day.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import type { RestatementQuestion } from '../../../../src/warehouse/port/daily-production.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import {
  allOf,
  ask,
  at,
  dailyRows,
  dayOf,
  guard,
  loadOne,
  reading,
  row,
  xidOf,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const allowAll = { ...guard, allow: true };
const always = { sinceMs: at('2000-01-01'), untilMs: at('2100-01-01') };

async function restated(warehouse: WarehouseHandle, question: RestatementQuestion): Promise<readonly Restatement[]> {
  const versions = await warehouse.dailyProduction.restatements(question, allOf);
  return versions.flatMap(restatementsOf);
}

export function describeRestatements(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('restatements', () => {
    it('name every field that a correction changed, with what it said before and says since', async () => {
      const { warehouse } = test();
      const before = row(1, dayOf(1), { oilRate: 8e-5, choke: 3, downtimeCode: 'A', isDualFlow: true }, '{"a":1}');
      const after = row(1, dayOf(1), { oilRate: 0.1 + 0.2, choke: 4, isDualFlow: false }, '{"a":2}');
      await loadOne(warehouse, reading([before]), guard, at('2024-02-02'));
      await loadOne(warehouse, reading([after]), guard, at('2024-02-03'));
      const lines = await restated(warehouse, always);
      expect(lines.map((line) => [line.field, line.old, line.new])).toEqual([
        ['oil_rate', 8e-5, 0.1 + 0.2],
        ['choke', 3, 4],
        ['downtime_code', 'A', null],
        ['is_dual_flow', true, false],
        ['extras', '{"a":1}', '{"a":2}'],
      ]);
      const [line] = lines;
      const what = { day: dayOf(1), uwi, change: 'updated', noticedAt: '2024-02-03T00:00:00Z' };
      expect(line).toMatchObject({ ...what, runId: expect.stringMatching(/^run-/) });
    });

    it('come in pages that lose none and repeat none, and rows of a well as well', async () => {
      const { warehouse } = test();
      const days = Array.from({ length: 7 }, (_, index) => index + 1);
      const read = (oilRate: number) => reading(days.map((day) => row(day, dayOf(day), { oilRate })));
      await loadOne(warehouse, read(1), guard, at('2024-02-02'));
      for (const oilRate of [2, 3]) await loadOne(warehouse, read(oilRate), guard, at('2024-02-03'));
      const all = await warehouse.dailyProduction.restatements(always, allOf);
      expect(all.length).toBeGreaterThan(7);
      // An instant with a fraction of a second comes after the same one without.
      const orderOf = (instant: string): string => instant.replace('Z', '');
      for (const { noticedAt, old, uwi: of } of all) {
        const after = { noticedAt, uwi: of, day: old.day, xid: old.xid };
        const behind = await warehouse.dailyProduction.restatements({ ...always, after, limit: 3 }, allOf);
        const isBehind = (other: (typeof all)[number]): boolean =>
          orderOf(other.noticedAt) > orderOf(noticedAt) || (other.noticedAt === noticedAt && other.old.day > old.day);
        expect(behind.map(({ old: { day } }) => day)).toEqual(
          all
            .filter(isBehind)
            .slice(0, 3)
            .map(({ old: { day } }) => day),
        );
      }
      const { dailyProduction } = warehouse;
      expect(await dailyProduction.rows({ uwi: 'never read', limit: 5 })).toBeUndefined();
      const first = (await dailyProduction.rows({ uwi, limit: 3 })) ?? [];
      expect(first.map(({ day, measures }) => [day, measures['oil_rate']])).toEqual(
        days.slice(0, 3).map((day) => [dayOf(day), 3]),
      );
      const last = first.at(-1);
      const next = await dailyProduction.rows({ uwi, limit: 9, to: dayOf(7), ...(last && { after: last }) });
      expect(next?.map(({ day }) => day)).toEqual(days.slice(3, 6).map(dayOf));
      const bounded = await dailyProduction.rows({ uwi, limit: 9, from: dayOf(6) });
      expect(bounded?.map(({ day }) => day)).toEqual([dayOf(6), dayOf(7)]);
    });

    it('leave what counts of the days of a well, by columns', async () => {
      const { warehouse } = test();
      const rows = [
        row(2, dayOf(2), { oilRate: 0.1 + 0.2, downtimeCode: 'A' }),
        row(1, dayOf(1), { oilRate: 8e-5, choke: 3 }),
        // Two of one day: the one that counts.
        row(3, dayOf(2), { oilRate: 7 }),
      ];
      await loadOne(warehouse, reading(rows), guard, at('2024-02-02'));
      const { dailyProduction } = warehouse;
      const question = { numbers: ['oil_rate', 'choke'], texts: ['downtime_code'] };
      expect(await dailyProduction.days({ uwi: 'never read', ...question })).toBeUndefined();
      const found = await dailyProduction.days({ uwi, ...question });
      const counting = (await dailyProduction.rows({ uwi, limit: 9 }))?.filter(({ counts }) => counts) ?? [];
      const numbersOf = (column: string) => counting.map(({ measures }) => measures[column] ?? Number.NaN);
      expect([...(found?.days ?? [])].map((day) => dayText(day))).toEqual([dayOf(1), dayOf(2)]);
      expect(found?.numbers.map((values) => [...values])).toEqual([numbersOf('oil_rate'), numbersOf('choke')]);
      expect(found?.texts).toEqual([counting.map(({ measures }) => measures['downtime_code'] ?? null)]);
    });

    it('follow a record from one correction to the next, also within one instant', async () => {
      const { warehouse } = test();
      for (const oilRate of [1, 2, 3, 1]) {
        await loadOne(warehouse, reading([row(1, dayOf(1), { oilRate })]), guard, at('2024-02-02'));
      }
      expect((await restated(warehouse, always)).map((line) => `${line.old} to ${line.new}`).toSorted()).toEqual([
        '1 to 2',
        '2 to 3',
        '3 to 1',
      ]);
    });

    it('show a removed row as such, and a new xid of the same day with the fields that it changed', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)), guard, at('2024-02-02'));
      const renamed = [row(1, dayOf(1), { oilRate: 1 }), row(9, dayOf(2), { oilRate: 7 })];
      await loadOne(warehouse, reading(renamed), guard, at('2024-02-03'));
      const told = (await restated(warehouse, always)).map(({ day, change, field, old, new: since }) => [
        day,
        change,
        field,
        old,
        since,
      ]);
      expect(told).toEqual([
        [dayOf(2), 'replaced', 'xid', xidOf(2), xidOf(9)],
        [dayOf(2), 'replaced', 'oil_rate', 2, 7],
        [dayOf(3), 'removed', null, null, null],
      ]);
    });

    it('show a row that moved in time under its old day', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(1))]), guard, at('2024-02-02'));
      await loadOne(warehouse, reading([row(1, dayOf(5))]), guard, at('2024-02-03'));
      const told = (await restated(warehouse, always)).map(({ day, field, old, new: since }) => [
        day,
        field,
        old,
        since,
      ]);
      expect(told).toEqual([
        [dayOf(1), 'date', '2024-01-01T00:00:00Z', '2024-01-05T00:00:00Z'],
        [dayOf(1), 'production_day', dayOf(1), dayOf(5)],
      ]);
    });

    it('are those noticed from one time to another, of the wells that are named', async () => {
      const { warehouse } = test();
      for (const [index, oilRate] of [1, 2, 3, 4].entries()) {
        for (const well of ['A', 'B', `O'Brien`]) {
          await loadOne(
            warehouse,
            reading([row(1, dayOf(1), { oilRate })], { uwi: well }),
            guard,
            at(dayOf(40 + index)),
          );
        }
      }
      const question = { sinceMs: at(dayOf(42)), untilMs: at(dayOf(43)) };
      expect((await restated(warehouse, question)).map((line) => [line.uwi, line.new])).toEqual([
        ['A', 3],
        ['B', 3],
        [`O'Brien`, 3],
      ]);
      expect((await restated(warehouse, { ...always, uwis: [`O'Brien`, 'nobody'] })).map((line) => line.new)).toEqual([
        2, 3, 4,
      ]);
      expect(await restated(warehouse, { ...always, uwis: [] })).toEqual([]);
    });
  });

  describe('the warehouse as it was known at a time', () => {
    const columns = 'uwi, CAST(xid AS VARCHAR), production_day, oil_rate';
    const knownAt = (warehouse: WarehouseHandle, ms: number) =>
      ask(
        warehouse,
        `SELECT ${columns} FROM daily_production_as_known('${new Date(ms).toISOString()}') ORDER BY uwi, date, xid`,
      );

    it('is empty before anything was known, and the warehouse itself afterwards', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)), guard, at('2024-02-02'));
      expect(await knownAt(warehouse, at('2024-02-02') - 1)).toEqual([]);
      expect(await knownAt(warehouse, at('2024-02-02'))).toHaveLength(3);
      expect(await knownAt(warehouse, at('2030-01-01'))).toHaveLength(3);
      const whole = await ask(
        warehouse,
        `SELECT * FROM daily_production_as_known('2030-01-01 00:00:00Z') ORDER BY date`,
      );
      const stored = await ask(warehouse, 'SELECT * FROM daily_production ORDER BY date');
      // Its last columns are those of the runs that wrote the row, of the time, and whether the row counts.
      expect(whole).toEqual(stored.map((each) => each.slice(0, -4)));
      expect(whole).not.toEqual([]);
    });

    it('is what it was after each commit, for any rows inserted, updated, renamed, moved and removed', async () => {
      const days = 5;
      const record = fc.record({ oilRate: fc.nat(2), xid: fc.integer({ min: 1, max: 7 }) });
      const version = fc.array(fc.option(record), { minLength: days, maxLength: days }).map((records) => {
        const taken = new Set<number>();
        return records.flatMap((each, index) => {
          if (each === null || taken.has(each.xid)) return [];
          taken.add(each.xid);
          return [row(each.xid, dayOf(index + 1), { oilRate: each.oilRate })];
        });
      });
      const property = fc.asyncProperty(fc.array(version, { minLength: 1, maxLength: 6 }), async (versions) => {
        const { warehouse, dispose } = await open();
        try {
          const snapshots: (readonly unknown[])[] = [];
          for (const [index, rows] of versions.entries()) {
            await loadOne(warehouse, reading(rows), allowAll, at('2024-03-01') + index * 1_000);
            snapshots.push(await ask(warehouse, `SELECT ${columns} FROM daily_production ORDER BY uwi, date, xid`));
          }
          for (const [index, snapshot] of snapshots.entries()) {
            expect(await knownAt(warehouse, at('2024-03-01') + index * 1_000)).toEqual(snapshot);
            expect(await knownAt(warehouse, at('2024-03-01') + index * 1_000 + 999)).toEqual(snapshot);
          }
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, 7);
    });
  });
}
