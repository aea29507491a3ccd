/** The merge by the port: the effect of a reading on the rows of its window. */
import { describe, expect, it } from 'vitest';
import { measureFields, type Measure } from '../../../../src/core/daily/row.ts';
import { valueColumns } from '../../../../src/warehouse/duckdb/schema.ts';
import type { DatedRow } from '../../../support/daily-rows.ts';
import {
  ask,
  at,
  dailyRows,
  dayOf,
  load,
  loadOne,
  planned,
  reading,
  row,
  xidOf,
  guard,
  committedAtMs,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const storedOil = 'SELECT CAST(xid AS VARCHAR), oil_rate FROM daily_production ORDER BY uwi, date';
const history =
  'SELECT CAST(xid AS VARCHAR), oil_rate, change, run_id FROM daily_production_history ORDER BY uwi, date';

/** A row of a day from 2010 on; some of its values are null, and some texts are long. */
function valuedRow(index: number): DatedRow {
  const day = new Date(Date.UTC(2010, 0, 1 + index)).toISOString().slice(0, 10);
  const values = {
    oilRate: index / 8,
    linePressure: index % 7 === 0 ? null : index / 2,
    downtimeCode: ['Vedlikehold på brønnen', null, 'NONE'][index % 3] ?? null,
    isDualFlow: index % 2 === 0,
  };
  return row(index + 1, day, values);
}

export function describeMerge(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('beside its rows a merge', () => {
    const lastDays = 'SELECT uwi, last_day FROM watermark ORDER BY uwi';
    const months = 'SELECT production_month, touched_at FROM feed_month ORDER BY 1';
    const later = committedAtMs + 1_000;
    const january = dayOf(1);

    it('keeps the last day of a well with a row, forwards and back', async () => {
      const { warehouse } = test();
      const allowed = { ...guard, allow: true };
      await loadOne(warehouse, reading(dailyRows(5), { uwi: 'A' }));
      await loadOne(warehouse, reading([], { uwi: 'B' }));
      expect(await ask(warehouse, lastDays)).toEqual([
        ['A', dayOf(5)],
        ['B', null],
      ]);
      await loadOne(warehouse, reading(dailyRows(7), { uwi: 'A' }));
      expect((await ask(warehouse, lastDays))[0]).toEqual(['A', dayOf(7)]);
      // Reads only a part of the rows: later ones stay.
      await loadOne(warehouse, reading(dailyRows(1), { uwi: 'A', to: dayOf(3) }), allowed);
      expect((await ask(warehouse, lastDays))[0]).toEqual(['A', dayOf(7)]);
      await loadOne(warehouse, reading(dailyRows(1), { uwi: 'A' }), allowed);
      expect((await ask(warehouse, lastDays))[0]).toEqual(['A', dayOf(1)]);
      await loadOne(warehouse, reading([], { uwi: 'A' }), allowed);
      expect((await ask(warehouse, lastDays))[0]).toEqual(['A', null]);
    });

    it('knows the last day of a well that was first read as a backfill', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(20))], { mode: 'backfill' }));
      await loadOne(warehouse, reading([], { to: dayOf(10) }));
      expect(await ask(warehouse, lastDays)).toEqual([['NO 15/9-F-1 C', dayOf(20)]]);
    });

    it('notes the months of rows that it inserted, updated or removed, and of no others', async () => {
      const { warehouse } = test();
      const rows = [row(1, '2024-01-31'), row(2, '2024-02-01'), row(3, '2024-03-01')];
      const whole = { to: '2024-05-01' };
      const atFirst = '2024-06-01T04:00:00Z';
      const atLast = '2024-06-01T04:00:01Z';
      await loadOne(warehouse, reading(rows, whole));
      expect(await ask(warehouse, months)).toEqual([
        [january, atFirst],
        ['2024-02-01', atFirst],
        ['2024-03-01', atFirst],
      ]);
      await loadOne(warehouse, reading(rows, whole), undefined, later);
      expect(await ask(warehouse, months)).toEqual(expect.arrayContaining([[january, atFirst]]));
      // Changed in February, moved from March to April; January is unchanged.
      const changed = [row(1, '2024-01-31'), row(2, '2024-02-01', { oilRate: 9 }), row(3, '2024-04-01')];
      await loadOne(warehouse, reading(changed, whole), undefined, later);
      expect(await ask(warehouse, months)).toEqual([
        [january, atFirst],
        ['2024-02-01', atLast],
        ['2024-03-01', atLast],
        ['2024-04-01', atLast],
      ]);
    });

    it('notes no month of rows that a held window keeps', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const outcome = await loadOne(warehouse, reading([]), undefined, later);
      expect(outcome.state).toBe('held');
      expect(await ask(warehouse, months)).toEqual([[january, '2024-06-01T04:00:00Z']]);
    });
  });

  describe('the merge of a window', () => {
    it('inserts what is new, with its well, instant and day', async () => {
      const { warehouse } = test();
      const outcome = await loadOne(
        warehouse,
        reading([{ ...row(1, '2024-01-02'), instantMs: at('2024-01-01') + 82_800_000 }]),
      );
      expect(outcome).toEqual({
        unit: 0,
        state: 'done',
        counts: {
          read: 1,
          repeated: 0,
          outsideWindow: 0,
          quarantined: 0,
          defaulted: 0,
          requests: 1,
          inserted: 1,
          updated: 0,
          unchanged: 0,
          removed: 0,
          heldRows: 0,
          windows: 1,
          targetsWithRows: 1,
          rowsBefore: 0,
          rowsAfter: 1,
          rowsAdrift: 0,
        },
      });
      const stored = await ask(
        warehouse,
        'SELECT uwi, CAST(xid AS VARCHAR), date, production_day FROM daily_production',
      );
      expect(stored).toEqual([['NO 15/9-F-1 C', xidOf(1), '2024-01-01T23:00:00Z', '2024-01-02']]);
    });

    it('G2: counts the rows of each window as its own, in whatever order wells come', async () => {
      const { warehouse } = test();
      const batchOf = (names: string, more: number) =>
        names.split('').map((uwi, unit) => reading(dailyRows((uwi.codePointAt(0) ?? 0) - 60 + more), { uwi, unit }));
      for (const [names, more] of [
        ['CA', 0],
        ['BCDA', 0],
        ['DABC', 1],
      ] as const) {
        const outcomes = await load(warehouse, batchOf(names, more));
        expect(outcomes.map(({ counts }) => [counts['rowsAfter'], counts['rowsAdrift']])).toEqual(
          names.split('').map((uwi) => [(uwi.codePointAt(0) ?? 0) - 60 + more, 0]),
        );
      }
    });

    it('G1: merging the same read again changes nothing', async () => {
      const { warehouse } = test();
      const rows = dailyRows(20).map((each) => ({ ...each, extras: '{"note":"ø","deep":[1,{"a":null}]}' }));
      await loadOne(warehouse, reading(rows));
      const before = await ask(warehouse, 'SELECT * FROM daily_production ORDER BY date');
      const outcome = await loadOne(warehouse, reading(rows));
      expect(outcome.counts).toMatchObject({ inserted: 0, updated: 0, unchanged: 20, removed: 0 });
      expect(await ask(warehouse, 'SELECT * FROM daily_production ORDER BY date')).toEqual(before);
      expect(await ask(warehouse, history)).toEqual([]);
    });

    it('keeps every value exactly, of every field', async () => {
      const { warehouse } = test();
      const exact: Readonly<Record<string, Measure>> = {
        oilRate: 8e-5,
        gasRate: -1e-9,
        waterRate: 0.1 + 0.2,
        tubingPressure: 5e-324,
        casingPressure: 1.7976931348623157e308,
        choke: -2_147_483_648,
        downtimeCode: `WX 'O''Brien' "œ" 🛢 \\ ;--`,
        isAnnularFlow: false,
        isDualFlow: true,
      };
      await loadOne(
        warehouse,
        reading([row(1, dayOf(1), exact), row(2, dayOf(2), { choke: 2_147_483_647, gaugePressure: 0 })]),
      );
      const columns = measureFields.map(({ column }) => column).join(', ');
      const [first, second] = await ask(warehouse, `SELECT ${columns} FROM daily_production ORDER BY date`);
      expect(first).toStrictEqual(row(1, dayOf(1), exact).measures);
      expect(second).toStrictEqual(row(2, dayOf(2), { choke: 2_147_483_647, gaugePressure: 0 }).measures);
    });

    it('updates a row of which one field changed, whichever it is, and keeps the old value', async () => {
      const { warehouse } = test();
      const examples = { double: [1.5, 1.25], int32: [1, 2], string: ['a', 'b'], boolean: [true, false] } as const;
      const version = (place: 0 | 1) =>
        measureFields.map(({ name, kind }, unit) =>
          reading([row(1, dayOf(1), { [name]: examples[kind][place] })], { unit, uwi: name }),
        );
      await load(warehouse, version(0));
      for (const outcome of await load(warehouse, version(1))) expect(outcome.counts).toMatchObject({ updated: 1 });
      for (const { name, column, kind } of measureFields) {
        const now = await ask(warehouse, `SELECT ${column} FROM daily_production WHERE uwi = '${name}'`);
        expect(now).toEqual([[examples[kind][1]]]);
        const before = `SELECT ${column}, change FROM daily_production_history WHERE uwi = '${name}'`;
        expect(await ask(warehouse, before)).toEqual([[examples[kind][0], 'updated']]);
      }
    });

    it('takes a negative zero for zero', async () => {
      const { warehouse } = test();
      const withZero = (gasRate: number) => reading([row(1, dayOf(1), { gasRate }), row(2, dayOf(2), { gasRate: 0 })]);
      await loadOne(warehouse, withZero(-0));
      expect((await loadOne(warehouse, withZero(0))).counts).toMatchObject({ unchanged: 2 });
      expect(await ask(warehouse, 'SELECT gas_rate FROM daily_production')).toStrictEqual([[0], [0]]);
    });

    it('sees a value come and go: null differs from 0, from false and from the empty text', async () => {
      const { warehouse } = test();
      const versions = [{}, { gaugePressure: 0 }, {}, { isDualFlow: false }, {}, { downtimeCode: '' }];
      for (const [index, values] of versions.entries()) {
        const outcome = await loadOne(warehouse, reading([row(1, dayOf(1), values)]));
        expect(outcome.counts).toMatchObject(index === 0 ? { inserted: 1 } : { updated: 1 });
      }
    });

    it('sees extras come, change and go', async () => {
      const { warehouse } = test();
      const withExtras = (extras: string | null) => loadOne(warehouse, reading([row(1, dayOf(1), {}, extras)]));
      await withExtras(null);
      expect((await withExtras('{"note":"a"}')).counts).toMatchObject({ updated: 1 });
      expect((await withExtras('{"note":"b"}')).counts).toMatchObject({ updated: 1 });
      expect((await withExtras('{"note":"b"}')).counts).toMatchObject({ unchanged: 1 });
      expect((await withExtras(null)).counts).toMatchObject({ updated: 1 });
    });

    it('takes text that is half a character, in values, extras and notices, and stays able to take it again', async () => {
      const { warehouse } = test();
      const half = String.fromCharCode(0xd83d);
      const odd = reading(
        [row(1, dayOf(1), { downtimeCode: `x${half}` }, JSON.stringify({ note: `${half}\\ud83d` }))],
        {
          notices: [`a field named ${half}`],
        },
      );
      expect((await loadOne(warehouse, odd)).counts).toMatchObject({ inserted: 1 });
      expect((await loadOne(warehouse, odd)).counts).toMatchObject({ unchanged: 1 });
      const [[code] = []] = await ask(warehouse, 'SELECT downtime_code FROM daily_production');
      expect(code).toBe('x\ufffd');
    });

    it('removes what the service no longer has, and keeps it in the history', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const kept = dailyRows(20).filter((_, index) => index !== 4);
      expect((await loadOne(warehouse, reading(kept))).counts).toMatchObject({ unchanged: 19, removed: 1 });
      expect(await ask(warehouse, `SELECT count(*) FROM daily_production`)).toEqual([[19]]);
      expect(await ask(warehouse, history)).toEqual([[xidOf(5), 5, 'removed', expect.stringMatching(/^run-/)]]);
    });

    it('takes a new xid on the same day as an update of the record that had the day', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      const renamed = dailyRows(3).map((each, index) => (index === 1 ? { ...each, xid: xidOf(99) } : each));
      expect((await loadOne(warehouse, reading(renamed))).counts).toMatchObject({
        inserted: 0,
        updated: 1,
        unchanged: 2,
        removed: 0,
      });
      expect(await ask(warehouse, storedOil)).toEqual([
        [xidOf(1), 1],
        [xidOf(99), 2],
        [xidOf(3), 3],
      ]);
      expect(await ask(warehouse, history)).toEqual([[xidOf(2), 2, 'replaced', expect.any(String)]]);
    });

    it('pairs as many records of a day as there are on both sides, and counts the rest as what they are', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(1)), row(2, dayOf(1)), row(3, dayOf(2))]));
      const outcome = await loadOne(warehouse, reading([row(4, dayOf(1)), row(5, dayOf(2)), row(6, dayOf(2))]));
      expect(outcome.counts).toMatchObject({ inserted: 1, updated: 2, removed: 1 });
      expect(await ask(warehouse, 'SELECT production_day FROM daily_production ORDER BY 1')).toEqual([
        [dayOf(1)],
        [dayOf(2)],
        [dayOf(2)],
      ]);
    });

    it('leaves rows outside the window alone', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const outcome = await loadOne(warehouse, reading([], { from: dayOf(5), to: dayOf(8) }));
      expect(outcome.counts).toMatchObject({ removed: 3 });
      const days = await ask(
        warehouse,
        "SELECT CAST(date_part('day', production_day) AS INTEGER) FROM daily_production ORDER BY 1",
      );
      expect(days.flat()).toEqual([1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
    });

    it('takes a row that was moved into the window from outside it as an update: (uwi, xid) stays unique', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const outcome = await loadOne(
        warehouse,
        reading([row(2, dayOf(12), { oilRate: 2 })], { from: dayOf(12), to: dayOf(13) }),
      );
      expect(outcome.counts).toMatchObject({ inserted: 0, updated: 1, removed: 1 });
      expect(outcome.counts).toMatchObject({ rowsBefore: 2, rowsAfter: 1, rowsAdrift: 0 });
      expect(await ask(warehouse, 'SELECT xid FROM daily_production GROUP BY uwi, xid HAVING count(*) > 1')).toEqual(
        [],
      );
      const moved = `SELECT production_day FROM daily_production WHERE CAST(xid AS VARCHAR) = '${xidOf(2)}'`;
      expect(await ask(warehouse, moved)).toEqual([[dayOf(12)]]);
    });

    it('keeps wells apart that share an xid, and wells with odd names', async () => {
      const { warehouse } = test();
      const names = ['A', 'a', 'A ', `O'Brien "7"; DROP TABLE run; --`, '井戸-1 🛢', '15/9-F-1 C', '%', 'null'];
      await load(
        warehouse,
        names.map((uwi, unit) => reading([row(1, dayOf(1), { oilRate: unit })], { uwi, unit })),
      );
      await loadOne(warehouse, reading([], { uwi: 'a' }));
      const stored = await ask(warehouse, 'SELECT uwi, oil_rate FROM daily_production ORDER BY oil_rate');
      expect(stored).toEqual(names.map((uwi, unit) => [uwi, unit]).filter(([uwi]) => uwi !== 'a'));
    });
  });

  describe('a batch of windows', () => {
    it('merges two windows of one well, and counts a row that stands in both once', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      const early = reading([...dailyRows(4), row(15, dayOf(3))], { from: dayOf(1), to: dayOf(5), unit: 0 });
      const late = reading([row(15, dayOf(15), { oilRate: 15 })], { from: dayOf(15), to: dayOf(16), unit: 1 });
      const [first, second] = await load(warehouse, [late, early]);
      expect(first?.counts).toMatchObject({ read: 5, repeated: 1, unchanged: 4, inserted: 0 });
      expect(second?.counts).toMatchObject({ read: 1, repeated: 0, unchanged: 1 });
    });

    it('stores wells of which nothing is stored, in any order, with other fields and without, beside a known one', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(1)), row(2, dayOf(2))], { uwi: 'known' }));
      const extras = '{"wellTest":true}';
      const outcomes = await load(warehouse, [
        reading([row(3, dayOf(1)), row(4, dayOf(2))], { uwi: 'a well whose name is long', unit: 0 }),
        reading([row(5, dayOf(3)), row(6, dayOf(1)), row(7, dayOf(2))], { uwi: 'out of order', unit: 1 }),
        reading([row(8, dayOf(1)), { ...row(9, dayOf(2)), extras }], { uwi: 'with extras', unit: 2 }),
        reading([row(1, dayOf(1)), row(2, dayOf(2), { oilRate: 7 }), row(10, dayOf(3))], { uwi: 'known', unit: 3 }),
        reading([], { uwi: 'silent', unit: 4 }),
      ]);
      expect(outcomes.map(({ counts }) => counts['inserted'] ?? 0)).toEqual([2, 3, 2, 1, 0]);
      const inserted = 'uwi, CAST(xid AS VARCHAR), CAST(extras AS VARCHAR) IS NULL, inserted_run_id = changed_run_id';
      expect(await ask(warehouse, `SELECT ${inserted} FROM daily_production ORDER BY uwi, date`)).toEqual([
        ['a well whose name is long', xidOf(3), true, true],
        ['a well whose name is long', xidOf(4), true, true],
        ['known', xidOf(1), true, true],
        ['known', xidOf(2), true, false],
        ['known', xidOf(10), true, true],
        ['out of order', xidOf(6), true, true],
        ['out of order', xidOf(7), true, true],
        ['out of order', xidOf(5), true, true],
        ['with extras', xidOf(8), true, true],
        ['with extras', xidOf(9), false, true],
      ]);
    });

    it('stores the same of rows in the order of time, over data chunks, and in none', async () => {
      const { warehouse } = test();
      const rows = Array.from({ length: 3_000 }, (_, index) => valuedRow(index));
      const [short, long, mixed] = ['A', 'Brønn 34/10-A-12 på Gullfaks sør', 'B'];
      const whole = { from: '2010-01-01', to: '2024-01-01' };
      const windows = [
        reading(rows.slice(0, 1_500), { ...whole, unit: 0, uwi: short }),
        reading(rows, { ...whole, unit: 1, uwi: long }),
        reading(rows.toReversed(), { ...whole, unit: 2, uwi: mixed }),
      ];
      const runId = await planned(warehouse, windows);
      await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs });
      const columns = [...valueColumns, { name: 'xid' }].map(({ name }) => name).filter((name) => name !== 'extras');
      const of = (uwi: string): string =>
        `SELECT ${columns.join(', ')}, inserted_run_id, changed_run_id, changed_at FROM daily_production WHERE uwi = '${uwi}'`;
      expect(await ask(warehouse, `${of(long)} EXCEPT ${of(mixed)}`)).toEqual([]);
      expect(await ask(warehouse, `${of(mixed)} EXCEPT ${of(long)}`)).toEqual([]);
      expect(await ask(warehouse, `${of(short)} EXCEPT ${of(mixed)}`)).toEqual([]);
      const perWell = `SELECT uwi, CAST(count(*) AS INTEGER), CAST(count(DISTINCT xid) AS INTEGER), min(inserted_run_id),
        max(changed_run_id), CAST(count(DISTINCT changed_at) AS INTEGER) FROM daily_production GROUP BY uwi ORDER BY 2, 1`;
      expect(await ask(warehouse, perWell)).toEqual([
        [short, 1_500, 1_500, runId, runId, 1],
        [mixed, 3_000, 3_000, runId, runId, 1],
        [long, 3_000, 3_000, runId, runId, 1],
      ]);
      const stored = `SELECT CAST(xid AS VARCHAR), production_day, oil_rate, downtime_code, line_pressure
        FROM daily_production WHERE uwi = '${long}' ORDER BY date LIMIT 1 OFFSET 2100`;
      expect(await ask(warehouse, stored)).toEqual([
        [xidOf(2_101), '2015-10-02', 2_100 / 8, 'Vedlikehold på brønnen', null],
      ]);
    });

    it('keeps the windows of a new well, of which one has other fields', async () => {
      const { warehouse } = test();
      const extras = '{"wellTest":true}';
      const early = [{ ...row(1, dayOf(1)), extras }, row(2, dayOf(2))];
      await load(warehouse, [
        reading(early, { from: dayOf(1), to: dayOf(5), unit: 0 }),
        reading([row(3, dayOf(6))], { from: dayOf(5), to: dayOf(9), unit: 1 }),
        reading([row(1, dayOf(1))], { uwi: 'other', unit: 2 }),
      ]);
      const stored = 'SELECT uwi, CAST(xid AS VARCHAR) FROM daily_production ORDER BY uwi, date';
      expect(await ask(warehouse, stored)).toEqual([
        ...[1, 2, 3].map((xid) => ['NO 15/9-F-1 C', xidOf(xid)]),
        ['other', xidOf(1)],
      ]);
    });

    it('tells how many rows the next commit had better have, one at least', async () => {
      const { dailyProduction } = test().warehouse;
      expect(dailyProduction.rowsThatFit()).toBeGreaterThan(0);
      await load(test().warehouse, [reading(dailyRows(3))]);
      expect(dailyProduction.rowsThatFit()).toBeGreaterThan(0);
    });

    it('refuses windows of one well that overlap', async () => {
      const { warehouse } = test();
      const left = reading([], { from: dayOf(1), to: dayOf(5), unit: 0 });
      const right = reading([], { from: dayOf(4), to: dayOf(9), unit: 1 });
      await expect(load(warehouse, [right, left])).rejects.toThrow(/overlap/);
    });

    it('G1: a batch skips a settled unit, and a unit unknown to the run', async () => {
      const { warehouse } = test();
      const both = [reading([row(1, dayOf(1))], { unit: 0 }), reading([row(2, dayOf(1))], { unit: 1, uwi: 'B' })];
      const runId = await planned(warehouse, both);
      const commit = async (windows: typeof both) =>
        (await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs })).outcomes;
      expect((await commit(both.slice(0, 1))).map(({ unit }) => unit)).toEqual([0]);
      const repeated = [reading([], { unit: 0 }), ...both.slice(1), reading([], { unit: 7, uwi: 'C' })];
      expect((await commit(repeated)).map(({ unit }) => unit)).toEqual([1]);
      expect(await commit(both)).toEqual([]);
      expect(await ask(warehouse, 'SELECT uwi FROM daily_production ORDER BY uwi')).toEqual([['B'], ['NO 15/9-F-1 C']]);
      expect((await warehouse.ledger.runs.totals(runId)).counts).toMatchObject({ read: 2, inserted: 2, windows: 2 });
    });

    it('G3: a failed batch of windows changes no row, no watermark and no outcome', async () => {
      const { warehouse } = test();
      const broken = { ...row(2, dayOf(1)), extras: 'no JSON' };
      const windows = [reading([row(1, dayOf(1))], { unit: 0 }), reading([broken], { unit: 1, uwi: 'B' })];
      const runId = await planned(warehouse, windows);
      const commit = warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs });
      await expect(commit).rejects.toThrow(/json/i);
      expect(await ask(warehouse, storedOil)).toEqual([]);
      expect(await warehouse.dailyProduction.watermarks(['NO 15/9-F-1 C', 'B'])).toEqual(new Map());
      expect((await warehouse.ledger.runs.totals(runId)).units).toMatchObject({ open: 2, done: 0 });
    });
  });
}
