/** Alerts of the end of a run: one that could not be planned, of pushes and cleanups, and what is told of again. */
import { describe, expect, it } from 'vitest';
import { observePush } from '../../../../src/core/alerts/run-observations.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import { alertsUnderTest, fault, person } from '../../../support/alerts-under-test.ts';
import { committedAtMs, dayOf, guard, planned } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const day = 86_400_000;

export function describeAlertsOfEndedRuns(open: OpenWarehouse): void {
  const { test, store, list, states, night, readsTo, ended } = alertsUnderTest(open);

  describe('the end of a run', () => {
    const requestOf = (job: string, params: object = { source: 'the warehouse' }) => ({
      job,
      params,
      service: 's',
      actor: 'a',
      requestedAtMs: committedAtMs,
    });

    it('that could not be planned is an alert of its job, until one is planned', async () => {
      const { runs } = test().warehouse.ledger;
      const stopped = { code: 'no-wells', message: 'the list has no well' };
      await runs.create({ runId: 'unplanned', ...requestOf('export wells') });
      expect(await ended('unplanned', { stopped })).toEqual([{ kind: 'run-failed', severity: 'error', alerts: 1 }]);
      // Of wells that a person chose: neither is it a night, nor does it show that nights are well.
      await runs.create({ runId: 'chosen', ...requestOf('export wells', { wells: ['W'] }) });
      expect(await ended('chosen', { stopped })).toEqual([]);
      await runs.create({ runId: 'chosen and good', ...requestOf('export wells', { wells: ['W'] }) });
      await runs.savePlan('chosen and good', [], committedAtMs);
      await ended('chosen and good');
      expect(await states('run-failed')).toEqual(['export wells open']);
      await readsTo('other job', 'unknown');
      await ended('other job');
      expect(await states('run-failed')).toEqual(['export wells open']);
      await runs.create({ runId: 'planned', ...requestOf('export wells') });
      await runs.savePlan('planned', [], committedAtMs);
      await ended('planned');
      expect(await states('run-failed')).toEqual(['export wells resolved']);
    });

    it('tells of the file of a push: its rejects and its failure, until the same file is good', async () => {
      const { runs } = test().warehouse.ledger;
      const pushed = async (runId: string, outcome: Omit<UnitOutcome, 'unit'>) => {
        await runs.create({ runId, ...requestOf('push network-pipes') });
        await runs.savePlan(runId, [{ unit: 0, chunk: 0, target: 'a.csv', spec: {} }], committedAtMs);
        await runs.settle(runId, [{ unit: 0, ...outcome }]);
        const { units, counts, failures } = await runs.totals(runId);
        const state = units.failed > 0 ? 'failed' : 'done';
        return ended(runId, {
          observations: observePush({ runId, state, units, counts, failures }, { file: 'a.csv', corrects: undefined }),
        });
      };
      const rejects = (rejectedByUs: number) => ({ state: 'done', counts: { rows: 9, rejectedByUs } }) as const;
      expect(await pushed('p1', rejects(2))).toEqual([{ kind: 'rows-rejected', severity: 'warning', alerts: 1 }]);
      expect(await pushed('p2', { state: 'failed', counts: {}, fault })).toEqual([
        { kind: 'push-failed', severity: 'error', alerts: 1 },
      ]);
      expect(await states('rows-rejected')).toEqual(['a.csv open']);
      expect(await pushed('p3', rejects(2))).toEqual([]);
      expect(await states('push-failed')).toEqual(['a.csv resolved']);
      expect(await pushed('p4', rejects(3))).toEqual([{ kind: 'rows-rejected', severity: 'warning', alerts: 1 }]);
      expect(await pushed('p5', rejects(0))).toEqual([]);
      expect(await states('rows-rejected')).toEqual(['a.csv resolved']);
    });

    it('tells of the targets of a cleanup that are there, until they are gone', async () => {
      const { runs } = test().warehouse.ledger;
      const cleaned = async (runId: string, ...outcomes: readonly Omit<UnitOutcome, 'unit'>[]) => {
        await runs.create({ runId, ...requestOf('cleanup') });
        const units = outcomes.map((_, unit) => ({ unit, chunk: 0, target: `wellbores of well ${unit}`, spec: {} }));
        await runs.savePlan(runId, units, committedAtMs);
        await runs.settle(
          runId,
          outcomes.map((outcome, unit) => ({ unit, ...outcome })),
        );
        return ended(runId, { observations: { isCleanup: true } });
      };
      const gone = { state: 'done', counts: { deleted: 1 } } as const;
      const refused = { state: 'done', counts: { refused: 1 } } as const;
      const three = [{ kind: 'deletion-failed', severity: 'warning', alerts: 2 }];
      expect(await cleaned('c1', refused, { state: 'failed', counts: {}, fault }, gone)).toEqual(three);
      expect(await cleaned('c2', gone)).toEqual([]);
      expect(await states('deletion-failed')).toEqual(['wellbores of well 0 resolved', 'wellbores of well 1 open']);
    });

    it('reminds of what is open, and was not told of for days, once', async () => {
      const { warehouse } = test();
      const old = Date.now() - 9 * day;
      const windows = [night([{ xid: 9, day: dayOf(9) }])];
      const runId = await planned(warehouse, windows);
      await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs: old });
      await ended(runId);
      for (const id of ['r1', 'r2', 'r3']) {
        await warehouse.ledger.runs.create({ runId: id, ...requestOf('export daily-production') });
        await warehouse.ledger.runs.savePlan(id, [], committedAtMs);
      }
      expect(await ended('r1', { observations: { remindAfterDays: 10 } })).toEqual([]);
      const ids = (await list()).map(({ id }) => id);
      await store().acknowledge({ ids, ...person, atMs: old, untilMs: old + day });
      const reminded = [{ kind: 'record-quarantined', severity: 'warning', alerts: 1 }];
      expect(await ended('r2', { observations: { remindAfterDays: 7 } })).toEqual(reminded);
      expect(await list()).toMatchObject([{ state: 'open', acknowledged: undefined, untilMs: undefined }]);
      expect(await ended('r3', { observations: { remindAfterDays: 7 } })).toEqual([]);
    });
  });
}
