/** Cleanups in a warehouse: plans that one run claims, and deletions whose every step is in a chained audit. */
import { describe, expect, it } from 'vitest';
import { timeSeries } from '../../../../src/core/definitions/record-list.ts';
import type { CleanupPlan, PlannedTarget } from '../../../../src/core/cleanup/plan.ts';
import type { DeletionConclusion } from '../../../../src/core/cleanup/outcome.ts';
import { targetText } from '../../../../src/core/cleanup/target.ts';
import { AccessError, UsageError } from '../../../../src/core/base/errors.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import {
  allOf,
  ask,
  committedAtMs,
  dailyRows,
  guard,
  loadOne,
  reading,
  xidOf,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const serviceUrl = 'https://pds.example.com';
const atMs = committedAtMs;

function targetOf(ordinal: number, change: Partial<PlannedTarget> = {}): PlannedTarget {
  const snapshot = { state: 'present', contentType: 'application/json', body: '{"name":"Ø \\"1\\""}' } as const;
  return {
    ordinal,
    kind: 'time-series',
    ownerId: 'EQ 1',
    sourceId: `S/${ordinal}`,
    snapshot,
    producedOn: null,
    doubt: null,
    ...change,
  };
}

function planOf(planId: string, targets: number, createdAtMs = atMs): CleanupPlan {
  const counts = { targets, timeSeries: targets, microStrings: 0, wellbores: 0, equipment: 1, wells: 0 };
  const rest = { repeated: 0, unknown: 0, unreadable: 0, producing: 0, knownWells: 0 };
  const digest = planId.padEnd(64, '0');
  const made = { createdAtMs, createdBy: 'somebody@here', selection: null, selectionSha256: null, applied: undefined };
  const includesProducing = false;
  const caps = { maxTargets: 1_000, maxShareOfWellsPercent: 12.5 };
  return { planId, digest, serviceUrl, counts: { ...counts, ...rest }, caps, includesProducing, ...made };
}

const deleted: DeletionConclusion = { outcome: 'deleted', answer: 1, words: null, verification: 'gone' };
const refused: DeletionConclusion = { outcome: 'refused', answer: null, words: 'it may not be', verification: null };

/** Exports `count` records of a piece of equipment, from `S/0`, with xids from `firstXid`. */
async function exportSeries(
  warehouse: WarehouseHandle,
  { runId, equipment, count, firstXid }: { runId: string; equipment: string; count: number; firstXid: number },
): Promise<UnitOutcome | undefined> {
  await warehouse.ledger.runs.create({
    runId,
    job: 'export time-series',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: atMs,
  });
  await warehouse.ledger.runs.savePlan(runId, [{ unit: 0, chunk: 0, target: equipment, spec: null }], atMs);
  const records = Array.from({ length: count }, (_, place) => {
    const said = { equipmentXid: xidOf(900), measurement: 'OilRate', unit: null };
    return { xid: xidOf(firstXid + place), sourceId: `S/${place}`, ...said };
  });
  const readings = [{ unit: 0, target: equipment, records }];
  const [outcome] = await warehouse.records(timeSeries).commit({ runId, readings, shrink: guard, committedAtMs: atMs });
  return outcome;
}

export function describeCleanup(open: OpenWarehouse): void {
  describe('cleanup', () => {
    const test = freshWarehouse(open);

    async function keep(planId: string, targets: readonly PlannedTarget[], createdAtMs = atMs): Promise<void> {
      const { cleanupPlans } = test().warehouse.ledger;
      const draftId = `draft ${new Date(createdAtMs).toISOString()} ${planId}`;
      await cleanupPlans.draft(draftId, targets.slice(0, 2));
      await cleanupPlans.draft(draftId, targets.slice(2));
      await cleanupPlans.keep(draftId, planOf(planId, targets.length, createdAtMs));
    }

    /** A run that has claimed a plan of `count` targets, planned into units. */
    async function begunRun(runId: string, count: number): Promise<WarehouseHandle> {
      const { warehouse } = test();
      await keep(
        `plan ${runId}`,
        Array.from({ length: count }, (_, ordinal) => targetOf(ordinal)),
      );
      await warehouse.ledger.cleanupPlans.claim(`plan ${runId}`, { runId, atMs, by: 'somebody@here' });
      const units = Array.from({ length: count }, (_, unit) => ({
        unit,
        chunk: 0,
        target: targetText(targetOf(unit)),
        spec: null,
      }));
      await warehouse.ledger.runs.create({
        runId,
        job: 'cleanup',
        params: {},
        service: 'https://service.example',
        actor: 'tester@host',
        requestedAtMs: atMs,
      });
      await warehouse.ledger.runs.savePlan(runId, units, atMs);
      return warehouse;
    }

    const events = (unit: number): Promise<readonly (readonly unknown[])[]> =>
      ask(test().warehouse, `SELECT event, outcome FROM deletion_audit WHERE unit = ${unit} ORDER BY seq`);

    it('keeps a plan with its targets and what the service showed of them, in order', async () => {
      const targets = [
        targetOf(0),
        targetOf(1, { snapshot: { state: 'absent', contentType: null, body: null } }),
        targetOf(2, { kind: 'wellbores', ownerId: '15/9 Å', sourceId: null, producedOn: '2024-05-31' }),
        targetOf(3, { kind: 'wellbores', ownerId: '15/9 B', sourceId: null, doubt: 'unread' }),
      ];
      await keep('p', targets);
      const { cleanupPlans } = test().warehouse.ledger;
      expect(await cleanupPlans.read('p')).toEqual(planOf('p', 4));
      expect(await cleanupPlans.read('q')).toBeUndefined();
      expect(await cleanupPlans.targets('p', { from: 0, limit: 10 })).toEqual(targets);
      expect(await cleanupPlans.targets('p', { from: 1, limit: 1 })).toEqual([targets[1]]);
      expect(await cleanupPlans.ids('p')).toEqual(
        targets.map(({ kind, ownerId, sourceId }) => ({ kind, ownerId, sourceId })),
      );
      expect(await cleanupPlans.warnedTargets('p', 10)).toEqual(targets.slice(1));
      expect(await cleanupPlans.warnedTargets('p', 1)).toEqual([targets[1]]);
    });

    it('lists the newest plan first, and forgets drafts of the day before that became none', async () => {
      const { cleanupPlans } = test().warehouse.ledger;
      await cleanupPlans.draft(`draft ${new Date(atMs - 2 * 86_400_000).toISOString()} x`, [targetOf(0)]);
      await cleanupPlans.draft(`draft ${new Date(atMs - 60_000).toISOString()} y`, [targetOf(0)]);
      await keep('a', [targetOf(0)], atMs);
      await keep('b', [targetOf(0)], atMs + 1);
      expect((await cleanupPlans.list(10)).map(({ planId }) => planId)).toEqual(['b', 'a']);
      expect(await cleanupPlans.list(1)).toHaveLength(1);
      expect(await ask(test().warehouse, 'SELECT count(*) FROM cleanup_target')).toEqual([[3]]);
    });

    it('G6: a plan belongs to the first run that claims it', async () => {
      await keep('p', [targetOf(0)]);
      const { cleanupPlans } = test().warehouse.ledger;
      const claim = (runId: string) => cleanupPlans.claim('p', { runId, atMs, by: `${runId}@here` });
      const owners = await Promise.all([claim('r1'), claim('r2'), claim('r1')]);
      const [owner] = owners;
      expect(['r1', 'r2']).toContain(owner);
      expect(owners).toEqual([owner, owner, owner]);
      expect(await claim('r3')).toBe(owner);
      expect(await cleanupPlans.ofRun(owner)).toMatchObject({
        planId: 'p',
        applied: { runId: owner, atMs, by: `${owner}@here` },
      });
      for (const runId of ['r1', 'r2', 'r3'].filter((each) => each !== owner)) {
        expect(await cleanupPlans.ofRun(runId)).toBeUndefined();
      }
      await expect(cleanupPlans.claim('q', { runId: 'r', atMs, by: '' })).rejects.toThrow(UsageError);
    });

    it('knows the wells that it has rows of, and which of them produced lately', async () => {
      const { warehouse } = test();
      expect(await warehouse.ledger.cleanupPlans.knownWells()).toBe(0);
      await loadOne(warehouse, reading(dailyRows(10), { uwi: 'W1' }));
      await loadOne(warehouse, reading(dailyRows(3), { uwi: 'W2' }));
      expect(await warehouse.ledger.cleanupPlans.knownWells()).toBe(2);
      const days = { sinceMs: Date.parse('2024-01-05T00:00:00Z'), nowMs: Date.parse('2024-02-01T04:00:00Z') };
      const { recentProduction } = warehouse.ledger.cleanupPlans;
      const known = { isRead: true, isQuarantined: false };
      expect(await recentProduction(['W1', 'W2', 'W3', 'W1'], days)).toEqual(
        new Map([
          ['W1', { producedOn: '2024-01-10', ...known }],
          ['W2', { producedOn: null, ...known }],
        ]),
      );
      expect(await recentProduction([], days)).toEqual(new Map());
      const later = { sinceMs: Date.parse('2099-01-01T00:00:00Z'), nowMs: Date.parse('2099-01-31T00:00:00Z') };
      expect(await recentProduction(['W2'], later)).toEqual(
        new Map([['W2', { producedOn: null, isRead: false, isQuarantined: false }]]),
      );
    });

    it.each([
      { reads: 'nothing below the first day', windows: [['2024-01-02', '2024-01-31']], isRead: true },
      {
        reads: 'two windows that adjoin',
        windows: [
          ['2023-12-01', '2024-01-20'],
          ['2024-01-20', '2024-01-31'],
        ],
        isRead: true,
      },
      { reads: 'all but the last three days', windows: [['2024-01-01', '2024-01-29']], isRead: true },
      { reads: 'all but the last four days', windows: [['2024-01-01', '2024-01-28']], isRead: false },
      { reads: 'the first day alone', windows: [['2024-01-01', '2024-01-03']], isRead: false },
      { reads: 'the last day alone', windows: [['2024-01-30', '2024-01-31']], isRead: false },
      {
        reads: 'all but a day between',
        windows: [
          ['2024-01-01', '2024-01-14'],
          ['2024-01-15', '2024-01-31'],
        ],
        isRead: false,
      },
    ])('G6: production of the last 30 days counts as read ($isRead) where backfills read $reads', async (each) => {
      const { warehouse } = test();
      for (const [from = '', to = ''] of each.windows) {
        await loadOne(warehouse, reading([], { uwi: 'W', from, to, mode: 'backfill' }));
      }
      const days = { sinceMs: Date.parse('2024-01-02T04:00:00Z'), nowMs: Date.parse('2024-02-01T04:00:00Z') };
      const known = await warehouse.ledger.cleanupPlans.recentProduction(['W'], days);
      expect(known.get('W')).toMatchObject({ isRead: each.isRead });
    });

    it('G6: production counts as read below a watermark that nightly runs moved, and not below one of last month', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3), { uwi: 'W', to: '2024-01-05' }));
      await loadOne(warehouse, reading([], { uwi: 'W', from: '2024-01-05', to: '2024-01-31' }));
      const { recentProduction } = warehouse.ledger.cleanupPlans;
      const at = async (sinceDay: string, today: string) => {
        const days = { sinceMs: Date.parse(`${sinceDay}T04:00:00Z`), nowMs: Date.parse(`${today}T04:00:00Z`) };
        return (await recentProduction(['W'], days)).get('W')?.isRead;
      };
      expect(await at('2024-01-02', '2024-02-01')).toBe(true);
      expect(await at('2024-01-30', '2024-02-29')).toBe(false);
    });

    it('G6: a cleanup begins nothing without a claimed plan, or at another service than that of the plan', async () => {
      const { deletions } = (await begunRun('r', 2)).ledger;
      const batch = { runId: 'r', units: [0], serviceUrl, atMs };
      await expect(deletions.begin({ ...batch, runId: 'other' })).rejects.toThrow(/claimed no plan/);
      const elsewhere = deletions.begin({ ...batch, serviceUrl: 'https://test.example.com' });
      await expect(elsewhere).rejects.toThrow(AccessError);
      expect(await ask(test().warehouse, 'SELECT count(*) FROM deletion_audit')).toEqual([[0]]);
      expect(await deletions.begin({ ...batch, units: [0, 7] })).toEqual([
        { unit: 0, kind: 'time-series', ownerId: 'EQ 1', sourceId: 'S/0', isRepeat: false, wasDeleted: false },
      ]);
    });

    it('tells of a target that another run deleted it since the plan was made, and not long before', async () => {
      const { deletions } = (await begunRun('long ago', 2)).ledger;
      await begunRun('since', 2);
      const end = async (runId: string, unit: number, at: number): Promise<void> => {
        await deletions.begin({ runId, units: [unit], serviceUrl, atMs: at });
        await deletions.conclude({ runId, conclusions: [{ unit, conclusion: deleted }], withdrawn: [], atMs: at });
      };
      await end('long ago', 0, atMs - 3 * 86_400_000);
      await end('since', 1, atMs + 1_000);
      await begunRun('r', 2);
      expect(await deletions.begin({ runId: 'r', units: [0, 1], serviceUrl, atMs: atMs + 2_000 })).toMatchObject([
        { unit: 0, wasDeleted: false },
        { unit: 1, wasDeleted: true },
      ]);
    });

    it('G6: a cleanup begins no target that differs from its plan', async () => {
      const { warehouse } = test();
      await keep('p', [targetOf(0), targetOf(1, { ownerId: 'EQ 2' })]);
      await warehouse.ledger.cleanupPlans.claim('p', { runId: 'r', atMs, by: 'somebody@here' });
      const units = [0, 1].map((unit) => ({ unit, chunk: 0, target: targetText(targetOf(unit)), spec: null }));
      await warehouse.ledger.runs.create({
        runId: 'r',
        job: 'cleanup',
        params: {},
        service: 'https://service.example',
        actor: 'tester@host',
        requestedAtMs: atMs,
      });
      await warehouse.ledger.runs.savePlan('r', units, atMs);
      const begun = warehouse.ledger.deletions.begin({ runId: 'r', units: [0, 1], serviceUrl, atMs });
      await expect(begun).rejects.toMatchObject({ name: 'AccessError', code: 'plan-changed' });
      expect(await ask(warehouse, 'SELECT count(*) FROM deletion_audit')).toEqual([[0]]);
    });

    it('G1, G6: a cleanup writes intent and outcome of a unit once, and marks a unit begun before as a repeat', async () => {
      const { deletions, runs } = (await begunRun('r', 3)).ledger;
      const batch = { runId: 'r', units: [0, 1, 2], serviceUrl, atMs };
      await deletions.begin(batch);
      const conclusions = [
        { unit: 0, conclusion: deleted },
        { unit: 1, conclusion: refused },
      ];
      const settled = await deletions.conclude({ runId: 'r', conclusions, withdrawn: [], atMs });
      expect(settled).toMatchObject([
        { unit: 0, state: 'done', counts: { deleted: 1, verifiedGone: 1 } },
        { unit: 1, state: 'held', counts: { refused: 1 }, fault: { message: 'it may not be' } },
      ]);
      const again = conclusions.map(({ unit }) => ({ unit, conclusion: refused }));
      expect(await deletions.conclude({ runId: 'r', conclusions: again, withdrawn: [0], atMs })).toEqual([]);
      expect(await deletions.begin(batch)).toMatchObject([{ unit: 2, isRepeat: true }]);
      expect(await events(0)).toEqual([
        ['intent', null],
        ['outcome', 'deleted'],
      ]);
      expect((await runs.totals('r')).units).toMatchObject({ done: 1, held: 1, open: 1 });
    });

    it('G1: deleted time series leave the warehouse with their outcome, once, and stay in the history', async () => {
      const { warehouse } = test();
      await exportSeries(warehouse, { runId: 'export', equipment: 'EQ 1', count: 5, firstXid: 1 });
      await exportSeries(warehouse, { runId: 'other', equipment: 'EQ 2', count: 5, firstXid: 11 });
      const { deletions } = (await begunRun('cleanup', 5)).ledger;
      await deletions.begin({ runId: 'cleanup', units: [0, 1, 2, 3, 4], serviceUrl, atMs });
      const conclusions = [
        { unit: 0, conclusion: deleted },
        { unit: 1, conclusion: { ...deleted, outcome: 'already gone', answer: null, verification: 'not checked' } },
        { unit: 2, conclusion: { ...deleted, verification: 'still there' } },
        { unit: 3, conclusion: refused },
      ] as const;
      for (const _ of ['first', 'repeated']) {
        await deletions.conclude({ runId: 'cleanup', conclusions, withdrawn: [], atMs: atMs + 60_000 });
      }
      const select = 'SELECT source_id FROM time_series WHERE equipment = ';
      expect((await ask(warehouse, `${select} 'EQ 1' ORDER BY 1`)).flat()).toEqual(['S/2', 'S/3', 'S/4']);
      expect(await ask(warehouse, `${select} 'EQ 2'`)).toHaveLength(5);
      const history = `SELECT equipment, source_id, change, run_id, noticed_at, known_run_id, known_from
        FROM time_series_history ORDER BY source_id`;
      const [noticed, known] = ['2024-06-01T04:01:00Z', '2024-06-01T04:00:00Z'];
      expect(await ask(warehouse, history)).toEqual([
        ['EQ 1', 'S/0', 'deleted', 'cleanup', noticed, 'export', known],
        ['EQ 1', 'S/1', 'deleted', 'cleanup', noticed, 'export', known],
      ]);
    });

    it('lets an export read equipment again after its time series were deleted, and take one that came back', async () => {
      const { warehouse } = test();
      await exportSeries(warehouse, { runId: 'before', equipment: 'EQ 1', count: 2, firstXid: 1 });
      const { deletions } = (await begunRun('cleanup', 2)).ledger;
      await deletions.begin({ runId: 'cleanup', units: [0, 1], serviceUrl, atMs });
      const conclusions = [0, 1].map((unit) => ({ unit, conclusion: deleted }));
      await deletions.conclude({ runId: 'cleanup', conclusions, withdrawn: [], atMs });
      const read = (runId: string, count: number) =>
        exportSeries(warehouse, { runId, equipment: 'EQ 1', count, firstXid: 1 });
      expect(await read('emptied', 0)).toMatchObject({ state: 'done', counts: { removed: 0, heldRows: 0 } });
      expect(await read('back', 1)).toMatchObject({ state: 'done', counts: { inserted: 1 } });
      expect(await ask(warehouse, 'SELECT source_id, changed_run_id FROM time_series')).toEqual([['S/0', 'back']]);
      const history = 'SELECT source_id, change FROM time_series_history ORDER BY 1';
      expect(await ask(warehouse, history)).toEqual([
        ['S/0', 'deleted'],
        ['S/1', 'deleted'],
      ]);
    });

    it('takes an intent that came to nothing back, and closes those of units that the engine gave up', async () => {
      const { deletions, runs } = (await begunRun('r', 4)).ledger;
      const batch = { runId: 'r', units: [0, 1, 2], serviceUrl, atMs };
      await deletions.begin(batch);
      await deletions.conclude({ runId: 'r', conclusions: [], withdrawn: [0], atMs });
      expect(await deletions.begin({ ...batch, units: [0] })).toMatchObject([{ unit: 0, isRepeat: false }]);
      await deletions.conclude({ runId: 'r', conclusions: [], withdrawn: [0], atMs });
      const fault = { code: 'timeout', message: 'no answer' };
      const failed = (unit: number) => ({ unit, state: 'failed' as const, counts: {}, fault });
      await runs.settle('r', [failed(0), failed(1), failed(3)]);
      await runs.settleRest('r', { state: 'cancelled' });
      for (const _ of [1, 2]) await deletions.closeFailed('r', atMs);
      expect((await events(0)).at(-1)).toEqual(['outcome', 'failed']);
      expect(await events(1)).toEqual([
        ['intent', null],
        ['outcome', 'failed'],
      ]);
      expect(await events(2)).toEqual([
        ['intent', null],
        ['outcome', 'failed'],
      ]);
      expect(await events(3)).toEqual([['outcome', 'failed']]);
      await runs.finish({
        runId: 'r',
        job: 'cleanup',
        state: 'failed',
        counts: {},
        failures: [],
        notices: [],
        units: { total: 4, done: 0, held: 0, failed: 3, cancelled: 1 },
        balance: { balanced: true, statement: '' },
        startedAtMs: atMs,
        finishedAtMs: atMs,
      });
      await runs.reopen('r');
      // An unknown effect of a request stays unknown; a request without effect does not make a repeat.
      expect(await deletions.begin({ ...batch, units: [0, 1] })).toMatchObject([
        { isRepeat: false },
        { isRepeat: true },
      ]);
    });

    it('G6: each audit row of a retry names who retried, the last one who did, beside who applied the plan', async () => {
      const { deletions, runs } = (await begunRun('r', 3)).ledger;
      const named = () =>
        ask(test().warehouse, 'SELECT event, unit, requested_by, retried_by FROM deletion_audit ORDER BY seq');
      const end = async (failed: readonly number[]): Promise<void> => {
        const fault = { code: 'x', message: 'down' };
        await runs.settle(
          'r',
          failed.map((unit) => ({ unit, state: 'failed', counts: {}, fault, notices: [] })),
        );
        await deletions.closeFailed('r', atMs);
        await runs.finish({
          runId: 'r',
          job: 'cleanup',
          state: 'failed',
          counts: {},
          failures: [],
          notices: [],
          units: { total: 3, done: 3 - failed.length, held: 0, failed: failed.length, cancelled: 0 },
          balance: { balanced: true, statement: '' },
          startedAtMs: atMs,
          finishedAtMs: atMs,
        });
      };
      const batch = { runId: 'r', serviceUrl, atMs };
      await deletions.begin({ ...batch, units: [0, 1, 2] });
      await deletions.conclude({ ...batch, conclusions: [{ unit: 0, conclusion: deleted }], withdrawn: [2] });
      await end([1, 2]);
      expect(await runs.unsettledUnits('r')).toBe(2);
      expect(new Set((await named()).map(([, , , retriedBy]) => retriedBy))).toEqual(new Set([null]));
      const before = (await named()).length;

      await runs.reopen('r', 'anna (token)');
      await deletions.begin({ ...batch, units: [1, 2] });
      await deletions.conclude({ ...batch, conclusions: [{ unit: 1, conclusion: deleted }], withdrawn: [2] });
      await end([2]);
      expect(await runs.unsettledUnits('r')).toBe(1);
      await runs.reopen('r', 'per@host');
      await deletions.begin({ ...batch, units: [2] });
      await deletions.conclude({ ...batch, conclusions: [{ unit: 2, conclusion: refused }], withdrawn: [] });
      const by = 'somebody@here';
      expect((await named()).slice(before)).toEqual([
        ['intent', 1, by, 'anna (token)'],
        ['intent', 2, by, 'anna (token)'],
        ['outcome', 1, by, 'anna (token)'],
        ['withdrawn', 2, by, 'anna (token)'],
        ['outcome', 2, by, 'anna (token)'],
        ['intent', 2, by, 'per@host'],
        ['outcome', 2, by, 'per@host'],
      ]);
      const retries = new Map([
        ['anna (token)', 5],
        ['per@host', 2],
      ]);
      expect(await deletions.verify()).toMatchObject({ broken: undefined, retries });
      const listed = await deletions.list({}, async ({ columns, rows }) => {
        const place = columns.findIndex(({ name }) => name === 'retried_by');
        return (await allOf(rows)).map((cells) => cells[place]);
      });
      expect(listed).toEqual(['per@host', 'anna (token)', null]);
    });

    it('keeps one chain of the audit, whoever writes to it at the same time', async () => {
      const { deletions } = (await begunRun('r1', 30)).ledger;
      await begunRun('r2', 30);
      const other = test().another().ledger.deletions;
      await Promise.all(
        Array.from({ length: 30 }, async (_, unit) => {
          const [ledger, runId] = unit % 2 === 0 ? [deletions, 'r1'] : [other, 'r2'];
          await ledger.begin({ runId, units: [unit], serviceUrl, atMs });
          await ledger.conclude({ runId, conclusions: [{ unit, conclusion: deleted }], withdrawn: [], atMs });
        }),
      );
      expect(await deletions.verify()).toEqual({
        head: { rows: 60, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
        broken: undefined,
        retries: new Map(),
      });
    });

    it('lists deletions, the newest first, by time, target and run; one whose end nobody knows as such', async () => {
      const { deletions } = (await begunRun('r', 3)).ledger;
      await deletions.begin({ runId: 'r', units: [0, 1, 2], serviceUrl, atMs });
      const conclusions = [{ unit: 0, conclusion: deleted }];
      await deletions.conclude({ runId: 'r', conclusions, withdrawn: [2], atMs: atMs + 1 });
      const listed = (filter: Parameters<typeof deletions.list>[0]) =>
        deletions.list(filter, async ({ columns, rows }) => {
          const place = columns.findIndex(({ name }) => name === 'outcome');
          const outcomes: unknown[] = [];
          for await (const row of rows) outcomes.push(row[place]);
          return outcomes;
        });
      expect(await listed({})).toEqual(['deleted', 'not known']);
      expect(await listed({ sinceMs: atMs + 1 })).toEqual(['deleted']);
      expect(await listed({ target: 'S/1' })).toEqual(['not known']);
      expect(await listed({ target: 'EQ 1', runId: 'r' })).toHaveLength(2);
      expect(await listed({ runId: 'other' })).toEqual([]);
    });
  });
}
