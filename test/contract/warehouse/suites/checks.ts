/** Checks of daily production by the port: what commits find, and what is evaluated on request. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WellChecks } from '../../../../src/warehouse/port/wells.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { checksOf } from '../../../support/check-settings.ts';
import type { DatedRow } from '../../../support/daily-rows.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { bySuite } from '../../../support/suite-size.ts';
import { ask, dayOf, endRun, guard, planned, reading, row } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const checks = checksOf();

type Values = Parameters<typeof row>[2];

const steady = (day: number): Values => ({
  oilRate: 100 + (day % 7) / 10,
  gasRate: 9_000 + (day % 5),
  waterRate: 30 + (day % 3) / 10,
  tubingPressure: 300,
  casingPressure: 200,
});

/** A row a day from the first of 2024 on; `changed`: other values, by the number of the day; null leaves the day out. */
function days(count: number, changed: Readonly<Record<number, Values | null>> = {}): readonly DatedRow[] {
  return Array.from({ length: count }, (_, index) => index + 1).flatMap((day) => {
    const other = changed[day];
    return other === null ? [] : [row(day, dayOf(day), { ...steady(day), ...other })];
  });
}

async function commit(
  warehouse: WarehouseHandle,
  rows: readonly DatedRow[],
  details: Parameters<typeof reading>[1] = {},
  by: WellChecks = checks,
): Promise<string> {
  const runId = await commitAlone(warehouse, rows, details, by);
  await endRun(warehouse, runId, { observations: { isOfWells: true } });
  return runId;
}

/** Of a run that does not end. */
async function commitAlone(
  warehouse: WarehouseHandle,
  rows: readonly DatedRow[],
  details: Parameters<typeof reading>[1] = {},
  by: WellChecks = checks,
): Promise<string> {
  const window = reading(rows, { from: '2024-01-01', to: dayOf(400), ...details });
  const runId = await planned(warehouse, [window]);
  const shrink = { ...guard, allow: true };
  await warehouse.dailyProduction.commit({ runId, windows: [window], shrink, checks: by });
  return runId;
}

function found(warehouse: WarehouseHandle): Promise<readonly (readonly unknown[])[]> {
  return ask(
    warehouse,
    `SELECT "check", CAST(production_day AS VARCHAR), field, value, expected FROM check_result ORDER BY uwi, "check", production_day`,
  );
}

async function alerts(warehouse: WarehouseHandle) {
  const filter = { limit: 100, nowMs: Date.now(), kinds: ['check'] as const };
  return (await warehouse.ledger.alerts.list(filter)).alerts.map(({ target, state, severity, detail }) => ({
    target: target.id,
    state,
    severity,
    detail,
  }));
}

export function describeChecks(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('checks of daily production', () => {
    it('find what a first load brings, and drop nothing', async () => {
      const { warehouse } = test();
      const runId = await commit(warehouse, days(60, { 20: { waterRate: -4 }, 30: { downtimeHours: 25, oilRate: 7 } }));
      expect(await found(warehouse)).toEqual([
        ['hours-out-of-bounds', dayOf(30), 'downtime_hours', 25, 24],
        ['negative', dayOf(20), 'water_rate', -4, 0],
        ['production-while-down', dayOf(30), 'oil_rate', 7, 0],
      ]);
      expect(await ask(warehouse, 'SELECT count(*) FROM daily_production')).toEqual([[60]]);
      expect(await ask(warehouse, 'SELECT DISTINCT severity, run_id, uwi FROM check_result')).toEqual([
        ['info', runId, uwi],
      ]);
    });

    it('are an alert by check and well, as long as they find something', async () => {
      const { warehouse } = test();
      const severe = checksOf({ checks: { severity: { negative: 'warning' } } });
      await commit(warehouse, days(60, { 20: { waterRate: -4 }, 22: { waterRate: -9 } }), {}, severe);
      const sql = `SELECT * FROM check_result WHERE "check" = 'negative' AND uwi = '${uwi}' ORDER BY production_day`;
      const detail = { check: 'negative', findings: 2, field: 'water_rate', worstValue: -9, sql };
      const alert = { target: `${uwi} negative`, state: 'open', severity: 'warning' };
      expect(await alerts(warehouse)).toEqual([
        { ...alert, detail: { ...detail, firstDay: dayOf(20), lastDay: dayOf(22) } },
      ]);
      expect(await ask(warehouse, sql)).toHaveLength(2);
      await commit(warehouse, days(60), {}, severe);
      expect(await found(warehouse)).toEqual([]);
      expect(await alerts(warehouse)).toMatchObject([{ ...alert, state: 'resolved' }]);
    });

    it('are an alert by the end of the next run of the well, where their own has none', async () => {
      const { warehouse } = test();
      const [negative, higher] = [{ 20: { waterRate: -4 } }, { 20: { waterRate: -4 }, 30: { waterRate: -5 } }];
      await commitAlone(warehouse, days(60, negative));
      expect(await alerts(warehouse)).toEqual([]);
      await commit(warehouse, days(60, negative));
      expect(await alerts(warehouse)).toMatchObject([{ target: `${uwi} negative`, detail: { findings: 1 } }]);
      await commitAlone(warehouse, days(60, higher));
      await commit(warehouse, [], { uwi: 'ANOTHER' });
      expect(await alerts(warehouse)).toMatchObject([{ detail: { findings: 1 } }]);
      await commit(warehouse, days(60, higher));
      expect(await alerts(warehouse)).toMatchObject([{ detail: { findings: 2, worstValue: -5 } }]);
    });

    it('are alerts once what is stored is evaluated, whoever wrote it', async () => {
      const { warehouse } = test();
      await commitAlone(warehouse, days(60, { 20: { waterRate: -4 } }));
      await warehouse.checks.evaluate([uwi], checks, 'tester');
      expect(await alerts(warehouse)).toMatchObject([{ target: `${uwi} negative`, state: 'open' }]);
      await commitAlone(warehouse, days(60));
      await warehouse.checks.evaluate([uwi], checks, 'tester');
      expect(await alerts(warehouse)).toMatchObject([{ state: 'resolved' }]);
    });

    it('leave an alert that a person resolved, until there is another finding', async () => {
      const { warehouse } = test();
      const jumped: Record<number, Values> = { 20: { waterRate: -4 }, 50: { oilRate: 160 } };
      const first = await commit(warehouse, days(52, jumped));
      const { alerts: opened } = await warehouse.ledger.alerts.list({ limit: 9, nowMs: Date.now(), kinds: ['check'] });
      expect(opened).toHaveLength(2);
      const ids = opened.map(({ id }) => id);
      await warehouse.ledger.alerts.resolve({ ids, by: 'anna', because: 'a well test', atMs: Date.now() });
      const states = async () =>
        Object.fromEntries((await alerts(warehouse)).map(({ target, state }) => [target.slice(uwi.length + 1), state]));
      const isResolved = { jump: 'resolved', negative: 'resolved' };
      // Each day moves the median that the jump is held against.
      for (const count of [53, 54, 55]) {
        await commit(warehouse, days(count, jumped));
        expect(await states()).toEqual(isResolved);
      }
      expect(await ask(warehouse, 'SELECT DISTINCT run_id FROM check_result')).toEqual([[first]]);
      await commit(warehouse, days(56, { ...jumped, 56: { downtimeHours: -1 } }));
      expect(await states()).toEqual({ ...isResolved, 'hours-out-of-bounds': 'open' });
      await commit(warehouse, days(57, { ...jumped, 56: { downtimeHours: -1 }, 57: { waterRate: -1 } }));
      expect(await states()).toEqual({ jump: 'resolved', negative: 'open', 'hours-out-of-bounds': 'open' });
    });

    it('replace the findings of the days that a change reaches, and keep the others as they were', async () => {
      const { warehouse } = test();
      const first = await commit(warehouse, days(200, { 20: { waterRate: -4 }, 150: { waterRate: -5 } }));
      const second = await commit(warehouse, days(201, { 20: { waterRate: -4 }, 150: null }));
      expect(await found(warehouse)).toEqual([['negative', dayOf(20), 'water_rate', -4, 0]]);
      expect(await ask(warehouse, 'SELECT DISTINCT run_id FROM check_result')).toEqual([[first]]);
      expect(second).not.toBe(first);
    });

    it('of two records of one day check the later one, and say that there are two', async () => {
      const { warehouse } = test();
      const twice = [...days(40), row(900, dayOf(30), { ...steady(30), waterRate: -2 })];
      await commit(warehouse, twice);
      const both = [
        ['day-identity', dayOf(30), 'record', 2, 1],
        ['negative', dayOf(30), 'water_rate', -2, 0],
      ];
      expect(await found(warehouse)).toEqual(both);
      await warehouse.checks.evaluate([uwi], checks, 'tester');
      expect(await found(warehouse)).toEqual(both);
    });

    it('take the largest numbers, the first and the last year, and a well with one row', async () => {
      const { warehouse } = test();
      const large = { oilRate: 1e308, gasRate: -1e308, waterRate: 1e308, tubingPressure: -1e308, downtimeHours: 1e308 };
      const few = [row(1, '0001-02-03', large), row(2, '2024-02-29', { ...large, oilRate: -1e308 })];
      await commit(warehouse, [...few, row(3, '9998-12-31', large)], { from: '0001-01-02', to: '9999-01-01' });
      await commit(warehouse, [row(4, dayOf(5), { oilRate: -1 })], { uwi: 'ONE' });
      const before = await found(warehouse);
      expect(before).toContainEqual(['negative', dayOf(5), 'oil_rate', -1, 0]);
      await warehouse.checks.evaluate([uwi, 'ONE'], checks, 'tester');
      expect(await found(warehouse)).toEqual(before);
    });

    it('know wells by their records, from the day on which these said so', async () => {
      const { warehouse } = test();
      const named = checksOf({ wells: { typeField: 'type', statusField: 'status', liftField: 'lift.type' } });
      const well = { contentType: 'application/json', body: '{"type":"Injector","lift":{"type":"ESP"}}' };
      const runId = await planned(warehouse, [reading([], { uwi })]);
      const readings = [{ unit: 0, target: uwi, well }];
      await warehouse.wells.commit({
        runId,
        readings,
        shrink: guard,
        committedAtMs: Date.parse('2024-01-11T12:00:00Z'),
      });
      await commit(warehouse, days(15, { 12: { oilRate: 0 }, 14: { espFrequency: 0, oilRate: 0 } }), {}, named);
      expect(await found(warehouse)).toEqual([
        ...[11, 13].map((day) => ['excluded-stream', dayOf(day), 'oil_rate', 100 + (day % 7) / 10, 0]),
        ['excluded-stream', dayOf(14), 'esp_frequency', 0, null],
        ['excluded-stream', dayOf(15), 'oil_rate', 100.1, 0],
      ]);
    });

    it('hold a well to its record since that came to say so, whatever else of it changes later', async () => {
      const { warehouse } = test();
      const named = checksOf({ wells: { typeField: 'type' } });
      const bodies = [
        ['2024-01-02', '{"type":"Producer"}'],
        ['2024-01-05', '{"type":"Injector"}'],
        ['2024-01-09', '{"type":"Injector","name":"renamed"}'],
      ] as const;
      for (const [day, body] of bodies) {
        const runId = await planned(warehouse, [reading([], { uwi })]);
        const readings = [{ unit: 0, target: uwi, well: { contentType: 'application/json', body } }];
        const committedAtMs = Date.parse(`${day}T12:00:00Z`);
        await warehouse.wells.commit({ runId, readings, shrink: guard, committedAtMs });
      }
      const none = { oilRate: 0 };
      await commit(warehouse, days(12, { 8: none, 9: none, 10: none, 11: none, 12: none }), {}, named);
      expect((await found(warehouse)).map(([check, day]) => `${String(check)} ${String(day)}`)).toEqual(
        [5, 6, 7].map((day) => `excluded-stream ${dayOf(day)}`),
      );
    });

    it('know the codes that a well has had: a new one is found on its first day', async () => {
      const { warehouse } = test();
      const down = (downtimeCode: string): Values => ({ downtimeHours: 2, downtimeCode });
      const first = { 10: down('A'), 12: down('B'), 14: down('A') };
      await commit(warehouse, days(40, first));
      await commit(warehouse, days(60, { ...first, 45: down('B'), 50: down('C') }));
      const isNew = [['downtime-reason', dayOf(50), 'downtime_code', 2, null]];
      expect(await found(warehouse)).toEqual(isNew);
      await commit(warehouse, days(70, { ...first, 45: down('B'), 50: down('C'), 55: down('C') }));
      expect(await found(warehouse)).toEqual(isNew);
    });

    it('find the same in nights as in one load, whatever the order in which the days come', async () => {
      const { warehouse } = test();
      let wells = 0;
      const value = fc.oneof(
        { weight: 6, arbitrary: fc.constant<Values>({}) },
        fc.record({ oilRate: fc.constantFrom(0, -1, 100, 300, 628.98, 1e308) }),
        fc.record({ downtimeHours: fc.constantFrom(-1, 0.5, 6, 12, 24, 30) }),
        fc.record({ tubingPressure: fc.constantFrom(0, 20.684, -20) }),
        fc.constant({ oilRate: 77, gasRate: 5, waterRate: 6 }),
        fc.constant(null),
      );
      const property = fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 130 }),
        fc.array(fc.tuple(fc.nat(129), fc.integer({ min: 1, max: 40 })), { maxLength: 3 }),
        async (values, parts) => {
          wells += 1;
          const rows = days(values.length, Object.fromEntries(values.map((each, index) => [index + 1, each])));
          const [whole, night] = [`WHOLE ${wells}`, `NIGHT ${wells}`];
          await commit(warehouse, rows, { uwi: whole });
          for (const [from, length] of [...parts, [0, 400] as const]) {
            const [first, last] = [dayOf(from + 1), dayOf(from + length + 1)];
            const own = rows.filter(({ day }) => day >= first && day < last);
            await commit(warehouse, own, { uwi: night, from: first, to: last });
          }
          const of = (name: string) =>
            ask(
              warehouse,
              `SELECT "check", CAST(production_day AS VARCHAR), field, value, expected FROM check_result
               WHERE uwi = '${name}' AND "check" <> 'rate-or-volume' ORDER BY 1, 2`,
            );
          const expected = await of(whole);
          expect(await of(night)).toEqual(expected);
          await warehouse.checks.evaluate([night], checks, 'tester');
          expect(await of(night)).toEqual(expected);
        },
      );
      await expectForAllAsync(property, bySuite(3, 6));
    });
  });
}
