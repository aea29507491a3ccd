/** What a warehouse forgets after a time, and what never. */
import { describe, expect, it } from 'vitest';
import { startOfPush } from '../../../../src/core/pipes/checkpoint.ts';
import { targetText } from '../../../../src/core/cleanup/target.ts';
import type { RunReport } from '../../../../src/core/run/run.ts';
import type { Pruned, RetentionBounds } from '../../../../src/warehouse/port/runs.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import {
  ask,
  at,
  dailyRows,
  dayOf,
  guard,
  loadOne,
  reading,
  row,
  unreadable,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const serviceUrl = 'https://pds.example.com';
const fileSha256 = 'b'.repeat(64);
const none: Pruned = { units: 0, plans: 0, runs: 0, pushes: 0, history: 0, alerts: 0 };

/** Everything from this day on is kept; the history for ever. */
function from(day: string, more: Partial<RetentionBounds> = {}): RetentionBounds {
  return { unitsMs: at(day), runsMs: at(day), pushesMs: at(day), historyMs: undefined, alertsMs: at(day), ...more };
}

/** All steps; returns their sum. */
async function pruneAll({ ledger: { retention } }: WarehouseHandle, bounds: RetentionBounds): Promise<Pruned> {
  const total = { ...none };
  for (;;) {
    const removed = await retention.step(bounds);
    if (removed === undefined) return total;
    for (const name of Object.keys(total) as (keyof Pruned)[]) total[name] += removed[name];
  }
}

const reportOf = (runId: string, job: string, state: RunReport['state'], day: string): RunReport => ({
  runId,
  job,
  state,
  units: { total: 2, done: 1, held: 0, failed: 1, cancelled: 0 },
  counts: { read: 4 },
  balance: { balanced: true, statement: '' },
  failures: [],
  notices: [],
  startedAtMs: at(day),
  finishedAtMs: at(day),
});

export function describeRetention(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  async function created(runId: string, job: string, day: string, units = 2): Promise<void> {
    const { runs } = test().warehouse.ledger;
    await runs.create({ runId, job, params: {}, service: serviceUrl, actor: 'tester@host', requestedAtMs: at(day) });
    const planned = Array.from({ length: units }, (_, unit) => ({ unit, chunk: 0, target: `t ${unit}`, spec: null }));
    if (units > 0) await runs.savePlan(runId, planned, at(day));
  }

  /** A run that ended at this day, with one unit done and one failed. */
  async function ended(runId: string, day: string): Promise<void> {
    const { runs } = test().warehouse.ledger;
    await created(runId, 'export daily-production', day);
    const fault = { code: 'not-found', message: 'no such well' };
    await runs.settle(runId, [
      { unit: 0, state: 'done', counts: {} },
      { unit: 1, state: 'failed', counts: {}, fault },
    ]);
    await runs.finish(reportOf(runId, 'export daily-production', 'failed', day));
  }

  const runIds = async (): Promise<readonly unknown[]> =>
    (await ask(test().warehouse, 'SELECT run_id FROM run ORDER BY run_id')).flat();

  describe('retention', () => {
    it('forgets the units of runs that ended long ago, keeps their reports, and reopens none of them', async () => {
      await ended('old', '2024-01-01');
      await ended('recent', '2024-03-01');
      await created('going', 'export daily-production', '2024-01-01');
      const bounds = from('2024-02-01', { runsMs: at('2023-01-01') });
      const { retention, runs } = test().warehouse.ledger;
      expect(await retention.count(bounds)).toEqual({ ...none, units: 2 });
      expect(await pruneAll(test().warehouse, bounds)).toEqual({ ...none, units: 2 });
      expect(await retention.count(bounds)).toEqual(none);
      expect((await runs.totals('recent')).units.total).toBe(2);
      expect((await runs.totals('going')).units.open).toBe(2);
      expect(await runs.read('old')).toMatchObject({ report: { counts: { read: 4 } } });
      await expect(runs.reopen('old')).rejects.toThrow(/no longer kept \(retention.unitDays\)/);
      expect(await runs.reopen('recent')).toBe(1);
    });

    it('keeps a run that began a hold until its rows are back: by it they are released', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(20)));
      await loadOne(warehouse, reading(dailyRows(10)));
      const [[holding] = []] = await ask(warehouse, 'SELECT run_id FROM held_month');
      for (const runId of await runIds()) {
        await warehouse.ledger.runs.finish(reportOf(String(runId), 'export daily-production', 'done', '2024-01-01'));
      }
      await pruneAll(warehouse, from('2024-02-01'));
      expect(await runIds()).toEqual([holding]);
      expect(await warehouse.ledger.holds.ofRun(String(holding), 'uwi', 10)).toMatchObject({ rows: 10 });
      await loadOne(warehouse, reading(dailyRows(20)));
      await pruneAll(warehouse, from('2024-02-01'));
      expect(await runIds()).not.toContain(holding);
    });

    it('forgets the targets of a run that ended long ago without a plan, and does not reopen it', async () => {
      const { runs } = test().warehouse.ledger;
      for (const [runId, day] of [
        ['old', '2024-01-01'],
        ['recent', '2024-03-01'],
      ] as const) {
        await runs.create(
          { runId, job: 'export wells', params: {}, service: serviceUrl, actor: '', requestedAtMs: at(day) },
          ['a', 'b'],
        );
        await runs.finish(reportOf(runId, 'export wells', 'cancelled', day));
      }
      await pruneAll(test().warehouse, from('2024-02-01', { runsMs: at('2023-01-01') }));
      await expect(runs.reopen('old')).rejects.toThrow(/no longer kept/);
      expect(await runs.reopen('recent')).toBe(2);
    });

    it('G7: forgets runs after their units, wherever it is stopped, and never an unfinished one', async () => {
      for (const runId of ['a', 'b', 'c']) await ended(runId, '2024-01-01');
      await created('going', 'export daily-production', '2024-01-01');
      const { retention } = test().warehouse.ledger;
      const counted = await retention.count(from('2024-02-01'));
      expect(await retention.step(from('2024-02-01'))).toEqual({ ...none, units: 6 });
      expect(await runIds()).toEqual(['a', 'b', 'c', 'going']);
      const another = test().another();
      expect(await pruneAll(another, from('2024-02-01'))).toEqual({ ...none, runs: 3 });
      expect(counted).toEqual({ ...none, units: 6, runs: 3 });
      expect(await runIds()).toEqual(['going']);
    });

    it('forgets the key of a request with the run that it made', async () => {
      const { runs } = test().warehouse.ledger;
      const key = { client: 'nightly', route: 'POST /runs', key: 'k', bodySha256: 'aa' };
      await ended('old', '2024-01-01');
      const asked = { runId: 'keyed', job: 'export wells', params: {}, service: serviceUrl, actor: '' };
      await runs.createKeyed({ ...asked, requestedAtMs: at('2024-01-01') }, key);
      await runs.finish(reportOf('keyed', 'export wells', 'cancelled', '2024-01-01'));
      await pruneAll(test().warehouse, from('2024-02-01', { runsMs: at('2023-01-01') }));
      expect(await runs.findKeyed(key)).toBe('keyed');
      await pruneAll(test().warehouse, from('2024-02-01'));
      expect(await runs.read('keyed')).toBeUndefined();
      expect(await runs.findKeyed(key)).toBeUndefined();
    });

    it('G6: keeps the audit with the plan and the run that it names, whatever their age, and the audit stays whole', async () => {
      const { cleanupPlans, deletions, runs } = test().warehouse.ledger;
      const target = { kind: 'wellbores', ownerId: 'W', sourceId: null } as const;
      const snapshot = { state: 'present', contentType: null, body: 'x' } as const;
      const shown = { targets: 1, timeSeries: 0, microStrings: 0, wellbores: 1, equipment: 0, wells: 1 };
      const counts = { ...shown, repeated: 0, unknown: 0, unreadable: 0, producing: 0, knownWells: 0 };
      for (const planId of ['applied', 'forgotten']) {
        await cleanupPlans.draft(`draft ${planId}`, [
          { ...target, ordinal: 0, snapshot, producedOn: null, doubt: null },
        ]);
        const made = {
          serviceUrl,
          createdAtMs: at('2024-01-01'),
          createdBy: 'somebody',
          counts,
          caps: null,
          applied: undefined,
        };
        const rest = { digest: planId, selection: null, selectionSha256: null, includesProducing: false };
        await cleanupPlans.keep(`draft ${planId}`, { planId, ...made, ...rest });
      }
      const atMs = at('2024-01-01');
      await cleanupPlans.claim('applied', { runId: 'cleanup', atMs, by: 'somebody' });
      await runs.create({
        runId: 'cleanup',
        job: 'cleanup',
        params: {},
        service: serviceUrl,
        actor: '',
        requestedAtMs: atMs,
      });
      await runs.savePlan('cleanup', [{ unit: 0, chunk: 0, target: targetText(target), spec: null }], atMs);
      await deletions.begin({ runId: 'cleanup', units: [0], serviceUrl, atMs });
      const conclusion = { outcome: 'deleted', answer: 1, words: null, verification: null } as const;
      await deletions.conclude({ runId: 'cleanup', conclusions: [{ unit: 0, conclusion }], withdrawn: [], atMs });
      await runs.finish(reportOf('cleanup', 'cleanup', 'done', '2024-01-01'));

      expect(await pruneAll(test().warehouse, from('2030-01-01'))).toEqual({ ...none, units: 1, plans: 1 });
      expect((await cleanupPlans.list(9)).map(({ planId }) => planId)).toEqual(['applied']);
      expect(await cleanupPlans.targetCount('applied')).toBe(1);
      expect(await runIds()).toEqual(['cleanup']);
      expect(await deletions.verify()).toMatchObject({ broken: undefined, head: { rows: 2 } });
    });

    it('knows a pushed file after its runs are gone, by one row, until it may be pushed again', async () => {
      const { pushes, runs } = test().warehouse.ledger;
      const wanted = { fileSha256, serviceUrl, form: 'auto' } as const;
      const push = async (runId: string, day: string, state: 'done' | 'failed'): Promise<void> => {
        await created(runId, 'push network-pipes', day, 1);
        const start = await pushes.begin({ ...wanted, runId, unit: 0, isAgain: true, begunAtMs: at(day) });
        if (start.kind !== 'begun') throw new Error(start.kind);
        const settled = { unit: 0, state, counts: {} };
        const checkpoint = { ...startOfPush, counts: { rows: 2, accepted: 2 } };
        const step = { runId, unit: 0, fence: start.fence, checkpoint, chunks: [], savedAtMs: at(day) };
        await pushes.save({ ...step, settled });
        await runs.finish(reportOf(runId, 'push network-pipes', state, day));
      };
      await push('first', '2024-01-01', 'done');
      await push('second', '2024-01-02', 'done');
      await push('failed', '2024-01-03', 'failed');
      const bounds = from('2024-02-01', { pushesMs: at('2024-01-02') });
      const pruned = await pruneAll(test().warehouse, bounds);
      expect(pruned).toEqual({ ...none, units: 3, runs: 3, pushes: 2 });
      expect(await runIds()).toEqual([]);
      expect(await ask(test().warehouse, 'SELECT run_id FROM push')).toEqual([['second']]);
      expect(await pushes.find(wanted)).toEqual({ runId: 'second', state: 'done', atMs: at('2024-01-02') });
      await created('later', 'push network-pipes', '2024-02-01', 1);
      const later = { ...wanted, runId: 'later', unit: 0, isAgain: false, begunAtMs: at('2024-02-01') };
      expect(await pushes.begin(later)).toEqual({ kind: 'pushed', runId: 'second', counts: { rows: 2, accepted: 2 } });
      await pruneAll(test().warehouse, from('2024-02-01'));
      expect(await pushes.find(wanted)).toBeUndefined();
    });

    it('keeps the history unless it is told otherwise, and then refuses what was known before its horizon', async () => {
      const { warehouse } = test();
      const rows = (rate: number) => reading([row(1, dayOf(1), { oilRate: rate }), ...dailyRows(3).slice(1)]);
      await loadOne(warehouse, rows(1), guard, at('2024-02-02'));
      await loadOne(warehouse, rows(2), guard, at('2024-02-03'));
      await loadOne(warehouse, rows(3), guard, at('2024-02-05'));
      await loadOne(
        warehouse,
        reading([], { uwi: 'W', quarantined: [unreadable({ xid: 9 })] }),
        guard,
        at('2024-02-02'),
      );
      const known = (moment: string) =>
        ask(
          warehouse,
          `SELECT oil_rate FROM daily_production_as_known('${moment}') WHERE production_day = '2024-01-01'`,
        );
      const { retention } = warehouse.ledger;
      await pruneAll(warehouse, from('2024-02-04'));
      expect(await known('2024-02-02 12:00:00Z')).toEqual([[1]]);
      expect(await retention.historyHorizonMs()).toBeUndefined();

      const bounds = from('2024-02-04', { historyMs: at('2024-02-04') });
      expect(await pruneAll(warehouse, bounds)).toMatchObject({ history: 1 });
      expect(await retention.historyHorizonMs()).toBe(at('2024-02-04'));
      expect(await known('2024-02-04 12:00:00Z')).toEqual([[2]]);
      await expect(known('2024-02-03 12:00:00Z')).rejects.toThrow(/the history begins at 2024-02-04.*no longer kept/);
      expect(await ask(warehouse, 'SELECT count(*) FROM quarantine')).toEqual([[1]]);
    });

    it('says when it last came to its end; at first, when the warehouse was made', async () => {
      const { retention } = test().warehouse.ledger;
      expect(await retention.prunedAtMs()).toBeGreaterThan(at('2024-01-01'));
      await retention.recordPruned(at('2024-05-05'));
      expect(await retention.prunedAtMs()).toBe(at('2024-05-05'));
    });
  });
}
