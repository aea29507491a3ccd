/** The ledger of runs by its port. */
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/core/base/errors.ts';
import {
  KeyReusedError,
  outcomeOfUnknown,
  type PlannedUnit,
  rowsOfTarget,
  type RunReport,
  type UnitOutcome,
} from '../../../../src/core/run/run.ts';
import type { RunFilter, RunLedger, RunPage } from '../../../../src/warehouse/port/runs.ts';
import { bySuite } from '../../../support/suite-size.ts';
import { allOf, committedAtMs } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const dayMs = 86_400_000;
const request = {
  runId: 'r1',
  job: 'export daily-production',
  params: { note: `O'Brien, 井戸` },
  service: 'https://service.example',
  actor: 'tester@host',
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
    const { runs } = test().warehouse.ledger;
    await runs.create({ ...request, runId });
    await runs.savePlan(runId, unitsOf(count), committedAtMs + 5);
    return runs;
  };

  describe('the ledger of runs', () => {
    it('makes one run of two for the same work at the same time, and the next once that has ended', async () => {
      const { runs } = test().warehouse.ledger;
      const asked = { ...request, requestKey: 'the same work' };
      const made = await Promise.all(['a', 'b'].map((runId) => runs.createOnce({ ...asked, runId }, ['w'])));
      const { runId: madeId = '' } = (await runs.list({ limit: 2 })).runs[0] ?? {};
      const unfinished = made.map((each) => each?.runId);
      expect(unfinished).toEqual(madeId === 'a' ? [undefined, 'a'] : ['b', undefined]);
      expect(await runs.createOnce({ ...asked, runId: 'c', requestKey: 'other work' })).toBeUndefined();
      expect(await runs.createOnce({ ...asked, runId: 'd', job: 'another job' })).toBeUndefined();
      await runs.finish(reportOf('failed', committedAtMs, madeId));
      expect(await runs.createOnce({ ...asked, runId: 'e' })).toBeUndefined();
      expect(await runs.createOnce({ ...asked, runId: 'f' })).toMatchObject({ runId: 'e', state: 'queued' });
    });

    it('G1: makes one run of the same work by two requests with one key at once, known when it has ended', async () => {
      const { runs } = test().warehouse.ledger;
      const asked = { ...request, requestKey: 'w' };
      const key = { client: 'nightly', route: 'POST /trigger', key: 'k', bodySha256: 'aa' };
      const ids = ['a', 'b'];
      const made = await Promise.all(ids.map((runId) => runs.createOnce({ ...asked, runId }, ['w'], key)));
      const { runId: madeId = '' } = (await runs.list({ limit: 2 })).runs[0] ?? {};
      expect(made.map((each) => each?.runId)).toEqual(madeId === 'a' ? [undefined, 'a'] : ['b', undefined]);
      // Another key comes to the same run while it has not ended.
      const another = { ...key, key: 'l' };
      expect(await runs.createOnce({ ...asked, runId: 'c' }, ['w'], another)).toMatchObject({ runId: madeId });
      await runs.finish(reportOf('done', committedAtMs, madeId));
      for (const each of [key, another]) {
        expect(await runs.findKeyed(each)).toBe(madeId);
        expect(await runs.createOnce({ ...asked, runId: 'd' }, ['w'], each)).toMatchObject({
          runId: madeId,
          state: 'done',
        });
      }
      const other = { ...key, bodySha256: 'bb' };
      await expect(runs.createOnce({ ...asked, runId: 'e' }, ['w'], other)).rejects.toThrow(KeyReusedError);
      expect(await runs.createOnce({ ...asked, runId: 'f' }, ['w'])).toBeUndefined();
    });

    it('makes one run of two requests with one key at the same time, and refuses the key for another body', async () => {
      const { runs } = test().warehouse.ledger;
      const key = { client: 'nightly', route: 'POST /runs', key: 'k', bodySha256: 'aa' };
      expect(await runs.findKeyed(key)).toBeUndefined();
      const ids = ['a', 'b'];
      const made = await Promise.all(ids.map((runId) => runs.createKeyed({ ...request, runId }, key, ['w'])));
      const { runId: madeId = '' } = (await runs.list({ limit: 2 })).runs[0] ?? {};
      expect((await runs.list({ limit: 3 })).runs).toHaveLength(1);
      expect(made).toEqual(madeId === 'a' ? [undefined, 'a'] : ['b', undefined]);
      expect(await runs.findKeyed(key)).toBe(madeId);
      const other = { ...key, bodySha256: 'bb' };
      await expect(runs.findKeyed(other)).rejects.toThrow(KeyReusedError);
      await expect(runs.createKeyed({ ...request, runId: 'c' }, other)).rejects.toThrow(KeyReusedError);
      expect(await runs.read('c')).toBeUndefined();
      for (const [index, part] of (['client', 'route', 'key'] as const).entries()) {
        const runId = `of another ${part}`;
        expect(await runs.createKeyed({ ...request, runId }, { ...other, [part]: `${index}` })).toBeUndefined();
      }
    });

    it('makes a run queued, keeps its request, and refuses its id a second time', async () => {
      const { runs } = test().warehouse.ledger;
      await runs.create(request);
      const none = { unitCount: undefined, targetCount: undefined, startedAtMs: undefined, finishedAtMs: undefined };
      const unretried = { reopenedAtMs: undefined, reopenedBy: undefined, attempts: [] };
      const nothing = { ...none, ...unretried, namedTargets: [], settled: undefined, report: undefined };
      expect(await runs.read('r1')).toEqual({ ...request, state: 'queued', generation: 0, ...nothing });
      const { runId, job, params } = request;
      expect(await runs.readHead('r1')).toEqual({
        runId,
        job,
        params,
        state: 'queued',
        generation: 0,
        unitCount: undefined,
      });
      expect(await runs.read('r2')).toBeUndefined();
      expect(await runs.readHead('r2')).toBeUndefined();
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
      expect((await runs.totals('r1')).units).toMatchObject({ total: 4, open: 3 });
    });

    it('takes an empty plan for a plan, and no plan for a run that is not known', async () => {
      const runs = await planned(0);
      expect(await runs.read('r1')).toMatchObject({ state: 'running', unitCount: 0 });
      expect((await runs.totals('r1')).units.total).toBe(0);
      await expect(runs.savePlan('r2', unitsOf(1), committedAtMs)).rejects.toThrow(UsageError);
    });

    it('G1: a settled unit keeps its outcome', async () => {
      const runs = await planned(4);
      expect(await runs.settle('r1', [done(2), done(1)])).toEqual([1, 2]);
      expect(await runs.settle('r1', [failed(1), failed(3), failed(17)])).toEqual([3]);
      expect(await runs.settle('r1', [])).toEqual([]);
      expect(await runs.openUnits('r1', 0)).toEqual(unitsOf(1));
      expect((await runs.totals('r1')).units).toEqual({ total: 4, open: 1, done: 2, held: 0, failed: 1, cancelled: 0 });
    });

    it('settles the rest alike, and says how many they were', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0)]);
      const fault = { code: 'access', message: 'the service refused the token' };
      expect(await runs.settleRest('r1', { state: 'failed', fault })).toBe(3);
      expect(await runs.settleRest('r1', { state: 'cancelled' })).toBe(0);
      expect((await runs.totals('r1')).failures[0]).toEqual({ target: 'well 1', state: 'failed', ...fault });
    });

    it('G2: a run sums the counts of its units, with failures by unit and each notice once', async () => {
      const runs = await planned(5);
      await runs.settle('r1', [
        { ...done(3, { read: 2 ** 40, inserted: 1 }), notices: ['b', `it's`] },
        { ...done(1, { read: 3, updated: 3 }), notices: ['a', 'b'] },
        failed(4, 'late'),
        { ...failed(0, 'early'), state: 'held', counts: { heldRows: 7 } },
      ]);
      const sums = await runs.totals('r1');
      expect(sums.counts).toEqual({ heldRows: 7, read: 2 ** 40 + 3, updated: 3, inserted: 1 });
      expect(sums.failures.map(({ target, state, message }) => [target, state, message])).toEqual([
        ['well 0', 'held', 'early'],
        ['well 4', 'failed', 'late'],
      ]);
      expect(sums.notices).toEqual(['a', 'b', `it's`]);
    });

    it('counts a target once, however many units it has, where a count is of targets', async () => {
      const { runs } = test().warehouse.ledger;
      await runs.create(request);
      const units = unitsOf(7).map((unit) => (unit.unit < 5 ? { ...unit, target: 'retired' } : unit));
      await runs.savePlan('r1', units, committedAtMs);
      const { counts } = outcomeOfUnknown({ unit: 0, isNew: true, hasRows: true });
      await runs.settle('r1', [
        ...[0, 1, 2, 3, 4].map((unit) => ({ unit, state: 'unknown' as const, counts })),
        ...[5, 6].map((unit) => done(unit, { read: 3, ...rowsOfTarget(unit === 5) })),
      ]);
      const ofTargets = { targetsWithRows: 2, unknownTargets: 1, unknownWithRows: 1 };
      expect((await runs.totals('r1')).counts).toEqual({ newlyUnknown: 5, read: 6, ...ofTargets });
    });

    it('G2: gives units and counts of several runs at once, and of none that has no units', async () => {
      const runs = await planned(4);
      await planned(2, 'r2');
      await runs.create({ ...request, runId: 'without a plan' });
      await runs.settle('r1', [done(0, { read: 2 }), failed(1)]);
      await runs.settle('r2', [done(1, { read: 7, inserted: 3 })]);
      const figures = await runs.figures(['r2', 'r1', 'without a plan', 'unknown']);
      expect(Object.fromEntries(figures)).toEqual({
        r1: { units: { total: 4, open: 2, done: 1, held: 0, failed: 1, cancelled: 0 }, counts: { read: 2 } },
        r2: {
          units: { total: 2, open: 1, done: 1, held: 0, failed: 0, cancelled: 0 },
          counts: { read: 7, inserted: 3 },
        },
      });
      expect(await runs.figures([])).toEqual(new Map());
    });

    it('tells a hundred failures of however many', async () => {
      const runs = await planned(150);
      await runs.settleRest('r1', { state: 'failed', fault: { code: 'x', message: 'y' } });
      const sums = await runs.totals('r1');
      expect(sums.units.failed).toBe(150);
      expect(sums.failures.map(({ target }) => target)).toEqual(
        Array.from({ length: 100 }, (_, unit) => `well ${unit}`),
      );
    });

    it('stores the report of a run once', async () => {
      const runs = await planned(4);
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('done'));
      await runs.finish(reportOf('failed', committedAtMs + 9));
      expect(await runs.read('r1')).toMatchObject({
        state: 'done',
        finishedAtMs: committedAtMs,
        report: reportOf('done'),
        settled: { units: reportOf('done').units, counts: { read: 4 }, alerts: [] },
      });
    });

    it('G2: does not end a run while a unit of it is open', async () => {
      const runs = await planned(2);
      await runs.settle('r1', [done(0)]);
      await runs.finish(reportOf('cancelled'));
      expect(await runs.read('r1')).toMatchObject({ state: 'running', report: undefined });
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('cancelled'));
      expect(await runs.read('r1')).toMatchObject({ state: 'cancelled' });
    });

    it('opens failed and cancelled units again, for the next generation', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0), failed(1), { ...done(2), state: 'held' }]);
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('failed'));
      expect(await runs.reopen('r1', 'anna')).toBe(2);
      expect(await runs.read('r1')).toMatchObject({
        state: 'queued',
        generation: 1,
        reopenedBy: 'anna',
        report: undefined,
        finishedAtMs: undefined,
      });
      expect(await runs.openChunks('r1')).toEqual([
        { chunk: 0, openUnits: 1 },
        { chunk: 1, openUnits: 1 },
      ]);
      expect((await runs.totals('r1')).failures).toMatchObject([{ state: 'held' }]);
      // It waits, and has not begun.
      expect((await runs.read('r1'))?.attemptStartedAtMs).toBeUndefined();
      const began = { startedAtMs: committedAtMs + 5, attemptStartedAtMs: committedAtMs + dayMs };
      await runs.resume('r1', began.attemptStartedAtMs);
      expect(await runs.read('r1')).toMatchObject({ state: 'running', generation: 1, ...began });
      await runs.settle('r1', [done(1), done(3)]);
      await runs.finish(reportOf('done', committedAtMs + dayMs));
      await runs.resume('r1', committedAtMs + 2 * dayMs);
      expect(await runs.read('r1')).toMatchObject({
        state: 'done',
        generation: 1,
        report: { state: 'done' },
        ...began,
      });
    });

    it('leaves a run as it is that has nothing to open, and refuses one that is going or not known', async () => {
      const runs = await planned(1);
      await expect(runs.reopen('r1')).rejects.toThrow(UsageError);
      await expect(runs.reopen('r2')).rejects.toThrow(UsageError);
      await runs.settle('r1', [done(0)]);
      await runs.finish(reportOf('done'));
      expect(await runs.reopen('r1')).toBe(0);
      expect(await runs.read('r1')).toMatchObject({ state: 'done', generation: 0, report: { state: 'done' } });
    });

    it('keeps a unit that goes on at a checkpoint its counts when it is opened again', async () => {
      const runs = await planned(2);
      await test().warehouse.ledger.pushes.begin({
        runId: 'r1',
        unit: 1,
        fileSha256: 'abc',
        serviceUrl: request.service,
        form: 'auto',
        isAgain: false,
        begunAtMs: committedAtMs,
      });
      await runs.settle('r1', [
        { ...failed(0), counts: { read: 2 } },
        { ...failed(1), counts: { read: 3 } },
      ]);
      await runs.finish(reportOf('failed'));
      expect(await runs.reopen('r1')).toBe(2);
      await runs.settleRest('r1', { state: 'cancelled' });
      expect((await runs.totals('r1')).counts).toEqual({ read: 3 });
    });

    async function targetsOf(runs: RunLedger, runId: string): Promise<readonly string[]> {
      return (await allOf(runs.targets(runId))).flat();
    }

    it('keeps the targets of a run, each once, in the order in which they were named first', async () => {
      const { runs } = test().warehouse.ledger;
      await runs.create(request, ['b', `O'Brien`, 'a', 'b', '井戸', 'a']);
      await runs.create({ ...request, runId: 'r2' });
      expect(await targetsOf(runs, 'r1')).toEqual(['b', `O'Brien`, 'a', '井戸']);
      expect(await runs.read('r1')).toMatchObject({ targetCount: 4 });
      expect(await targetsOf(runs, 'r2')).toEqual([]);
    });

    it('drops the targets of a run once it has its plan, and keeps them when it ends without one', async () => {
      const { runs } = test().warehouse.ledger;
      for (const runId of ['planned', 'ended', 'waiting']) await runs.create({ ...request, runId }, ['a']);
      await runs.savePlan('planned', unitsOf(1), committedAtMs);
      await runs.finish(reportOf('cancelled', committedAtMs, 'ended'));
      expect(await targetsOf(runs, 'planned')).toEqual([]);
      expect(await targetsOf(runs, 'ended')).toEqual(['a']);
      expect(await targetsOf(runs, 'waiting')).toEqual(['a']);
      expect(await runs.read('planned')).toMatchObject({ targetCount: 1 });
    });

    it.each(['cancelled', 'failed'] as const)(
      'reopens a run that was %s without a plan, to be planned',
      async (state) => {
        const { runs } = test().warehouse.ledger;
        await runs.create(request, ['a', 'b']);
        await runs.create({ ...request, runId: 'r2' });
        for (const runId of ['r1', 'r2']) await runs.finish(reportOf(state, committedAtMs, runId));
        expect(await runs.reopen('r1')).toBe(2);
        expect(await runs.reopen('r2')).toBe(1);
        const reopened = {
          state: 'queued',
          generation: 1,
          unitCount: undefined,
          report: undefined,
          settled: undefined,
        };
        expect(await runs.read('r1')).toMatchObject({ ...reopened, targetCount: 2, finishedAtMs: undefined });
        expect(await runs.read('r2')).toMatchObject(reopened);
        expect(await targetsOf(runs, 'r1')).toEqual(['a', 'b']);
        await runs.savePlan('r1', unitsOf(2), committedAtMs + 5);
        expect(await runs.read('r1')).toMatchObject({ state: 'running', unitCount: 2, generation: 1 });
      },
    );

    it('makes no run where its targets cannot be had', async () => {
      const { runs } = test().warehouse.ledger;
      async function* broken() {
        yield 'a';
        await Promise.reject(new UsageError('line 2 has no well'));
      }
      await expect(runs.create(request, broken())).rejects.toThrow('line 2');
      expect(await runs.read('r1')).toBeUndefined();
      expect(await targetsOf(runs, 'r1')).toEqual([]);
    });

    it('gives the targets in slices, between which the warehouse may be asked', async () => {
      const { runs } = test().warehouse.ledger;
      const named = Array.from({ length: 12_500 }, (_, place) => `well ${place}`);
      await runs.create(request, named);
      const seen: string[] = [];
      for await (const slice of runs.targets('r1')) {
        expect(slice.length).toBeLessThanOrEqual(5_000);
        expect(await runs.readHead('r1')).toMatchObject({ state: 'queued' });
        seen.push(...slice);
      }
      expect(seen).toEqual(named);
    });

    /** Five runs, a to e by age; c and d were requested in the same millisecond. */
    async function fiveRuns(): Promise<RunLedger> {
      const { runs } = test().warehouse.ledger;
      for (const [runId, ms] of Object.entries({ a: 0, b: 1, c: 2, d: 2, e: 3 })) {
        const job = runId === 'b' ? 'cleanup' : request.job;
        await runs.create({ ...request, runId, job, requestedAtMs: committedAtMs + ms });
      }
      await runs.savePlan('b', unitsOf(1), committedAtMs);
      return runs;
    }

    const idsOf = ({ runs }: RunPage) => runs.map(({ runId }) => runId).join('');

    it.each<[string, Omit<RunFilter, 'limit'>, string]>([
      ['nothing', {}, 'edcba'],
      ['a state', { states: ['running'] }, 'b'],
      ['several states', { states: ['running', 'queued'] }, 'edcba'],
      ['no state at all', { states: [] }, ''],
      ['a job', { job: 'cleanup' }, 'b'],
      ['a beginning, which counts', { sinceMs: committedAtMs + 2 }, 'edc'],
      ['an end, which does not', { untilMs: committedAtMs + 2 }, 'ba'],
      [
        'all of them',
        { states: ['queued'], job: request.job, sinceMs: committedAtMs + 1, untilMs: committedAtMs + 3 },
        'dc',
      ],
    ])('lists the newest first, restricted by %s', async (_what, filter, expected) => {
      expect(idsOf(await (await fiveRuns()).list({ limit: 10, ...filter }))).toBe(expected);
    });

    it('names the newest runs, with the file of a push', async () => {
      const runs = await fiveRuns();
      const push = { ...request, runId: 'p', job: 'push network-pipes', params: { name: 'May.csv', file: '/x' } };
      await runs.create({ ...push, requestedAtMs: committedAtMs + 9 });
      const [first, second] = await runs.names(2);
      expect(first).toEqual({ runId: 'p', job: 'push network-pipes', file: 'May.csv' });
      expect(second).toEqual({ runId: 'e', job: request.job, file: null });
      expect(await runs.names(10)).toHaveLength(6);
    });

    it('lists page by page, with no run twice or left out while others are made and end', async () => {
      const runs = await fiveRuns();
      const first = await runs.list({ limit: 2 });
      expect(idsOf(first)).toBe('ed');
      await runs.create({ ...request, runId: 'f', requestedAtMs: committedAtMs + 9 });
      await runs.finish(reportOf('done', committedAtMs, 'c'));
      const second = await runs.list({ limit: 2, cursor: first.cursor ?? '' });
      expect(await runs.list({ limit: 2, cursor: first.runs.at(-1)?.runId ?? '' })).toEqual(second);
      expect(idsOf(second)).toBe('cb');
      const last = await runs.list({ limit: 2, cursor: second.cursor ?? '' });
      expect(idsOf(last)).toBe('a');
      expect(last.cursor).toBeUndefined();
      expect((await runs.list({ limit: 1, cursor: second.cursor ?? '' })).cursor).toBeUndefined();
    });

    it.each(['x', '', 'eyJ4IjoxfQ', `'; DROP TABLE run`])('refuses %j as a cursor', async (cursor) => {
      await expect(test().warehouse.ledger.runs.list({ limit: 2, cursor })).rejects.toThrow(UsageError);
    });

    it('lists summaries, with parameters and without reports', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0)]);
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('done'));
      const { runs: listed } = await runs.list({ limit: 1 });
      expect(listed).toEqual([
        {
          ...request,
          namedTargets: [],
          state: 'done',
          generation: 0,
          unitCount: 4,
          targetCount: undefined,
          startedAtMs: committedAtMs + 5,
          attemptStartedAtMs: committedAtMs + 5,
          finishedAtMs: committedAtMs,
          settled: { units: reportOf('done').units, counts: { read: 4 }, alerts: [] },
        },
      ]);
    });

    it('names the targets of a run that has few of them, before its plan and after it', async () => {
      const { runs } = test().warehouse.ledger;
      const namesOf = async (runId: string) => (await runs.read(runId))?.namedTargets;
      await runs.create({ ...request, runId: 'few' }, ['b', 'a', 'b']);
      await runs.create({ ...request, runId: 'many' }, ['a', 'b', 'c', 'd']);
      expect([await namesOf('few'), await namesOf('many')]).toEqual([['b', 'a'], []]);
      await runs.savePlan('few', unitsOf(2), committedAtMs);
      expect(await namesOf('few')).toEqual(['well 0', 'well 1']);
    });

    it('goes back to newer runs by a cursor, up to the newest', async () => {
      const { runs } = test().warehouse.ledger;
      for (const [ms, runId] of ['a', 'b', 'c', 'd', 'e'].entries())
        await runs.create({ ...request, runId, requestedAtMs: committedAtMs + ms });
      const first = await runs.list({ limit: 2 });
      expect([idsOf(first), first.newer]).toEqual(['ed', undefined]);
      const last = await runs.list({ limit: 2, cursor: 'b' });
      expect([idsOf(last), last.cursor]).toEqual(['a', undefined]);
      const before = await runs.list({ limit: 2, newerThan: last.newer ?? '' });
      expect(idsOf(before)).toBe('cb');
      const newest = await runs.list({ limit: 2, newerThan: before.newer ?? '' });
      expect([idsOf(newest), newest.newer]).toEqual(['ed', undefined]);
      expect(idsOf(await runs.list({ limit: 2, cursor: newest.cursor ?? '' }))).toBe('cb');
    });

    it('finds runs by a target, a schedule, a person and their exceptions, and counts those of each state', async () => {
      const { runs } = test().warehouse.ledger;
      const rules = [{ job: request.job, counts: ['rejected'], byAlerts: ['quarantined'] }];
      const end = async (runId: string, counts: RunReport['counts'], units: Partial<RunReport['units']> = {}) => {
        const report = reportOf('done', committedAtMs, runId);
        await runs.finish({ ...report, counts, units: { ...report.units, ...units } });
      };
      await runs.create({ ...request, runId: 'a', schedule: 'nightly' }, ['well 9']);
      await planned(4, 'b');
      await runs.settleRest('b', { state: 'done' });
      await end('b', { rejected: 2 });
      await runs.create({ ...request, runId: 'c', actor: 'Anna' });
      await end('c', { quarantined: 1 });
      await runs.create({ ...request, runId: 'd', job: 'another' });
      await end('d', { rejected: 2 });
      const idsBy = async (filter: Omit<RunFilter, 'limit'>) => idsOf(await runs.list({ ...filter, limit: 9 }));
      expect(await idsBy({ target: 'well 9' })).toBe('a');
      expect(await idsBy({ target: 'well 3' })).toBe('b');
      // By the rule of the search: any part, in any case, and without what stands between.
      expect([await idsBy({ target: 'LL 3' }), await idsBy({ target: 'well9' })]).toEqual(['b', 'a']);
      expect(await idsBy({ target: 'well' })).toBe('ba');
      expect(await idsBy({ target: 'well 10' })).toBe('');
      expect(await idsBy({ schedule: 'nightly' })).toBe('a');
      expect(await idsBy({ schedule: 'night' })).toBe('');
      expect(await idsBy({ by: 'ann' })).toBe('c');
      // An end without an alert: what is an exception by alerts alone is none.
      expect(await idsBy({ exceptions: rules })).toBe('b');
      const none = { running: 0, failed: 0, cancelled: 0, interrupted: 0 };
      expect(await runs.count({ states: ['failed'] }, rules)).toEqual({ ...none, queued: 1, done: 3, exceptions: 1 });
      expect(await runs.count({ by: 'ANNA' }, rules)).toEqual({ ...none, queued: 0, done: 1, exceptions: 0 });
    });

    it('shows the units of a run: what needs a look first, by state and a part of the name, in pages', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [{ ...done(0, { read: 7 }), readMs: 12 }, failed(2)]);
      const page = await runs.units('r1', { limit: 2 });
      expect(page.states).toEqual({ open: 2, done: 1, failed: 1 });
      expect([page.matches, page.units.map(({ unit, state }) => `${unit} ${state}`)]).toEqual([
        4,
        ['2 failed', '1 open'],
      ]);
      const rest = await runs.units('r1', { limit: 2, offset: 2 });
      expect(rest.units).toMatchObject([{ unit: 3 }, { unit: 0, counts: { read: 7 }, readMs: 12, fault: undefined }]);
      const named = await runs.units('r1', { limit: 9, part: 'WELL 2', states: ['failed', 'done'] });
      expect(named).toMatchObject({ matches: 1, units: [{ target: 'well 2', fault: { code: 'not-found' } }] });
      expect((await runs.units('r1', { limit: 9, units: [1, 3] })).units.map(({ unit }) => unit)).toEqual([1, 3]);
      // Of those that are done, the ones with quarantined records.
      await runs.settle('r1', [done(3, { read: 2, quarantined: 1 })]);
      const areDone = await runs.units('r1', { limit: 9, states: ['done'] });
      expect(areDone.units.map(({ unit }) => unit)).toEqual([3, 0]);
      expect(await runs.units('none', { limit: 9 })).toEqual({ units: [], matches: 0, states: {} });
    });

    it('keeps what became of each attempt when a run is opened again', async () => {
      const runs = await planned(4);
      await runs.settle('r1', [done(0), failed(1), failed(2), failed(3)]);
      await runs.finish(reportOf('failed'));
      await runs.reopen('r1', 'anna');
      await runs.settleRest('r1', { state: 'cancelled' });
      await runs.finish(reportOf('cancelled'));
      await runs.reopen('r1');
      const { attempts, generation } = (await runs.read('r1')) ?? {};
      expect(generation).toBe(2);
      expect(attempts).toMatchObject([
        { state: 'failed', by: 'tester@host', counts: { read: 4 }, startedAtMs: committedAtMs + 5 },
        // Its work had not begun.
        { state: 'cancelled', by: 'anna', startedAtMs: committedAtMs, finishedAtMs: committedAtMs },
      ]);
    });

    it('finds runs by the beginning of their ids, letter by letter', async () => {
      const { runs } = test().warehouse.ledger;
      for (const [ms, runId] of ['x_1', 'x%2', 'xa3', 'X_4', `x'5`].entries()) {
        await runs.create({ ...request, runId, requestedAtMs: committedAtMs + ms });
      }
      const found = async (prefix: string, limit = 9) => {
        const { count, newest } = await runs.find(prefix, limit);
        return [count, newest.map(({ runId }) => runId)];
      };
      expect(await found('x_')).toEqual([1, ['x_1']]);
      expect(await found('x%')).toEqual([1, ['x%2']]);
      expect(await found(`x'`)).toEqual([1, [`x'5`]]);
      expect(await found('x', 2)).toEqual([4, [`x'5`, 'xa3']]);
      expect(await found('y')).toEqual([0, []]);
    });

    it('knows the runs that have not ended, the oldest first', async () => {
      const runs = await fiveRuns();
      await runs.finish(reportOf('done', committedAtMs, 'd'));
      await runs.settleRest('b', { state: 'cancelled' });
      await runs.finish(reportOf('cancelled', committedAtMs, 'b'));
      await runs.reopen('b');
      expect(await runs.unfinished()).toEqual([
        { runId: 'a', generation: 0 },
        { runId: 'b', generation: 1 },
        { runId: 'c', generation: 0 },
        { runId: 'e', generation: 0 },
      ]);
    });

    it('holds a plan of many units', async () => {
      const units = bySuite(20_000, 100_000);
      const runs = await planned(units);
      expect(await runs.openUnits('r1', units / 2 - 1)).toEqual(unitsOf(units).slice(-2));
      expect(await runs.settleRest('r1', { state: 'cancelled' })).toBe(units);
    });

    it('is the same for another warehouse on the same data', async () => {
      await planned(2);
      expect(await test().another().ledger.runs.read('r1')).toMatchObject({ unitCount: 2 });
    });
  });
}
