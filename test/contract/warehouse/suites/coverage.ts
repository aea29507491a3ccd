/** Coverage by its port: the ledger of read days, compared with the stored rows. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayInterval, mergeDays } from '../../../../src/core/daily/coverage.ts';
import { dayNumber, dayText } from '../../../../src/core/time/production-day.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import type { CoverageQuestion, CoverageSurvey } from '../../../../src/warehouse/port/daily-production.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import {
  allOf,
  ask,
  at,
  dailyRows,
  dayOf,
  load,
  loadOne,
  reading,
  row,
  unreadable,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const ledger = 'SELECT uwi, from_day, to_day FROM coverage ORDER BY uwi, from_day';

/** All results of a survey. */
async function told(warehouse: WarehouseHandle, question: CoverageQuestion) {
  return warehouse.coverage.survey(question, async (survey: CoverageSurvey) => ({
    totals: await survey.totals(),
    wells: await allOf(survey.wells()),
    worst: await survey.worstWells(2),
    months: await survey.months(),
    cells: await survey.cells([uwi]),
  }));
}

export function describeCoverage(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const january = { fromDay: dayNumber('2024-01-01'), toDay: dayNumber('2024-02-01') };

  describe('the ledger of coverage', () => {
    it('holds what was read as few intervals, whatever the order and the overlap of the windows', async () => {
      const { warehouse } = test();
      const windows = [
        reading([], { from: dayOf(10), to: dayOf(12) }),
        reading([], { from: dayOf(1), to: dayOf(5) }),
        reading([], { from: dayOf(20), to: dayOf(25), uwi: 'B' }),
        reading([], { from: dayOf(5), to: dayOf(7) }),
        reading([], { from: dayOf(11), to: dayOf(30) }),
      ];
      for (const window of windows) await loadOne(warehouse, window);
      expect(await ask(warehouse, ledger)).toEqual([
        ['B', dayOf(20), dayOf(25)],
        [uwi, dayOf(1), dayOf(7)],
        [uwi, dayOf(10), dayOf(30)],
      ]);
      await loadOne(warehouse, reading([], { from: dayOf(6), to: dayOf(11) }));
      expect((await ask(warehouse, ledger)).slice(1)).toEqual([[uwi, dayOf(1), dayOf(30)]]);
    });

    it('takes in every window of a batch, and a backfill like any other', async () => {
      const { warehouse } = test();
      await load(warehouse, [
        reading([], { from: dayOf(1), to: dayOf(3), unit: 0 }),
        reading([], { from: dayOf(3), to: dayOf(9), unit: 1, mode: 'backfill' }),
        reading([], { from: dayOf(1), to: dayOf(4), unit: 2, uwi: 'B' }),
      ]);
      expect(await ask(warehouse, ledger)).toEqual([
        ['B', dayOf(1), dayOf(4)],
        [uwi, dayOf(1), dayOf(9)],
      ]);
    });

    it('G4: no day that unverified reads alone have passed is missing: after the last row it is not asked for', async () => {
      const { warehouse } = test();
      const isVerified = false;
      await loadOne(warehouse, reading(dailyRows(9), { to: dayOf(10) }));
      const rows = [row(9, dayOf(9)), row(12, dayOf(12))];
      await loadOne(warehouse, reading(rows, { from: dayOf(9), to: dayOf(20), isVerified }));
      const question = { toDay: dayNumber(dayOf(22)) };
      const status = async () => (await told(warehouse, question)).totals;
      // Days 10 and 11 lie between rows, 20 and 21 behind the read.
      expect(await status()).toMatchObject({ asked: 14, present: 10, neverRead: 4, missing: 0, missingAfterLast: 0 });
      await loadOne(warehouse, reading(rows, { from: dayOf(9), to: dayOf(20) }));
      expect(await status()).toMatchObject({ asked: 21, present: 10, neverRead: 2, missing: 9, missingAfterLast: 7 });
    });

    it('G4: coverage excludes a held window, and days that a window cuts', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20), { to: dayOf(21) }));
      expect(await loadOne(warehouse, reading([]))).toMatchObject({ state: 'held' });
      await loadOne(warehouse, { ...reading([], { uwi: 'B' }), readDays: undefined });
      expect(await ask(warehouse, ledger)).toEqual([[uwi, dayOf(1), dayOf(21)]]);
    });

    it('G1: coverage is the same for repeated reads as for one read of each window', async () => {
      const stretch = fc
        .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12 }))
        .map(([from, length]): DayInterval => ({ fromDay: from, toDay: from + length }));
      const property = fc.asyncProperty(fc.array(stretch, { minLength: 1, maxLength: 8 }), async (read) => {
        const { warehouse, dispose } = await open();
        try {
          for (const { fromDay, toDay } of read) {
            await loadOne(warehouse, reading([], { from: dayOf(fromDay), to: dayOf(toDay) }));
          }
          const expected = mergeDays(read).map(({ fromDay, toDay }) => [uwi, dayOf(fromDay), dayOf(toDay)]);
          expect(await ask(warehouse, ledger)).toEqual(expected);
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, 6);
    });
  });

  describe('a survey of coverage', () => {
    it('tells present, quarantined, missing and never read apart, and they make all days asked for', async () => {
      const { warehouse } = test();
      const rows = dailyRows(10).filter((each) => each.day !== dayOf(4) && each.day !== dayOf(7));
      const broken = { to: dayOf(15), quarantined: [unreadable({ xid: 7, day: dayOf(7) })] };
      await loadOne(warehouse, reading(rows, broken));
      const { totals, wells, months, cells } = await told(warehouse, january);
      const days = { asked: 31, present: 8, quarantined: 1, missing: 5, neverRead: 17 };
      expect(totals).toEqual({ ...days, missingAfterLast: 4, wells: 1, emptyWells: 0, wellsWithHoles: 1 });
      expect(wells).toEqual([{ uwi, firstDay: dayOf(1), lastDay: dayOf(10), ...days, missingAfterLast: 4 }]);
      expect(months).toEqual([{ month: '2024-01-01', ...days }]);
      expect(cells).toEqual([{ uwi, month: '2024-01-01', ...days }]);
    });

    it('knows the last day of a well though only earlier ones are asked for', async () => {
      const { warehouse } = test();
      const rows = dailyRows(20).filter((each) => each.day < dayOf(4) || each.day > dayOf(8));
      await loadOne(warehouse, reading(rows, { to: dayOf(21) }));
      const { totals, wells } = await told(warehouse, { fromDay: january.fromDay, toDay: dayNumber(dayOf(7)) });
      expect(totals).toMatchObject({ asked: 6, present: 3, missing: 3, missingAfterLast: 0 });
      expect(wells).toMatchObject([{ firstDay: dayOf(1), lastDay: dayOf(20) }]);
    });

    it('counts a day with a row and a quarantined record as quarantined, and one with two rows once', async () => {
      const { warehouse } = test();
      const rows = [row(1, dayOf(1)), row(2, dayOf(1)), row(3, dayOf(2))];
      await loadOne(warehouse, reading(rows, { quarantined: [unreadable({ xid: 9, day: dayOf(2) })] }));
      const { totals } = await told(warehouse, { fromDay: dayNumber(dayOf(1)), toDay: dayNumber(dayOf(3)) });
      expect(totals).toMatchObject({ asked: 2, present: 1, quarantined: 1, missing: 0, neverRead: 0 });
    });

    it('ends a plugged well with its last day, and asks nothing of one without a day', async () => {
      const { warehouse } = test();
      const windows = ['ended', 'goes on'].map((name, unit) =>
        reading(dailyRows(10).slice(0, 8), { uwi: name, unit, to: dayOf(15) }),
      );
      await load(warehouse, [...windows, reading([], { uwi: 'empty', unit: 2, to: dayOf(15) })]);
      const { wells, totals } = await told(warehouse, { ...january, plugged: ['ended', 'empty'] });
      expect(wells.map((well) => [well.uwi, well.asked, well.missing, well.neverRead])).toEqual([
        ['empty', 0, 0, 0],
        ['ended', 8, 0, 0],
        ['goes on', 31, 6, 17],
      ]);
      expect(totals).toMatchObject({ asked: 39, wellsWithHoles: 1 });
    });

    it('begins with the first known day of a well where no day is named', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(5)), row(2, dayOf(6))], { from: '1900-01-01', to: dayOf(8) }));
      await loadOne(warehouse, reading([], { uwi: 'empty', from: '1900-01-01', to: dayOf(8) }));
      const { totals, wells } = await told(warehouse, { toDay: january.toDay });
      expect(totals).toMatchObject({ wells: 2, emptyWells: 1, asked: 27, present: 2, missing: 1, neverRead: 24 });
      expect(wells).toMatchObject([{ firstDay: dayOf(5) }, { uwi: 'empty', firstDay: null, asked: 0 }]);
      const january2024 = await told(warehouse, { ...january, uwis: ['empty'] });
      expect(january2024.totals).toMatchObject({ missing: 7, missingAfterLast: 0 });
    });

    it('is of the wells that are named, known or not, and shows the worst first', async () => {
      const { warehouse } = test();
      const all = ['A', 'B', 'C'].map((name, unit) => reading(dailyRows(30 - unit), { uwi: name, unit }));
      await load(warehouse, all);
      const { wells, worst, totals } = await told(warehouse, { ...january, uwis: ['B', 'nobody', 'B', `O'Brien`] });
      expect(wells.map((well) => [well.uwi, well.present, well.neverRead])).toEqual([
        ['B', 29, 0],
        [`O'Brien`, 0, 31],
        ['nobody', 0, 31],
      ]);
      expect(worst.map((well) => well.uwi)).toEqual([`O'Brien`, 'nobody']);
      expect(totals).toMatchObject({ wells: 3, asked: 93, emptyWells: 2 });
    });

    it('is as counting day by day, for any rows, readings and range', async () => {
      const property = fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 25, max: 70 }), { maxLength: 30 }),
        fc.array(fc.tuple(fc.integer({ min: 20, max: 70 }), fc.integer({ min: 1, max: 25 })), { maxLength: 3 }),
        fc.integer({ min: 20, max: 50 }),
        fc.integer({ min: 1, max: 60 }),
        async (present, reads, fromDay, length) => {
          const { warehouse, dispose } = await open();
          try {
            const rows = present.map((day) => row(day, dayOf(day)));
            // Backfills: what incremental windows have passed unread is not counted as never read.
            const mode = 'backfill';
            const first = reading(rows, { from: dayOf(1), to: dayOf(90), mode });
            await loadOne(warehouse, { ...first, readDays: undefined });
            const read = new Set<number>();
            for (const [from, days] of reads) {
              const within = rows.filter((each) => each.day >= dayOf(from) && each.day < dayOf(from + days));
              await loadOne(warehouse, reading(within, { from: dayOf(from), to: dayOf(from + days), mode }));
              for (let day = from; day < from + days; day += 1) read.add(day);
            }
            const asked = Array.from({ length }, (_, index) => fromDay + index);
            const missing = asked.filter((day) => !present.includes(day) && read.has(day));
            const neverRead = asked.filter((day) => !present.includes(day) && !read.has(day));
            const question = {
              uwis: [uwi],
              fromDay: dayNumber(dayOf(fromDay)),
              toDay: dayNumber(dayOf(fromDay + length)),
            };
            const { totals, months } = await told(warehouse, question);
            expect(totals).toMatchObject({ asked: length, missing: missing.length, neverRead: neverRead.length });
            expect(totals.present).toBe(length - missing.length - neverRead.length);
            expect(months.map((month) => month.month)).toEqual([
              ...new Set(asked.map((day) => `${dayOf(day).slice(0, 7)}-01`)),
            ]);
          } finally {
            await dispose();
          }
        },
      );
      await expectForAllAsync(property, 8);
    });

    it('says which days are known, as stretches', async () => {
      const { warehouse } = test();
      const rows = [row(1, dayOf(1)), row(2, dayOf(2)), row(4, dayOf(4))];
      await loadOne(warehouse, reading(rows, { quarantined: [unreadable({ xid: 5, day: dayOf(5) }), unreadable()] }));
      const known = await warehouse.coverage.knownDays([uwi, 'nobody']);
      const stretches = known.get(uwi)?.map(({ fromDay, toDay }) => [dayText(fromDay), dayText(toDay)]);
      expect(stretches).toEqual([
        [dayOf(1), dayOf(3)],
        [dayOf(4), dayOf(6)],
      ]);
      expect(known.has('nobody')).toBe(false);
      expect(await warehouse.coverage.knownDays([])).toEqual(new Map());
    });
  });

  describe('the profile of a service', () => {
    it('is probed by one claim of each run, of claims at the same time', async () => {
      const { profiles } = test().warehouse.ledger;
      const claims = async (runs: readonly string[]) =>
        Promise.all(runs.map((run) => profiles.claimProbe(run, at('2024-01-01'))));
      const ofFirst = await claims(['run 1', 'run 1', 'run 1']);
      expect(ofFirst.filter(Boolean)).toHaveLength(1);
      expect(await claims(['run 1', 'run 2'])).toEqual([false, true]);
    });

    it('is kept as it was saved last, by the address of the service', async () => {
      const { warehouse } = test();
      expect(await warehouse.ledger.profiles.read('http://a')).toBeUndefined();
      await warehouse.ledger.profiles.save('http://a', '{"base":0}', at('2024-01-01'));
      await warehouse.ledger.profiles.save('http://b', '{"base":7}', at('2024-01-01'));
      await warehouse.ledger.profiles.save('http://a', '{"base":1}', at('2024-01-02'));
      expect(await warehouse.ledger.profiles.read('http://a')).toBe('{"base":1}');
      const saved = await ask(warehouse, 'SELECT base_url, saved_at FROM service_profile ORDER BY base_url');
      expect(saved).toEqual([
        ['http://a', '2024-01-02T00:00:00Z'],
        ['http://b', '2024-01-01T00:00:00Z'],
      ]);
    });
  });
}
