/** Time series definitions and wells by their ports. */
import { describe, expect, it } from 'vitest';
import { timeSeries, type TimeSeriesRecord } from '../../../../src/core/definitions/record-list.ts';
import type { RecordsReading } from '../../../../src/warehouse/port/wells.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { commonTypes } from '../../../../src/warehouse/sql/daily/row-fields.ts';
import { tablesOfList } from '../../../../src/warehouse/sql/schema.ts';
import { bareSample, fullSample, type SampledRecord, sampledList } from '../../../support/sampled-list.ts';
import { ask, at, committedAtMs, guard, loadOne, reading, xidOf } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

function definition(number: number, details: Partial<TimeSeriesRecord> = {}): TimeSeriesRecord {
  const standard = { equipmentXid: xidOf(900), sourceId: `S${number}`, measurement: 'OilRate', unit: 'Sm3/d' };
  return { xid: xidOf(number), ...standard, ...details };
}

const some = (count: number): readonly TimeSeriesRecord[] =>
  Array.from({ length: count }, (_, index) => definition(index + 1));

let runs = 0;

async function plannedRun(warehouse: WarehouseHandle, targets: readonly string[]): Promise<string> {
  runs += 1;
  const runId = `definitions-${runs}`;
  await warehouse.ledger.runs.create({
    runId,
    job: 'export time-series',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: committedAtMs,
  });
  const units = targets.map((target, unit) => ({ unit, chunk: 0, target, spec: {} }));
  await warehouse.ledger.runs.savePlan(runId, units, committedAtMs);
  return runId;
}

export function describeDefinitions(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  async function loadSeries(
    records: Readonly<Record<string, readonly TimeSeriesRecord[]>>,
    shrink = guard,
    atMs = committedAtMs,
  ) {
    const { warehouse } = test();
    const runId = await plannedRun(warehouse, Object.keys(records));
    const readings = Object.entries(records).map(([target, list], unit): RecordsReading => ({
      unit,
      target,
      records: list,
    }));
    return warehouse.records(timeSeries).commit({ runId, readings, shrink, committedAtMs: atMs });
  }

  async function loadWell(target: string, body: string, contentType: string | null = 'application/json') {
    const { warehouse } = test();
    const runId = await plannedRun(warehouse, [target]);
    const readings = [{ unit: 0, target, well: { contentType, body } }];
    const [outcome] = await warehouse.wells.commit({ runId, readings, shrink: guard, committedAtMs });
    return outcome?.counts;
  }

  const history = 'SELECT CAST(xid AS VARCHAR), measurement, change FROM time_series_history ORDER BY change, xid';

  describe('time series definitions', () => {
    it('are inserted, updated, renamed and removed by equipment, with what they said before in the history', async () => {
      const { warehouse } = test();
      const [first] = await loadSeries({ 'EQ 1': some(5), 'EQ 2': some(2) }, guard, at('2024-02-01'));
      expect(first?.counts).toEqual({
        read: 5,
        inserted: 5,
        updated: 0,
        unchanged: 0,
        repeated: 0,
        removed: 0,
        heldRows: 0,
        targetsWithRows: 1,
      });
      const [, , , ...rest] = some(5);
      const changed = [
        definition(1, { measurement: 'Other' }),
        definition(99, { sourceId: 'S2' }),
        ...rest,
        definition(7),
      ];
      const [second] = await loadSeries({ 'EQ 1': [...changed, definition(7)] }, guard, at('2024-02-02'));
      expect(second?.counts).toMatchObject({ read: 6, inserted: 1, updated: 2, unchanged: 2, repeated: 1, removed: 1 });
      expect(await ask(warehouse, history)).toEqual([
        [xidOf(3), 'OilRate', 'removed'],
        [xidOf(2), 'OilRate', 'replaced'],
        [xidOf(1), 'OilRate', 'updated'],
      ]);
      const times = await ask(warehouse, 'SELECT DISTINCT known_from, noticed_at FROM time_series_history');
      expect(times).toEqual([['2024-02-01T00:00:00Z', '2024-02-02T00:00:00Z']]);
      const kept = await ask(
        warehouse,
        `SELECT source_id FROM time_series WHERE equipment = 'EQ 1' ORDER BY source_id`,
      );
      expect(kept.flat()).toEqual(['S1', 'S2', 'S4', 'S5', 'S7']);
      expect(await warehouse.records(timeSeries).targets()).toEqual(['EQ 1', 'EQ 2']);
    });

    it('keep who inserted them and who changed them', async () => {
      await loadSeries({ 'EQ 1': some(1) });
      await loadSeries({ 'EQ 1': [definition(1, { unit: null })] });
      const [row] = await ask(test().warehouse, 'SELECT unit, inserted_run_id < changed_run_id FROM time_series');
      expect(row).toEqual([null, true]);
    });

    it('G1: the same definitions again change nothing, and a settled unit is skipped', async () => {
      const { warehouse } = test();
      await loadSeries({ 'EQ 1': some(3) });
      const before = await ask(warehouse, 'SELECT * FROM time_series ORDER BY xid');
      const [again] = await loadSeries({ 'EQ 1': some(3) });
      expect(again?.counts).toMatchObject({ unchanged: 3, inserted: 0 });
      const runId = await plannedRun(warehouse, ['EQ 1']);
      const commit = (records: readonly TimeSeriesRecord[]) =>
        warehouse.records(timeSeries).commit({
          runId,
          readings: [{ unit: 0, target: 'EQ 1', records }],
          shrink: guard,
          committedAtMs,
        });
      expect(await commit(some(3))).toHaveLength(1);
      expect(await commit([])).toEqual([]);
      expect(await ask(warehouse, 'SELECT * FROM time_series ORDER BY xid')).toEqual(before);
      expect((await warehouse.ledger.runs.totals(runId)).counts).toMatchObject({ read: 3, unchanged: 3 });
    });

    it('G1: of any letters do not change by being read again', async () => {
      const odd = { sourceId: 'S\0', measurement: 'A\0\ud800B', unit: '\udc00' };
      for (const changed of [{ inserted: 1 }, { inserted: 0, updated: 0, unchanged: 1 }]) {
        const [outcome] = await loadSeries({ 'EQ 1': [definition(1, odd)] });
        expect(outcome?.counts).toMatchObject(changed);
      }
      expect(await loadWell('A', 'name: \0 \ud800', 'text/plain')).toMatchObject({ inserted: 1 });
      expect(await loadWell('A', 'name: \0 \ud800', 'text/plain')).toMatchObject({ unchanged: 1 });
    });

    it('G4: equipment that would lose all its records is held, however few, until the operator allows it', async () => {
      const { warehouse } = test();
      await loadSeries({ 'EQ 1': some(2) });
      const [held] = await loadSeries({ 'EQ 1': [] });
      expect(held).toMatchObject({
        state: 'held',
        counts: { removed: 0, heldRows: 2 },
        fault: { code: 'rows-held' },
      });
      expect(await warehouse.records(timeSeries).targets()).toEqual(['EQ 1']);
      const [released] = await loadSeries({ 'EQ 1': [] }, { ...guard, allow: true });
      expect(released).toMatchObject({ state: 'done', counts: { removed: 2 } });
      expect(await warehouse.records(timeSeries).targets()).toEqual([]);
    });

    it('G4: records that are held stay in every later read, until as many are released or they are back', async () => {
      const { warehouse } = test();
      const { holds, runs: runLedger } = warehouse.ledger;
      const release = async (of: string, rows: number): Promise<string> => {
        runs += 1;
        const runId = `release-${runs}`;
        const request = { runId, job: 'export time-series', params: {}, service: 'https://service.example' };
        const made = { ...request, actor: 'tester@host', requestedAtMs: committedAtMs };
        expect(await holds.release(made, { of, kind: 'equipment', rows })).toEqual({ kind: 'created' });
        await runLedger.savePlan(runId, [{ unit: 0, chunk: 0, target: 'EQ 1', spec: {} }], committedAtMs);
        return runId;
      };
      const workRelease = async (runId: string, records: readonly TimeSeriesRecord[]) => {
        const readings = [{ unit: 0, target: 'EQ 1', records }];
        return (await warehouse.records(timeSeries).commit({ runId, readings, shrink: guard, committedAtMs }))[0];
      };
      await loadSeries({ 'EQ 1': some(10) });
      await loadSeries({ 'EQ 1': some(5) });
      // One record is no great loss, and stays: its equipment is held.
      expect(await loadSeries({ 'EQ 1': some(9) })).toMatchObject([{ state: 'held', counts: { heldRows: 1 } }]);
      await loadSeries({ 'EQ 1': some(10) });
      expect(await holds.standing('equipment', 10)).toMatchObject({ holds: 0 });

      await loadSeries({ 'EQ 1': some(5) });
      const { parts } = await holds.standing('equipment', 10);
      expect(parts).toMatchObject([{ target: 'EQ 1', month: null, rows: 5, firstDay: null, lastDay: null }]);
      const of = parts[0]?.runId ?? '';
      expect(await holds.standing('well', 10)).toMatchObject({ holds: 0 });
      const first = await release(of, 5);
      expect(await workRelease(first, some(4))).toMatchObject({ state: 'held', counts: { removed: 0, heldRows: 6 } });
      expect(await holds.ofRun(first, 'equipment', 10)).toMatchObject({ rows: 6, parts: [{ runId: first }] });
      const second = await release(first, 6);
      expect(await workRelease(second, some(4))).toMatchObject({ state: 'done', counts: { removed: 6, heldRows: 0 } });
      expect(await holds.standing('equipment', 10)).toMatchObject({ holds: 0 });
      expect(await ask(warehouse, `SELECT count(*) FROM time_series WHERE equipment = 'EQ 1'`)).toEqual([[4]]);
    });

    it('G3: a failed batch of definitions changes nothing', async () => {
      const { warehouse } = test();
      await expect(loadSeries({ 'EQ 1': some(1), 'EQ 2': [definition(1, { xid: 'no uuid' })] })).rejects.toThrow(
        /uuid/i,
      );
      expect(await warehouse.records(timeSeries).targets()).toEqual([]);
    });
  });

  describe('records of a list with fields of every kind', () => {
    it('G1, G2: are stored as they came, unchanged by another read, and kept in the history by a changed number', async () => {
      const made = tablesOfList(sampledList, commonTypes).map((table) => table.made);
      const warehouse = await test().changed(made.join(';'));
      const loadSamples = async (...records: readonly SampledRecord[]) => {
        const runId = await plannedRun(warehouse, ['A']);
        const readings = [{ unit: 0, target: 'A', records }];
        return (await warehouse.records(sampledList).commit({ runId, readings, shrink: guard, committedAtMs }))[0];
      };
      expect(await loadSamples(fullSample, bareSample)).toMatchObject({ counts: { inserted: 2 } });
      expect(await loadSamples(fullSample, bareSample)).toMatchObject({ counts: { unchanged: 2, updated: 0 } });
      const columns = `well, CAST(id AS VARCHAR), name, depth_m, depth_of_top, zones, zones_open, is_open, was_open,
        CAST(parent_id AS VARCHAR), remark`;
      expect(await ask(warehouse, `SELECT ${columns} FROM sample ORDER BY name`)).toEqual([
        ['A', ...Object.values(fullSample)],
        ['A', ...Object.values(bareSample)],
      ]);
      expect(await loadSamples({ ...fullSample, depthM: 0.3 }, bareSample)).toMatchObject({ counts: { updated: 1 } });
      expect(await ask(warehouse, 'SELECT name, depth_m, change FROM sample_history')).toEqual([
        ['C1', fullSample.depthM, 'updated'],
      ]);
    });
  });

  it('a list that is newer than the warehouse has its tables once the warehouse is worked on', async () => {
    const warehouse = await test().changed('DROP TABLE time_series; DROP TABLE time_series_history');
    const runId = await plannedRun(warehouse, ['EQ 1']);
    const readings = [{ unit: 0, target: 'EQ 1', records: some(2) }];
    const batch = { runId, readings, shrink: guard, committedAtMs };
    expect(await warehouse.records(timeSeries).commit(batch)).toMatchObject([{ counts: { inserted: 2 } }]);
    expect(await ask(warehouse, 'SELECT count(*) FROM time_series_history')).toEqual([[0]]);
  });

  describe('wells', () => {
    it('keep their body as it came, and as JSON where it is', async () => {
      const { warehouse } = test();
      const body = '{ "name": "O\'Brien \\ud83d\\ude00 \\ud800",\n "depth": 12345678901234567890 }';
      expect(await loadWell('15/9-F-1 C', body)).toMatchObject({ read: 1, inserted: 1 });
      await loadWell('text', 'name: A\u{1F6E2}', 'text/plain; charset=utf-8');
      const wells = await ask(
        warehouse,
        `SELECT source_id, content_type, body, document IS NULL FROM well ORDER BY source_id`,
      );
      expect(wells).toEqual([
        ['15/9-F-1 C', 'application/json', body, false],
        ['text', 'text/plain; charset=utf-8', 'name: A\u{1F6E2}', true],
      ]);
      const depth = `SELECT document->>'depth' FROM well WHERE source_id = '15/9-F-1 C'`;
      expect(await ask(warehouse, depth)).toEqual([['12345678901234567890']]);
    });

    it('do not change by another order of names, and keep what they were before where they do', async () => {
      const { warehouse } = test();
      await loadWell('A', '{"a":1,"b":{"c":2}}');
      expect(await loadWell('A', '{"b": {"c": 2}, "a": 1}', 'application/json; charset=utf-8')).toMatchObject({
        unchanged: 1,
      });
      expect(await loadWell('A', '{"a":1,"b":{"c":3}}')).toMatchObject({ updated: 1 });
      expect(await loadWell('A', 'a: 1', 'text/plain')).toMatchObject({ updated: 1 });
      const before = await ask(warehouse, 'SELECT body, change FROM well_history ORDER BY body');
      expect(before).toEqual([
        ['{"a":1,"b":{"c":2}}', 'updated'],
        ['{"a":1,"b":{"c":3}}', 'updated'],
      ]);
    });

    it('name their uwi and their time zone where the fields say', async () => {
      const { warehouse } = test();
      await loadWell('S1', '{"uwi":"U1","location":{"timeZone":"Europe/Oslo"}}');
      await loadWell('S2', '{"uwi":"U2","location":{}}');
      await loadWell('S3', '{"location":{"timeZone":"Asia/Tokyo"}}');
      await loadWell('S4', 'U4', 'text/plain');
      const { wells } = warehouse;
      const uwis = ['U1', 'U2', 'S3', 'S4', 'S1'];
      const timeZone = 'location.timeZone';
      expect(await wells.texts({ uwi: 'uwi', field: timeZone }, uwis)).toEqual(
        new Map([
          ['U1', 'Europe/Oslo'],
          ['S3', 'Asia/Tokyo'],
        ]),
      );
      expect((await wells.texts({ field: timeZone }, uwis)).get('S1')).toBe('Europe/Oslo');
      expect(await wells.texts({ field: timeZone }, [])).toEqual(new Map());
      expect((await wells.known('uwi')).map(({ sourceId, uwi }) => [sourceId, uwi])).toEqual([
        ['S1', 'U1'],
        ['S2', 'U2'],
        ['S3', 'S3'],
        ['S4', 'S4'],
      ]);
      expect((await wells.known()).map(({ uwi }) => uwi)).toEqual(['S1', 'S2', 'S3', 'S4']);
    });
  });

  it('the wells that daily production was read of are known by name', async () => {
    const { warehouse } = test();
    expect(await warehouse.dailyProduction.uwis()).toEqual([]);
    await loadOne(warehouse, reading([], { uwi: 'B' }));
    await loadOne(warehouse, reading([], { uwi: 'A', mode: 'backfill' }));
    expect(await warehouse.dailyProduction.uwis()).toEqual(['A', 'B']);
  });
}
