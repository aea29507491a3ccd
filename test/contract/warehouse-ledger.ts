/** The ledger of runs as the port promises it. */
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/core/errors.ts';
import type { PlannedUnit, RunReport, UnitOutcome } from '../../src/core/run.ts';
import { committedAtMs } from '../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../support/warehouse-under-test.ts';

const dayMs = 86_400_000;
const request = {
  runId: 'r1',
  job: 'export daily-production',
  params: { uwis: [`O'Brien`, '井戸'] },
  requestedAtMs: committedAtMs,
};

function unitsOf(count: number): readonly PlannedUnit[] {
  return Array.from({ length: count }, (_, unit) => ({
    unit,
    chunk: Math.floor(unit / 2),
    target: `well ${unit}`,
    spec: { window: { fromMs: unit, toMs: unit + 1 } },
  }));
}

function done(unit: number, counts: Readonly<Record<string, number>> = { read: 1 }): UnitOutcome {
  return { unit, state: 'done', counts };
}

function failed(unit: number, message = 'no such well'): UnitOutcome {
  return { unit, state: 'failed', counts: {}, fault: { code: 'not-found', message, hint: 'See its name.' } };
}

function reportOf(state: RunReport['state'], finishedAtMs = committedAtMs, runId = 'r1'): RunReport {
  return {
    runId,
    job: request.job,
    state,
    units: { total: 4, done: 4, held: 0, failed: 0, cancelled: 0 },
    counts: { read: 4 },
    balance: { balanced: true, statement: '4 read = 4 inserted' },
    failures: [],
    notices: ['a notice'],
    startedAtMs: committedAtMs,
    finishedAtMs,
  };
}

export function describeLedger(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const planned = async (count: number, runId = 'r1') => {
    const { runs } = test().warehouse;
    await runs.create({ ...request, runId });
    await runs.savePlan(runId, unitsOf(count), committedAtMs + 5);
    return runs;
  };

  describe('the ledger of runs', () => {
    it('makes a run queued, keeps its request, and refuses its id a second time', async () => {
      const { runs } = test().warehouse;
      await runs.create(request);
      const nothing = { unitCount: undefined, startedAtMs: undefined, finishedAtMs: undefined, report: undefined };
      expect(await runs.read('r1')).toEqual({ ...request, state: 'queued', round: 0, ...nothing });
      expect(await runs.read('r2')).toBeUndefined();
      await expect(runs.create(request)).rejects.toThrow(UsageError);
    });

    it('keeps the plan, and makes the run running', async () => {
      const runs = await planned(5);
      expect(await runs.read('r1')).toMatchObject({ state: 'running', unitCount: 5, startedAtMs: committedAtMs + 5 });
      expect(await runs.openUnits('r1', 1)).toEqual(unitsOf(5).slice(2, 4));
      expect(await runs.openUnits('r1', 9)).toEqual([]);
      expect(await runs.openChunks('r1')).toEqual([
        { chunk: 0, openUnits: 2 },
        { chunk: 1, openUnits: 2 },
        { chunk: 2, openUnits: 1 },
      ]);
    });

    it('G1: planning twice keeps the first plan', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0)]);
      await runs.savePlan('r1', unitsOf(9), committedAtMs + 99);
      expect(await runs.read('r1')).toMatchObject({ unitCount: 4, startedAtMs: committedAtMs + 5 });
      expect((await runs.sums('r1')).units).toMatchObject({ total: 4, open: 3 });
    });

    it('takes an empty plan for a plan, and no plan for a run that is not known', async () => {
      const runs = await planned(0);
      expect(await runs.read('r1')).toMatchObject({ state: 'running', unitCount: 0 });
      expect((await runs.sums('r1')).units.total).toBe(0);
      await expect(runs.savePlan('r2', unitsOf(1), committedAtMs)).rejects.toThrow(UsageError);
    });

    it('G1: a settled unit keeps its outcome', async () => {
      const runs = await planned(4);
      expect(await runs.settle('r1', [done(2), done(1)])).toEqual([1, 2]);
      expect(await runs.settle('r1', [failed(1), failed(3), failed(17)])).toEqual([3]);
      expect(await runs.settle('r1', [])).toEqual([]);
      expect(await runs.openUnits('r1', 0)).toEqual(unitsOf(1));
      expect((await runs.sums('r1')).units).toEqual({ total: 4, open: 1, done: 2, held: 0, failed: 1, cancelled: 0 });
    });

    it('settles the rest alike, and says how many they were', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0)]);
      const fault = { code: 'access', message: 'the service refused the token' };
      expect(await runs.settleRest('r1', { state: 'failed', fault })).toBe(3);
      expect(await runs.settleRest('r1', { state: 'cancelled' })).toBe(0);
      expect((await runs.sums('r1')).failures[0]).toEqual({ target: 'well 1', state: 'failed', ...fault });
    });

    it('G2: sums counts over units, with failures by unit and each notice once', async () => {
      const runs = await planned(5);
      await runs.settle('r1', [
        { ...done(3, { read: 2 ** 40, inserted: 1 }), notices: ['b', `it's`] },
        { ...done(1, { read: 3, updated: 3 }), notices: ['a', 'b'] },
        failed(4, 'late'),
        { ...failed(0, 'early'), state: 'held', counts: { heldRows: 7 } },
      ]);
      const sums = await runs.sums('r1');
      expect(sums.counts).toEqual({ heldRows: 7, read: 2 ** 40 + 3, updated: 3, inserted: 1 });
      expect(sums.failures.map(({ target, state, message }) => [target, state, message])).toEqual([
        ['well 0', 'held', 'early'],
        ['well 4', 'failed', 'late'],
      ]);
      expect(sums.notices).toEqual(['a', 'b', `it's`]);
    });

    it('tells a hundred failures of however many', async () => {
      const runs = await planned(150);
      await runs.settleRest('r1', { state: 'failed', fault: { code: 'x', message: 'y' } });
      const sums = await runs.sums('r1');
      expect(sums.units.failed).toBe(150);
      expect(sums.failures.map(({ target }) => target)).toEqual(
        Array.from({ length: 100 }, (_, unit) => `well ${unit}`),
      );
    });

    it('stores the report of a run once', async () => {
      const runs = await planned(4);
      await runs.finish(reportOf('done'));
      await runs.finish(reportOf('failed', committedAtMs + 9));
      expect(await runs.read('r1')).toMatchObject({
        state: 'done',
        finishedAtMs: committedAtMs,
        report: reportOf('done'),
      });
    });

    it('opens failed and cancelled units again, for the next round', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0), failed(1), { ...done(2), state: 'held' }]);
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('failed'));
      expect(await runs.reopen('r1')).toBe(2);
      expect(await runs.read('r1')).toMatchObject({
        state: 'queued',
        round: 1,
        report: undefined,
        finishedAtMs: undefined,
      });
      expect(await runs.openChunks('r1')).toEqual([
        { chunk: 0, openUnits: 1 },
        { chunk: 1, openUnits: 1 },
      ]);
      expect((await runs.sums('r1')).failures).toMatchObject([{ state: 'held' }]);
      await runs.resume('r1');
      expect(await runs.read('r1')).toMatchObject({ state: 'running', round: 1 });
      await runs.settle('r1', [done(1), done(3)]);
      await runs.finish(reportOf('done', committedAtMs + dayMs));
      await runs.resume('r1');
      expect(await runs.read('r1')).toMatchObject({ state: 'done', round: 1, report: { state: 'done' } });
    });

    it('leaves a run as it is that has nothing to open, and refuses one that is going or not known', async () => {
      const runs = await planned(1);
      await expect(runs.reopen('r1')).rejects.toThrow(UsageError);
      await expect(runs.reopen('r2')).rejects.toThrow(UsageError);
      await runs.settle('r1', [done(0)]);
      await runs.finish(reportOf('done'));
      expect(await runs.reopen('r1')).toBe(0);
      expect(await runs.read('r1')).toMatchObject({ state: 'done', round: 0, report: { state: 'done' } });
    });

    it('forgets the done units of a run that finished more than 30 days ago, and will not reopen it', async () => {
      const runs = await planned(2, 'old');
      await runs.settle('old', [done(0), failed(1)]);
      await runs.finish(reportOf('failed', committedAtMs, 'old'));
      await planned(1, 'recent');
      await runs.settle('recent', [done(0)]);
      await runs.finish(reportOf('done', committedAtMs + 30 * dayMs, 'recent'));
      expect((await runs.sums('old')).units).toMatchObject({ total: 2 });
      await planned(1, 'new');
      await runs.finish(reportOf('done', committedAtMs + 30 * dayMs + 1, 'new'));
      expect((await runs.sums('old')).units).toMatchObject({ total: 1, done: 0, failed: 1 });
      expect((await runs.sums('recent')).units).toMatchObject({ total: 1, done: 1 });
      await expect(runs.reopen('old')).rejects.toThrow(/30 days/);
      expect(await runs.read('old')).toMatchObject({ report: { counts: { read: 4 } } });
    });

    it('lists the newest first, of the states asked for', async () => {
      const { runs } = test().warehouse;
      for (const [index, runId] of ['a', 'b', 'c'].entries()) {
        await runs.create({ ...request, runId, requestedAtMs: committedAtMs + index });
      }
      await runs.savePlan('b', unitsOf(1), committedAtMs);
      const ids = async (filter: Parameters<typeof runs.list>[0]) =>
        (await runs.list(filter)).map(({ runId }) => runId);
      expect(await ids({ limit: 10 })).toEqual(['c', 'b', 'a']);
      expect(await ids({ limit: 2 })).toEqual(['c', 'b']);
      expect(await ids({ limit: 10, states: ['queued'] })).toEqual(['c', 'a']);
      expect(await ids({ limit: 10, states: [] })).toEqual([]);
    });

    it('holds a plan of 100,000 units', async () => {
      const runs = await planned(100_000);
      expect(await runs.openUnits('r1', 49_999)).toEqual(unitsOf(100_000).slice(-2));
      expect(await runs.settleRest('r1', { state: 'cancelled' })).toBe(100_000);
    });

    it('is the same for another warehouse on the same data', async () => {
      await planned(2);
      expect(await test().another().runs.read('r1')).toMatchObject({ unitCount: 2 });
    });
  });
}
