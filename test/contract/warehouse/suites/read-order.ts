/** Reads of one well side by side: in whatever order they are committed, no answer is followed by an older one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import type { UnfinishedUnit } from '../../../../src/core/daily/merge.ts';
import { mostRereads } from '../../../../src/core/daily/read-order.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import type { ReadMode } from '../../../../src/core/time/window.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { bySuite } from '../../../support/suite-size.ts';
import {
  allOf,
  ask,
  at,
  committedAtMs,
  dayOf,
  guard,
  planned,
  reading,
  row,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const days = 8;
const allowAll = { ...guard, allow: true };
const hourMs = 3_600_000;

/** What the service has: by day, the xid and the value of its record, if there is one. */
type Truth = ReadonlyArray<{ readonly xid: number; readonly oilRate: number } | null>;

/** A run that reads days [from, to) of the well. */
class Run {
  readonly #warehouse: WarehouseHandle;
  readonly #span: { readonly from: number; readonly to: number };
  readonly #isVerified: boolean;
  readonly #mode: ReadMode;
  readonly #atMs: () => number;
  #runId: string | undefined;
  #readNo: number | undefined;
  #answer: Truth | undefined;
  #before: UnfinishedUnit | undefined;
  outcome: UnitOutcome | undefined;
  requests = 0;
  /** The days that the last commit took of its read: all of an unsettled unit but those to be read again. */
  taken: readonly number[] = [];

  constructor(
    warehouse: WarehouseHandle,
    span: { readonly from: number; readonly to: number },
    how: { readonly isVerified?: boolean; readonly mode?: ReadMode; readonly atMs?: () => number } = {},
  ) {
    this.#warehouse = warehouse;
    this.#span = span;
    this.#isVerified = how.isVerified ?? true;
    this.#mode = how.mode ?? 'incremental';
    this.#atMs = how.atMs ?? (() => committedAtMs);
  }

  get span(): { readonly from: number; readonly to: number } {
    return this.#span;
  }

  async begin(): Promise<void> {
    this.#runId ??= await planned(this.#warehouse, [reading([])]);
    this.#readNo = await this.#warehouse.readOrder.begin({ kind: 'uwi', runId: this.#runId, ended: [] });
  }

  read(truth: Truth): void {
    this.requests += 1;
    this.#answer = truth;
  }

  /** Whether its unit is settled; otherwise it has to begin and read again. */
  async commit(): Promise<boolean> {
    const { window } = this.#before ?? {
      window: { fromMs: at(dayOf(this.#span.from)), toMs: at(dayOf(this.#span.to)) },
    };
    const rows = (this.#answer ?? []).flatMap((record, index) => {
      const day = dayOf(index + 1);
      const isInside = at(day) >= window.fromMs && at(day) < window.toMs;
      return record === null || !isInside ? [] : [row(record.xid, day, { oilRate: record.oilRate })];
    });
    const isVerified = this.#isVerified || this.requests > 1;
    const batch = { ...reading(rows, { isVerified, mode: this.#mode }), window, before: this.#before };
    const runId = this.#runId ?? '';
    const order = { runId, windows: [batch], shrink: allowAll, readNo: this.#readNo ?? 0, committedAtMs: this.#atMs() };
    const { outcomes, unfinished } = await this.#warehouse.dailyProduction.commit(order);
    const again = unfinished[0]?.window ?? (outcomes.length === 0 ? window : undefined);
    const isTaken = (dayMs: number): boolean =>
      dayMs >= window.fromMs && dayMs < window.toMs && !(again && dayMs >= again.fromMs && dayMs < again.toMs);
    this.taken = Array.from({ length: days }, (_, index) => index + 1).filter(
      (day) => isTaken(at(dayOf(day))) && (isVerified || (this.#answer?.[day - 1] ?? null) !== null),
    );
    this.#before = unfinished[0];
    [this.outcome] = outcomes;
    return this.outcome !== undefined;
  }

  /** Ends the run, once its unit is settled. */
  async end(): Promise<void> {
    await this.#warehouse.ledger.runs.finish({
      runId: this.#runId ?? '',
      job: dailyProduction.name,
      state: 'done',
      units: { total: 1, done: 1, held: 0, failed: 0, cancelled: 0 },
      counts: this.outcome?.counts ?? {},
      balance: { balanced: true, statement: '' },
      failures: [],
      notices: [],
      startedAtMs: committedAtMs,
      finishedAtMs: committedAtMs,
    });
  }

  /** Begins again until it is settled. */
  async settle(truth: Truth): Promise<void> {
    while (!(await this.commit())) {
      await this.begin();
      this.read(truth);
    }
  }
}

const truthOf = (oilRate: number): Truth => Array.from({ length: days }, (_, index) => ({ xid: index + 1, oilRate }));

const storedOil = async (warehouse: WarehouseHandle): Promise<readonly unknown[]> =>
  (await ask(warehouse, 'SELECT oil_rate FROM daily_production ORDER BY date')).flat();

/** Instants at which a record had two versions, and versions that were known for no time. */
async function faultsOfHistory(warehouse: WarehouseHandle): Promise<readonly unknown[]> {
  const reversed = await ask(warehouse, 'SELECT xid FROM daily_production_history WHERE noticed_at <= known_from');
  const edges = await ask(
    warehouse,
    `SELECT DISTINCT CAST(moment AS VARCHAR) FROM (SELECT known_from AS moment FROM daily_production_history
       UNION ALL SELECT noticed_at FROM daily_production_history UNION ALL SELECT changed_at FROM daily_production) m`,
  );
  const doubles: unknown[] = [];
  for (const [moment] of edges) {
    doubles.push(
      ...(await ask(
        warehouse,
        `SELECT '${String(moment)}', uwi, xid FROM daily_production_as_known('${String(moment)}') GROUP BY uwi, xid HAVING count(*) > 1`,
      )),
    );
  }
  return [...reversed, ...doubles];
}

const someSpan = fc
  .tuple(fc.integer({ min: 1, max: days }), fc.integer({ min: 1, max: days }))
  .map(([one, other]) => ({ from: Math.min(one, other), to: Math.max(one, other) + 1 }));

/** Each day keeps its xid: a record that moves is the affair of moved-records.ts. */
const someTruth: fc.Arbitrary<Truth> = fc
  .array(fc.option(fc.nat(3)), { minLength: days, maxLength: days })
  .map((rates) => rates.map((oilRate, index) => (oilRate === null ? null : { xid: index + 1, oilRate })));

const someRuns = fc.record({
  spans: fc.array(fc.tuple(someSpan, fc.boolean()), { minLength: 2, maxLength: 3 }),
  /** The truth changes before each step; a step is the next one of a run. */
  steps: fc.array(fc.tuple(fc.nat(2), fc.option(someTruth)), { minLength: 6, maxLength: 16 }),
  first: someTruth,
  skewMs: fc.constantFrom(0, hourMs, -hourMs),
});

export function describeReadOrder(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('two runs of one well', () => {
    it('G1: an older read that is committed last takes nothing back, and is read again', async () => {
      const { warehouse } = test();
      const whole = { from: 1, to: days + 1 };
      const [first, older, newer] = [whole, whole, whole].map((span) => new Run(warehouse, span));
      await first?.begin();
      first?.read(truthOf(100));
      await first?.settle(truthOf(100));
      await older?.begin();
      older?.read(truthOf(100));
      await newer?.begin();
      newer?.read(truthOf(200));
      await newer?.settle(truthOf(200));
      expect(await older?.commit()).toBe(false);
      await older?.begin();
      older?.read(truthOf(200));
      expect(await older?.commit()).toBe(true);
      expect(older?.outcome?.counts).toMatchObject({ read: 16, repeated: 8, updated: 0, unchanged: 8, windows: 1 });
      expect(await storedOil(warehouse)).toEqual(Array.from({ length: days }, () => 200));
      expect(await ask(warehouse, 'SELECT count(*) FROM daily_production_history')).toEqual([[days]]);
    });

    it('reads again the overlap alone, and merges the rest of the window at once', async () => {
      const { warehouse } = test();
      const older = new Run(warehouse, { from: 1, to: days + 1 });
      const newer = new Run(warehouse, { from: 4, to: 6 });
      await older.begin();
      older.read(truthOf(100));
      await newer.begin();
      newer.read(truthOf(200));
      expect(await newer.commit()).toBe(true);
      expect(await older.commit()).toBe(false);
      expect(await storedOil(warehouse)).toEqual([100, 100, 100, 200, 200, 100, 100, 100]);
      await older.begin();
      older.read(truthOf(300));
      expect(await older.commit()).toBe(true);
      expect(older.outcome?.counts).toMatchObject({
        read: 10,
        repeated: 2,
        inserted: 6,
        updated: 2,
        rowsBefore: 2,
        rowsAfter: 8,
        rowsAdrift: 0,
      });
      expect(await storedOil(warehouse)).toEqual([100, 100, 100, 300, 300, 100, 100, 100]);
    });

    it('G3: the watermark passes no overlap that is read again, until it is read', async () => {
      const { warehouse } = test();
      const older = new Run(warehouse, { from: 1, to: days + 1 });
      const newer = new Run(warehouse, { from: 4, to: 6 }, { mode: 'backfill' });
      await older.begin();
      older.read(truthOf(100));
      await newer.begin();
      newer.read(truthOf(200));
      await newer.settle(truthOf(200));
      expect(await older.commit()).toBe(false);
      const watermarkMs = async () => (await warehouse.dailyProduction.watermarks([uwi])).get(uwi)?.watermarkMs;
      expect(await watermarkMs()).toBe(at(dayOf(4)));
      await older.settle(truthOf(200));
      expect(await watermarkMs()).toBe(at(dayOf(6)));
    });

    it('G2: is read again three times, then the later read stands and the rows count as repeated', async () => {
      const { warehouse } = test();
      const whole = { from: 1, to: days + 1 };
      const older = new Run(warehouse, whole);
      let rate = 100;
      for (let reread = 0; reread <= mostRereads; reread += 1) {
        await older.begin();
        older.read(truthOf(1));
        rate += 100;
        const newer = new Run(warehouse, whole);
        await newer.begin();
        newer.read(truthOf(rate));
        await newer.settle(truthOf(rate));
        expect(await older.commit()).toBe(reread === mostRereads);
      }
      const read = days * (mostRereads + 1);
      expect(older.outcome).toMatchObject({ state: 'done', counts: { read, repeated: read, updated: 0 } });
      expect(older.outcome?.notices?.join()).toMatch(/read .* later and was committed first/);
      expect(await storedOil(warehouse)).toEqual(Array.from({ length: days }, () => rate));
    });

    it('an equal reading is settled at once, and no row of the order is kept when the runs have ended', async () => {
      const { warehouse } = test();
      const whole = { from: 1, to: days + 1 };
      const [older, newer] = [new Run(warehouse, whole), new Run(warehouse, whole)];
      await older.begin();
      older.read(truthOf(100));
      await newer.begin();
      newer.read(truthOf(100));
      await newer.settle(truthOf(100));
      expect(await ask(warehouse, 'SELECT count(*) FROM internal.kept_read')).toEqual([[1]]);
      expect(await older.commit()).toBe(true);
      expect(older.outcome?.counts).toMatchObject({ unchanged: days, repeated: 0 });
      for (const run of [older, newer]) await run.end();
      for (const table of ['internal.kept_read', 'internal.read_begun']) {
        expect([table, await ask(warehouse, `SELECT count(*) FROM ${table}`)]).toEqual([table, [[0]]]);
      }
    });

    it('an unverified read orders only the rows that it brought', async () => {
      const { warehouse } = test();
      const older = new Run(warehouse, { from: 1, to: days + 1 });
      const newer = new Run(warehouse, { from: 1, to: days + 1 }, { isVerified: false });
      await older.begin();
      older.read(truthOf(100));
      await newer.begin();
      newer.read(truthOf(200).map((record, index) => (index < 3 ? record : null)));
      expect(await newer.commit()).toBe(true);
      expect(await older.commit()).toBe(false);
      expect(await storedOil(warehouse)).toEqual([200, 200, 200, 100, 100, 100, 100, 100]);
    });

    it('G1: in any order of begins, answers and commits each day has the answer that the service gave last', async () => {
      const property = fc.asyncProperty(someRuns, async ({ spans, steps, first, skewMs }) => {
        const { warehouse, another, dispose } = await open();
        try {
          let nowMs = committedAtMs;
          // Every second run commits by a clock of its own.
          const runs = spans.map(
            ([span, isVerified], index) =>
              new Run(index === 1 ? another() : warehouse, span, {
                isVerified,
                atMs: () => (nowMs += 1) + (index === 1 ? skewMs : 0),
              }),
          );
          let truth = first;
          /** The last answer about each day among those that were taken. */
          const expected = new Map<number, { readonly no: number; readonly record: Truth[number] }>();
          const begun = new Map<Run, { no: number; state: 'begun' | 'read'; seen: Truth }>();
          let no = 0;
          const step = async (run: Run): Promise<void> => {
            const state = begun.get(run);
            if (run.outcome !== undefined) return;
            if (state === undefined) {
              await run.begin();
              begun.set(run, { no: 0, state: 'begun', seen: truth });
            } else if (state.state === 'begun') {
              run.read(truth);
              no += 1;
              begun.set(run, { no, state: 'read', seen: truth });
            } else {
              if (!(await run.commit())) begun.delete(run);
              for (const day of run.taken) {
                if ((expected.get(day)?.no ?? 0) < state.no) {
                  expected.set(day, { no: state.no, record: state.seen[day - 1] ?? null });
                }
              }
            }
          };
          for (const [which, change] of steps) {
            truth = change ?? truth;
            const run = runs[which % runs.length];
            if (run !== undefined) await step(run);
          }
          // The truth stays from here on: what is read again now must end as it.
          for (const run of runs) for (let left = 0; run.outcome === undefined && left < 40; left += 1) await step(run);
          for (const run of runs) {
            const counts = run.outcome?.counts ?? {};
            expect(balanceOfCounts(dailyProduction, counts)).toMatchObject({ balanced: true });
            expect(counts).toMatchObject({ rowsAdrift: 0, windows: 1 });
          }
          const stored = new Map(
            (await ask(warehouse, 'SELECT production_day, oil_rate FROM daily_production')).map(([day, rate]) => [
              day,
              rate,
            ]),
          );
          for (const [day, { record }] of expected) {
            expect([day, stored.get(dayOf(day))]).toEqual([day, record?.oilRate]);
          }
          expect(await faultsOfHistory(warehouse)).toEqual([]);
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, bySuite(3, 12));
    });
  });

  describe('the history of two hosts whose clocks differ by an hour', () => {
    it('has one version of a record at any time, and names the successor of each', async () => {
      const { warehouse, another } = test();
      const late = another();
      const whole = { from: 1, to: days + 1 };
      const rates = [1, 2, 3, null, 4, 5, 5, 6];
      for (const [index, rate] of rates.entries()) {
        const isAhead = index % 2 === 0;
        const run = new Run(isAhead ? warehouse : late, whole, { atMs: () => committedAtMs + (isAhead ? hourMs : 0) });
        const truth = rate === null ? [] : truthOf(rate);
        await run.begin();
        run.read(truth);
        await run.settle(truth);
      }
      expect(await faultsOfHistory(warehouse)).toEqual([]);
      const always = { sinceMs: at('2000-01-01'), untilMs: at('2100-01-01') };
      const versions = await warehouse.dailyProduction.restatements({ ...always, uwis: [uwi] }, allOf);
      const told = versions
        .filter(({ old }) => old.day === dayOf(1))
        .map(({ old, next }) => [old.measures[0], next?.measures[0]]);
      expect(told).toEqual([
        [1, 2],
        [2, 3],
        [3, undefined],
        [4, 5],
        [5, 6],
      ]);
    });
  });
}
