/** The time zones of rows, and their change by steps: kept zones, what is refused meanwhile, what counts after it. */
import { describe, expect, it } from 'vitest';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { checksOf } from '../../../support/check-settings.ts';
import { ask, at, endRun, guard, planned, reading, row, xidOf } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const chicago = { timeZone: 'America/Chicago', ofWells: new Map<string, string>() };
const utc = { timeZone: 'UTC', ofWells: new Map<string, string>() };
const all = { afterId: 0, limit: 1_000 };
const stored = `SELECT uwi, CAST(xid AS VARCHAR), CAST(production_day AS VARCHAR), CAST(oil_rate AS INTEGER), counts
  FROM daily_production ORDER BY 1, 2`;

function openAlerts(warehouse: WarehouseHandle): Promise<readonly (readonly unknown[])[]> {
  return ask(warehouse, `SELECT target FROM alert WHERE kind = 'check' AND state <> 'resolved'`);
}

export function describeZones(open: OpenWarehouse): void {
  describe('the time zones of rows', () => {
    const current = freshWarehouse(open);

    /** Two wells, of which B has its own zone; A has two records on the second of January, the first of which counts. */
    async function filled() {
      const { warehouse } = current();
      await warehouse.zones.keep('UTC');
      const commit = async (windows: ReturnType<typeof reading>[]): Promise<string> => {
        const runId = await planned(warehouse, windows);
        await warehouse.dailyProduction.commit({ runId, windows, shrink: { ...guard, allow: true } });
        return runId;
      };
      const first = [row(1, '2024-01-01', { oilRate: 1 }), row(2, '2024-01-02', { oilRate: 2 })];
      await commit([
        reading(first, { uwi: 'A', from: '2024-01-01', to: '2024-01-09' }),
        reading([row(7, '2024-01-01')], { uwi: 'B', unit: 1, timeZone: 'Asia/Tokyo' }),
      ]);
      await commit([
        reading([row(3, '2024-01-02', { oilRate: 3 })].concat(first), {
          uwi: 'A',
          from: '2024-01-01',
          to: '2024-01-09',
        }),
      ]);
      return { warehouse, commit };
    }

    it('are kept: that of the warehouse by its first export, that of a well by its first read', async () => {
      const { warehouse, commit } = await filled();
      await warehouse.zones.keep('Europe/Oslo');
      expect(await warehouse.zones.read()).toEqual({ timeZone: 'UTC', rezone: undefined });
      expect(await warehouse.zones.ofWells(['A', 'B', 'C'])).toEqual(
        new Map([
          ['A', 'UTC'],
          ['B', 'Asia/Tokyo'],
        ]),
      );
      await expect(commit([reading([], { uwi: 'A', timeZone: 'Europe/Oslo' })])).rejects.toThrow(
        'A was read by the time zone Europe/Oslo, and its rows are dated by UTC',
      );
      expect(await warehouse.zones.others(utc, all)).toMatchObject([{ uwi: 'B', from: 'Asia/Tokyo', to: 'UTC' }]);
      await commit([reading([], { uwi: 'A', timeZone: 'Etc/UTC' })]);
    });

    it('G1, G3: a rezone goes on where it was stopped, no read is merged meanwhile, and back again all is as before', async () => {
      const { warehouse, commit } = await filled();
      const before = await ask(warehouse, stored);
      expect(before.filter((cells) => cells[4] === false).map(([uwi, xid]) => [uwi, xid])).toEqual([['A', xidOf(3)]]);
      const { zones } = warehouse;
      const wells = await zones.others(chicago, all);
      const measured = await zones.measure(wells);
      expect(measured).toEqual({ rows: 4, otherDay: 4, otherMonth: 2 });

      await zones.begin('America/Chicago');
      await zones.step('America/Chicago', wells.slice(0, 1), undefined);
      expect(await zones.read()).toMatchObject({ timeZone: 'UTC', rezone: { to: 'America/Chicago', wells: 1 } });
      expect(await warehouse.describe()).toMatchObject({ timeZone: 'UTC', rezoneTo: 'America/Chicago' });
      await expect(commit([reading([], { uwi: 'A', timeZone: 'America/Chicago' })])).rejects.toThrow(
        'the rows of the warehouse are being dated by America/Chicago: 1 well is done',
      );
      const left = await zones.others(chicago, all);
      expect(left.map(({ uwi }) => uwi)).toEqual(['B']);
      await zones.begin('America/Chicago');
      await zones.step('America/Chicago', left, undefined);
      await zones.finish('America/Chicago');
      expect(await zones.read()).toEqual({ timeZone: 'America/Chicago', rezone: undefined });
      expect(await zones.others(chicago, all)).toEqual([]);
      const dayBefore = (day: unknown): string => new Date(at(String(day)) - 86_400_000).toISOString().slice(0, 10);
      expect(await ask(warehouse, stored)).toEqual(
        before.map(([uwi, xid, day, oil, counts]) => [uwi, xid, dayBefore(day), oil, counts]),
      );
      expect(await ask(warehouse, `SELECT CAST(last_day AS VARCHAR) FROM watermark ORDER BY uwi`)).toEqual([
        ['2024-01-01'],
        ['2023-12-31'],
      ]);

      const toBack = { timeZone: 'UTC', ofWells: new Map([['B', 'Asia/Tokyo']]) };
      await zones.begin('UTC');
      await zones.step('UTC', await zones.others(toBack, all), undefined);
      await zones.finish('UTC');
      expect(await ask(warehouse, stored)).toEqual(before);
      expect(await zones.ofWells(['B'])).toEqual(new Map([['B', 'Asia/Tokyo']]));
    });

    it('shorten coverage by the days that were seen in part, and take the history along', async () => {
      const { warehouse, commit } = await filled();
      await commit([
        reading([row(1, '2024-01-01', { oilRate: 9 })], { uwi: 'A', from: '2024-01-01', to: '2024-01-02' }),
      ]);
      const history = `SELECT CAST(production_day AS VARCHAR) FROM daily_production_history WHERE change = 'updated'`;
      expect(await ask(warehouse, history)).toEqual([['2024-01-01']]);
      const coverage = `SELECT CAST(from_day AS VARCHAR), CAST(to_day AS VARCHAR) FROM coverage WHERE uwi = 'A'`;
      expect(await ask(warehouse, coverage)).toEqual([['2024-01-01', '2024-01-09']]);
      await warehouse.zones.begin('America/Chicago');
      await warehouse.zones.step('America/Chicago', await warehouse.zones.others(chicago, all), undefined);
      await warehouse.zones.finish('America/Chicago');
      expect(await ask(warehouse, history)).toEqual([['2023-12-31']]);
      expect(await ask(warehouse, coverage)).toEqual([['2024-01-02', '2024-01-08']]);
    });

    it('take what checks found along, in the same step', async () => {
      const { warehouse } = current();
      await warehouse.zones.keep('UTC');
      const windows = [reading([row(1, '2024-01-05', { oilRate: -1 })], { uwi: 'A' })];
      const runId = await planned(warehouse, windows);
      await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, checks: checksOf() });
      const found = `SELECT "check", CAST(production_day AS VARCHAR) FROM check_result WHERE "check" = 'negative'`;
      expect(await ask(warehouse, found)).toEqual([['negative', '2024-01-05']]);
      await warehouse.zones.begin('America/Chicago');
      await warehouse.zones.step('America/Chicago', await warehouse.zones.others(chicago, all), checksOf());
      expect(await ask(warehouse, found)).toEqual([['negative', '2024-01-04']]);
      await warehouse.zones.finish('America/Chicago');
      await warehouse.zones.begin('UTC');
      await warehouse.zones.step('UTC', await warehouse.zones.others(utc, all), undefined);
      expect(await ask(warehouse, 'SELECT 1 FROM check_result')).toEqual([]);
      // The alert that the first step made goes with the next run of the well.
      expect(await openAlerts(warehouse)).toHaveLength(1);
      await endRun(warehouse, runId, { observations: { isOfWells: true } });
      expect(await openAlerts(warehouse)).toEqual([]);
    });

    it('are those of the rezone that began last: an earlier one to another zone ends, and none dates a well twice', async () => {
      const { warehouse } = await filled();
      const { zones } = warehouse;
      const wells = await zones.others(chicago, all);
      await zones.begin('America/Chicago');
      await zones.step('America/Chicago', wells.slice(0, 1), undefined);
      // Two processes with one zone: the second has found the same wells.
      const coverage = `SELECT CAST(from_day AS VARCHAR), CAST(to_day AS VARCHAR) FROM coverage WHERE uwi = 'A'`;
      const shortened = await ask(warehouse, coverage);
      expect(await zones.step('America/Chicago', wells.slice(0, 1), undefined)).toMatchObject({ rows: 0 });
      expect(await ask(warehouse, coverage)).toEqual(shortened);

      await zones.begin('Asia/Tokyo');
      const overtaken = 'another process dates the rows by Asia/Tokyo meanwhile: this one has ended';
      await expect(zones.step('America/Chicago', wells.slice(1), undefined)).rejects.toThrow(overtaken);
      await expect(zones.finish('America/Chicago')).rejects.toThrow(overtaken);
      const tokyo = { timeZone: 'Asia/Tokyo', ofWells: new Map<string, string>() };
      await zones.step('Asia/Tokyo', await zones.others(tokyo, all), undefined);
      await zones.finish('Asia/Tokyo');
      await zones.finish('Asia/Tokyo');
      await expect(zones.finish('America/Chicago')).rejects.toThrow('another process has dated the rows by Asia/Tokyo');
      expect(await zones.read()).toEqual({ timeZone: 'Asia/Tokyo', rezone: undefined });
      expect(await zones.others(tokyo, all)).toEqual([]);
    });

    it('cannot be changed while rows are held', async () => {
      const { warehouse } = current();
      const rows = Array.from({ length: 20 }, (_, index) =>
        row(index + 1, `2024-01-${String(index + 1).padStart(2, '0')}`),
      );
      await warehouse.zones.keep('UTC');
      for (const windows of [[reading(rows, { uwi: 'A' })], [reading([], { uwi: 'A' })]]) {
        const runId = await planned(warehouse, windows);
        await warehouse.dailyProduction.commit({ runId, windows, shrink: guard });
      }
      await expect(warehouse.zones.begin('America/Chicago')).rejects.toThrow('1 well has held rows');
    });
  });
}
