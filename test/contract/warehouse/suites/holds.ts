/** Holds by their port: rows that stay until a person releases them, and their release (G4). */
import { describe, expect, it } from 'vitest';
import { wholeDays } from '../../../../src/core/daily/coverage.ts';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import type { RunRequest, UnitOutcome } from '../../../../src/core/run/run.ts';
import type { Release } from '../../../../src/warehouse/port/daily-production.ts';
import {
  ask,
  at,
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  loadOne,
  reading,
  row,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
/** 2024 up to the end of April: 121 days. */
const spring = { to: '2024-05-01' };
/** Rows of the first days of 2024 but those of these days. */
const without = (count: number, ...days: readonly number[]) =>
  dailyRows(count).filter((_, index) => !days.includes(index + 1));
const daysFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

let releases = 0;

export function describeHolds(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const rowsNow = async (): Promise<number> =>
    Number((await ask(test().warehouse, 'SELECT count(*) FROM daily_production'))[0]?.[0]);
  const held = () =>
    ask(
      test().warehouse,
      `SELECT uwi, CAST(month AS VARCHAR), rows_missing, CAST(first_day AS VARCHAR), CAST(last_day AS VARCHAR)
       FROM held_month ORDER BY 1, 2`,
    );
  const firstRun = async (): Promise<string> =>
    String((await ask(test().warehouse, 'SELECT run_id FROM held_month ORDER BY month LIMIT 1'))[0]?.[0]);

  async function release(of: string, rows: number): Promise<Release & { readonly id: string }> {
    releases += 1;
    const request: RunRequest = {
      runId: `release-${releases}`,
      job: 'export daily-production',
      params: { nowMs: committedAtMs, allowShrink: false, releaseOf: of },
      service: 'https://service.example',
      actor: 'tester@host',
      requestedAtMs: committedAtMs,
    };
    const released = await test().warehouse.ledger.holds.release(request, { of, kind: 'uwi', rows });
    return { ...released, id: request.runId };
  }

  /** Commits a window as the unit of a release. */
  async function workRelease(runId: string, window: WindowBatch): Promise<UnitOutcome> {
    const { warehouse } = test();
    const { unit, uwi: target } = window;
    await warehouse.ledger.runs.savePlan(runId, [{ unit, chunk: 0, target, spec: {} }], committedAtMs);
    const { outcomes } = await warehouse.dailyProduction.commit({
      runId,
      windows: [window],
      shrink: guard,
      committedAtMs,
    });
    const [outcome] = outcomes;
    if (outcome === undefined) throw new Error('the unit was not settled');
    return outcome;
  }

  describe('a hold', () => {
    it('G4: stands in every later read, however deep, until the rows are back', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(121), spring));
      const gone = daysFrom(32, 15);
      const night = reading(without(121, ...gone).slice(31), { from: dayOf(32), ...spring });
      expect(await loadOne(warehouse, night)).toMatchObject({ state: 'held', counts: { heldRows: 15, removed: 0 } });
      const deep = reading(without(121, ...gone), spring);
      for (let run = 0; run < 2; run += 1) {
        expect(await loadOne(warehouse, deep)).toMatchObject({ state: 'held', counts: { heldRows: 15, removed: 0 } });
      }
      expect(await held()).toEqual([[uwi, '2024-02-01', 15, dayOf(32), dayOf(46)]]);
      expect(await rowsNow()).toBe(121);
      expect(await loadOne(warehouse, reading(dailyRows(121), spring))).toMatchObject({ state: 'done' });
      expect(await held()).toEqual([]);
    });

    it('G4: a month that loses too much is held at any depth, the others of its window merge and remove', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(121), spring));
      const outcome = await loadOne(warehouse, reading(without(121, 1, ...daysFrom(32, 10)), spring));
      expect(outcome).toMatchObject({ state: 'held', counts: { heldRows: 10, removed: 1, rowsAdrift: 0 } });
      expect(await rowsNow()).toBe(120);
      expect((await held()).map((each) => each.slice(1, 3))).toEqual([['2024-02-01', 10]]);
    });

    it('G4: three rows a night are held once they are too many for their month', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(121), spring));
      const removed: Array<number | undefined> = [];
      for (const night of [1, 2, 3, 4]) {
        const { counts } = await loadOne(warehouse, reading(without(121, ...daysFrom(40, 3 * night)), spring));
        removed.push(counts['removed']);
      }
      expect(removed).toEqual([3, 0, 0, 0]);
      expect((await held()).map((each) => each.slice(1, 3))).toEqual([['2024-02-01', 9]]);
    });

    it('losses older than 31 days, those of an allowed run and rows that came back do not count', async () => {
      const { warehouse } = test();
      const dayMs = 86_400_000;
      await loadOne(warehouse, reading(dailyRows(121), spring), guard, committedAtMs - 40 * dayMs);
      await loadOne(warehouse, reading(without(121, 40, 41, 42), spring), guard, committedAtMs - 32 * dayMs);
      expect(await loadOne(warehouse, reading(without(121, ...daysFrom(40, 6)), spring))).toMatchObject({
        state: 'done',
        counts: { removed: 3 },
      });
      await loadOne(warehouse, reading(dailyRows(121), spring));
      expect(await loadOne(warehouse, reading(without(121, 50, 51, 52), spring))).toMatchObject({ state: 'done' });
      const allowed = reading(without(121, ...daysFrom(62, 20)), spring);
      const runId = await plannedWindows([allowed], { nowMs: 0, allowShrink: true });
      const shrink = { ...guard, allow: true };
      await warehouse.dailyProduction.commit({ runId, windows: [allowed], shrink, committedAtMs });
      expect(await loadOne(warehouse, reading(without(121, ...daysFrom(62, 21)), spring))).toMatchObject({
        state: 'done',
        counts: { removed: 1 },
      });
    });

    it('keeps its rows from an unverified read, which is not given back, and changes nothing of it', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(31)));
      await loadOne(warehouse, reading(dailyRows(21)));
      const outcome = await loadOne(warehouse, reading(dailyRows(20), { isVerified: false, to: dayOf(21) }));
      expect(outcome).toMatchObject({ state: 'done' });
      const lacking = await loadOne(warehouse, reading(dailyRows(21), { isVerified: false }));
      expect(lacking).toMatchObject({ state: 'held', counts: { heldRows: 10, removed: 0 } });
      expect(await held()).toEqual([[uwi, '2024-01-01', 10, dayOf(22), dayOf(31)]]);
    });

    /** As readWindow gives it at 23:37 of 31 January (jobs/daily-production/read-window.ts): that day is not over. */
    const onTheLastDay = (batch: WindowBatch): WindowBatch => ({
      ...batch,
      readDays: wholeDays(batch.window, 'UTC', at('2024-01-31') + 23.6 * 3_600_000),
    });

    const pastJanuary = { to: '2024-02-02' };
    /** Twelve rows, the last one of that day. */
    async function holdUpToThatDay(): Promise<void> {
      const { warehouse } = test();
      await loadOne(warehouse, onTheLastDay(reading(dailyRows(31), pastJanuary)));
      await loadOne(warehouse, onTheLastDay(reading(without(31, ...daysFrom(20, 12)), pastJanuary)));
      expect(await held()).toEqual([[uwi, '2024-01-01', 12, dayOf(20), dayOf(31)]]);
    }

    it('with a row of today ends where a read of all of its days removes what it has', async () => {
      await holdUpToThatDay();
      const allowed = onTheLastDay(reading(without(31, ...daysFrom(21, 8)), pastJanuary));
      const runId = await plannedWindows([allowed], { nowMs: 0, allowShrink: true });
      const shrink = { ...guard, allow: true };
      const { outcomes } = await test().warehouse.dailyProduction.commit({
        runId,
        windows: [allowed],
        shrink,
        committedAtMs,
      });
      expect(outcomes).toMatchObject([{ state: 'done', counts: { removed: 8, heldRows: 0 } }]);
      expect(await rowsNow()).toBe(23);
      expect(await held()).toEqual([]);
    });

    it('with a row of today ends where all of its rows are back', async () => {
      await holdUpToThatDay();
      const back = await loadOne(test().warehouse, onTheLastDay(reading(dailyRows(31), pastJanuary)));
      expect(back).toMatchObject({ state: 'done' });
      expect(await held()).toEqual([]);
    });

    it('with a row of today ends by its release', async () => {
      await holdUpToThatDay();
      const { id } = await release(await firstRun(), 12);
      const gone = onTheLastDay(reading(without(31, ...daysFrom(21, 8)), { ...pastJanuary, mode: 'backfill' }));
      expect(await workRelease(id, gone)).toMatchObject({ state: 'done', counts: { removed: 8, heldRows: 0 } });
      expect(await held()).toEqual([]);
    });

    /** A read is committed after one of `part`, which began later and restates: that part is read again. */
    async function readInParts(read: WindowBatch, part: WindowBatch) {
      const { readOrder, dailyProduction } = test().warehouse;
      const begin = async (runId: string, ended: readonly number[]) => ({
        runId,
        shrink: guard,
        readNo: await readOrder.begin({ kind: 'uwi', runId, ended }),
        committedAtMs,
      });
      const first = await begin(await plannedWindows([read]), []);
      const beside = await begin(await plannedWindows([part]), []);
      await dailyProduction.commit({ ...beside, windows: [part] });
      const { unfinished } = await dailyProduction.commit({ ...first, windows: [read] });
      expect(unfinished).toMatchObject([{ window: part.window }]);
      const between = await held();
      // As readWindow gives it: the days of the whole unit, since what was read before was verified.
      const again = { ...part, before: unfinished[0], readDays: read.readDays };
      const second = await begin(first.runId, [first.readNo]);
      const { outcomes } = await dailyProduction.commit({ ...second, windows: [again] });
      return { between, outcomes };
    }
    const restated = (rows: ReturnType<typeof dailyRows>, day: number) =>
      rows.map((each) => (each.day === dayOf(day) ? row(day, dayOf(day), { oilRate: 1_000 }) : each));

    it('G4: stands where another part of its read is read again', async () => {
      await loadOne(test().warehouse, reading(dailyRows(121), spring));
      const march = reading(restated(dailyRows(91).slice(60), 70), { from: '2024-03-01', to: '2024-04-01' });
      const { between, outcomes } = await readInParts(reading(without(121, ...daysFrom(32, 15)), spring), march);
      expect(between).toEqual([[uwi, '2024-02-01', 15, dayOf(32), dayOf(46)]]);
      expect(outcomes).toMatchObject([{ state: 'held', counts: { heldRows: 15, removed: 0 } }]);
      expect(await rowsNow()).toBe(121);
      expect(await held()).toEqual(between);
    });

    it('G4: of a short window, of which a part is read again, keeps its rows from a deep read', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(121), spring));
      const gone = daysFrom(33, 4);
      const early = reading(without(45, ...gone).slice(31), { from: dayOf(32), to: dayOf(46) });
      const end = reading(restated(dailyRows(45).slice(41), 43), { from: dayOf(42), to: dayOf(46) });
      const { between } = await readInParts(early, end);
      expect(between).toEqual([[uwi, '2024-02-01', 4, dayOf(33), dayOf(36)]]);
      expect(await loadOne(warehouse, reading(without(121, ...gone), spring))).toMatchObject({
        state: 'held',
        counts: { heldRows: 4, removed: 0 },
      });
      expect(await rowsNow()).toBe(121);
    });

    it('lets the watermark move on, and keeps its month out of the coverage', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(60), { to: dayOf(61) }));
      const later = reading(without(121, ...daysFrom(32, 20)), spring);
      await loadOne(warehouse, later);
      const reached = await warehouse.dailyProduction.watermarks([uwi]);
      expect(reached.get(uwi)).toMatchObject({ watermarkMs: at('2024-05-01'), verifiedAtMs: at('2024-05-01') });
      await loadOne(warehouse, { ...reading([], { from: '2023-12-01', to: '2024-01-01', mode: 'backfill' }) });
      const days = await ask(
        warehouse,
        'SELECT CAST(from_day AS VARCHAR), CAST(to_day AS VARCHAR) FROM coverage ORDER BY 1',
      );
      expect(days).toEqual([['2023-12-01', '2024-05-01']]);
    });

    it('notes nothing of a held month where it was never read before', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(121), { ...spring, isVerified: false }));
      await loadOne(warehouse, reading(without(121, ...daysFrom(32, 20)), spring));
      const days = await ask(
        warehouse,
        'SELECT CAST(from_day AS VARCHAR), CAST(to_day AS VARCHAR) FROM coverage ORDER BY 1',
      );
      expect(days).toEqual([
        ['2024-01-01', '2024-02-01'],
        ['2024-03-01', '2024-05-01'],
      ]);
    });

    it('of one well does not touch another, and one of two windows of a month counts the other', async () => {
      const { warehouse } = test();
      for (const well of [uwi, 'B']) await loadOne(warehouse, reading(dailyRows(31), { uwi: well }));
      await loadOne(warehouse, reading([], { uwi: 'B' }));
      expect((await held()).map(([well]) => well)).toEqual(['B']);
      const early = reading(without(10, 1, 2, 3), { unit: 0, to: dayOf(11), mode: 'backfill' });
      const late = reading(dailyRows(31).slice(14), { unit: 1, from: dayOf(11), mode: 'backfill' });
      const runId = await plannedWindows([early, late]);
      const { outcomes } = await warehouse.dailyProduction.commit({
        runId,
        windows: [early, late],
        shrink: guard,
        committedAtMs,
      });
      expect(outcomes.map(({ state }) => state)).toEqual(['held', 'held']);
      expect((await held()).filter(([well]) => well === uwi)).toEqual([[uwi, '2024-01-01', 7, dayOf(1), dayOf(14)]]);
    });
  });

  async function plannedWindows(windows: readonly WindowBatch[], params: object = {}): Promise<string> {
    releases += 1;
    const runId = `windows-${releases}`;
    const { runs } = test().warehouse.ledger;
    await runs.create({
      runId,
      job: 'export daily-production',
      params,
      service: 'https://service.example',
      actor: 'tester@host',
      requestedAtMs: committedAtMs,
    });
    const units = windows.map(({ unit, uwi: target }) => ({ unit, chunk: 0, target, spec: {} }));
    await runs.savePlan(runId, units, committedAtMs);
    return runId;
  }

  describe('a release', () => {
    const gone = daysFrom(10, 15);

    async function holdJanuary(): Promise<string> {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(31)));
      await loadOne(warehouse, reading(without(31, ...gone)));
      return firstRun();
    }

    it('lets go what was shown, by the run that carries it out alone', async () => {
      const { warehouse } = test();
      const of = await holdJanuary();
      expect(await warehouse.ledger.holds.ofRun(of, 'uwi', 10)).toMatchObject({
        targets: 1,
        rows: 15,
        holds: 1,
        parts: [{ target: uwi, month: '2024-01', rows: 15, firstDay: dayOf(10), lastDay: dayOf(24), runId: of }],
      });
      const { id, kind } = await release(of, 15);
      expect(kind).toBe('created');
      expect(await loadOne(warehouse, reading(without(31, ...gone)))).toMatchObject({ state: 'held' });
      expect(await workRelease(id, reading(without(31, ...gone), { mode: 'backfill' }))).toMatchObject({
        state: 'done',
        counts: { removed: 15, heldRows: 0 },
      });
      expect(await held()).toEqual([]);
      expect(await rowsNow()).toBe(16);
    });

    it('holds again what is missing beyond the days that were shown', async () => {
      const { warehouse } = test();
      const of = await holdJanuary();
      const { id } = await release(of, 15);
      const more = reading(without(31, 30, ...gone), { mode: 'backfill' });
      expect(await workRelease(id, more)).toMatchObject({ state: 'held', counts: { removed: 15, heldRows: 1 } });
      expect(await held()).toEqual([[uwi, '2024-01-01', 1, dayOf(30), dayOf(30)]]);
      expect(await firstRun()).toBe(id);
      expect(await warehouse.ledger.holds.ofRun(id, 'uwi', 10)).toMatchObject({ rows: 1 });
      expect(await rowsNow()).toBe(16);
    });

    it('removes nothing of a month that lacks more of those days than was shown', async () => {
      const of = await holdJanuary();
      const { warehouse } = test();
      // One of the days is back: 14 are shown. By the time of the release it is gone again.
      await loadOne(warehouse, reading(without(31, ...gone.filter((day) => day !== 15))));
      const { id } = await release(of, 14);
      const all = reading(without(31, ...gone), { mode: 'backfill' });
      expect(await workRelease(id, all)).toMatchObject({ state: 'held', counts: { removed: 0, heldRows: 15 } });
      expect(await rowsNow()).toBe(31);
    });

    it('G4: is read again as a whole where another run has read since: rows that are back stay', async () => {
      const { warehouse } = test();
      const { readOrder, dailyProduction } = warehouse;
      const of = await holdJanuary();
      const { id } = await release(of, 15);
      const old = reading(without(31, ...gone), { mode: 'backfill' });
      await warehouse.ledger.runs.savePlan(id, [{ unit: 0, chunk: 0, target: uwi, spec: {} }], committedAtMs);
      const oldNo = await readOrder.begin({ kind: 'uwi', runId: id, ended: [] });
      const now = reading(without(31, ...gone.slice(5)), { mode: 'backfill' });
      const night = await plannedWindows([now]);
      const nightNo = await readOrder.begin({ kind: 'uwi', runId: night, ended: [] });
      await dailyProduction.commit({ runId: night, windows: [now], shrink: guard, readNo: nightNo, committedAtMs });
      const first = await dailyProduction.commit({
        runId: id,
        windows: [old],
        shrink: guard,
        readNo: oldNo,
        committedAtMs,
      });
      expect(first).toMatchObject({ outcomes: [], unfinished: [{ window: old.window }] });
      expect(await rowsNow()).toBe(31);
      const again = { ...now, before: first.unfinished[0] };
      const againNo = await readOrder.begin({ kind: 'uwi', runId: id, ended: [oldNo] });
      const second = await dailyProduction.commit({
        runId: id,
        windows: [again],
        shrink: guard,
        readNo: againNo,
        committedAtMs,
      });
      expect(second.outcomes).toMatchObject([{ state: 'done', counts: { removed: 10, heldRows: 0, rowsAdrift: 0 } }]);
      expect(await rowsNow()).toBe(21);
      expect(await held()).toEqual([]);
    });

    it('is refused for another number of rows, twice at once, and for a run without a hold', async () => {
      const of = await holdJanuary();
      expect(await release(of, 14)).toMatchObject({ kind: 'changed', rows: 15 });
      const [first, second] = await Promise.all([release(of, 15), release(of, 15)]);
      const kinds = [first.kind, second.kind].toSorted();
      expect(kinds).toEqual(['created', 'under-way']);
      const created = first.kind === 'created' ? first : second;
      const other = first.kind === 'created' ? second : first;
      expect(other).toMatchObject({ runId: created.id });
      await workRelease(created.id, reading(without(31, ...gone), { mode: 'backfill' }));
      expect(await release(of, 15)).toMatchObject({ kind: 'changed', rows: 0 });
      expect(await release('no-such-run', 0)).toMatchObject({ kind: 'changed', rows: 0 });
    });

    it('names all wells of a run with a hold, however many failed before them', async () => {
      const { warehouse } = test();
      const wells = Array.from({ length: 130 }, (_, index) => `W${String(index).padStart(3, '0')}`);
      const whole = wells.map((well, unit) => reading(dailyRows(10), { uwi: well, unit }));
      const empty = wells.map((well, unit) => reading([], { uwi: well, unit }));
      for (const windows of [whole, empty]) {
        const runId = await plannedWindows(windows);
        await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs });
      }
      const of = await firstRun();
      const { id } = await release(of, 1_300);
      const targets: string[] = [];
      for await (const slice of warehouse.ledger.runs.targets(id)) targets.push(...slice);
      expect(targets).toEqual(wells);
    });
  });
}
