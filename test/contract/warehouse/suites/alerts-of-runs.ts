/** Alerts that the end of a run opens and resolves: what its source lacks, what is silent, and what was restated. */
import { describe, expect, it } from 'vitest';
import type { AlertKind } from '../../../../src/core/alerts/kinds.ts';
import type { RunObservations } from '../../../../src/core/alerts/run-observations.ts';
import type { RunReport } from '../../../../src/core/run/run.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { committedAtMs, dayOf, guard, reading, row } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const job = 'export daily-production';
const file = '/data/wells.csv';
const day = 86_400_000;
const seven = ['w-1', 'w-2', 'w-3', 'w-4', 'w-5', 'w-6', 'w-7'];
const two = seven.slice(0, 2);
const fault = { code: 'timeout', message: 'GET /daily-production was not answered in time' };
const person = { by: 'ana@host', because: 'it was sold', atMs: committedAtMs };

function reportOf(runId: string): RunReport {
  const units = { total: 0, done: 0, failed: 0, held: 0, unknown: 0, cancelled: 0 };
  const ofRun = { runId, job, warehouse: 'here', version: '0.0.0', state: 'done', units, counts: {} } as const;
  const balance = { balanced: true, statement: '' };
  const times = { startedAtMs: committedAtMs, finishedAtMs: committedAtMs };
  return { ...ofRun, balance, failures: [], notices: [], ...times };
}

export function describeAlertsOfRuns(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const runs = () => test().warehouse.ledger.runs;
  const store = () => test().warehouse.ledger.alerts;
  const list = async (kind: AlertKind) =>
    (await store().list({ limit: 100, nowMs: Date.now(), kinds: [kind] })).alerts.toSorted((one, other) =>
      one.target.id < other.target.id ? -1 : 1,
    );
  const states = async (kind: AlertKind) => (await list(kind)).map(({ target, state }) => `${target.id} ${state}`);
  const severities = async (kind: AlertKind) =>
    (await list(kind)).map(({ target, state, severity }) => `${target.id} ${state} ${severity}`);
  const changesOf = async (id: string | undefined) =>
    (await store().changes(id ?? '')).map(({ change, size, by }) => `${change} ${size} ${by}`);

  /** A run of these wells, of which every unit is settled. */
  async function works(runId: string, wells: readonly string[], requestedAtMs = committedAtMs): Promise<void> {
    await runs().create({ runId, job, params: {}, service: 's', actor: 'a', requestedAtMs });
    const units = wells.map((target, unit) => ({ unit, chunk: 0, target, spec: {} }));
    await runs().savePlan(runId, units, requestedAtMs);
    await runs().settleRest(runId, { state: 'done' });
  }
  const ends = (runId: string, observations: RunObservations, { ledger } = test().warehouse) =>
    ledger.runs.finish(reportOf(runId), observations);
  const night = async (runId: string, wells: readonly string[], source = file, requestedAtMs = committedAtMs) => {
    await works(runId, wells, requestedAtMs);
    await ends(runId, { list: source });
  };
  const leftOut = () => states('wells-left-out');
  const all = (state: string) => seven.slice(2).map((well) => `${well} ${state}`);

  /** A run that commits windows, and ends with what is to be observed. */
  async function commits(
    runId: string,
    windows: readonly WindowBatch[],
    observations: RunObservations,
    { warehouse, atMs = Date.now() }: { readonly warehouse?: WarehouseHandle; readonly atMs?: number } = {},
  ): Promise<void> {
    const on = warehouse ?? test().warehouse;
    await on.ledger.runs.create({ runId, job, params: {}, service: 's', actor: 'a', requestedAtMs: atMs });
    const units = windows.map(({ unit, uwi }) => ({ unit, chunk: 0, target: uwi, spec: {} }));
    await on.ledger.runs.savePlan(runId, units, atMs);
    await on.dailyProduction.commit({ runId, windows, shrink: { ...guard, allow: true }, committedAtMs: atMs });
    await on.ledger.runs.finish(reportOf(runId), observations);
  }

  describe('the alert of a well that was left out of its list', () => {
    it('is one for each, which says of what and until when, and ends with the well', async () => {
      await night('run-1', seven);
      expect(await leftOut()).toEqual([]);
      await night('run-2', two);
      expect(await leftOut()).toEqual(all('open'));
      expect((await list('wells-left-out'))[0]).toMatchObject({
        severity: 'warning',
        target: { kind: 'well', id: 'w-3' },
        summary: `was in ${file} until its run run-1, and is not any more`,
        detail: { source: file, untilRunId: 'run-1' },
        openedBy: 'run-2',
      });
      await night('run-3', [...two, 'w-3', 'new']);
      expect(await leftOut()).toEqual(['w-3 resolved', ...all('open').slice(1)]);
      const [, still] = await list('wells-left-out');
      expect(still).toMatchObject({ summary: expect.stringContaining('run-1') });
      expect(await changesOf(still?.id)).toEqual(['opened 1 run-2']);
    });

    it('stays resolved or acknowledged as a person left it, and is open again when it is left out again', async () => {
      await night('run-1', seven);
      await night('run-2', two);
      const [first, second] = (await list('wells-left-out')).map(({ id }) => id);
      await store().resolve({ ids: [first ?? ''], ...person });
      await store().acknowledge({ ids: [second ?? ''], ...person, untilMs: undefined });
      for (const runId of ['run-3', 'run-4']) await night(runId, two);
      expect(await leftOut()).toEqual(['w-3 resolved', 'w-4 acknowledged', ...all('open').slice(2)]);
      await night('run-5', [...two, 'w-3']);
      await night('run-6', two);
      expect(await leftOut()).toEqual(['w-3 open', 'w-4 acknowledged', ...all('open').slice(2)]);
      expect(await changesOf(first)).toEqual(['opened 1 run-2', `resolved 1 ${person.by}`, 'reopened 1 run-6']);
    });

    it('is of a source alone: another one that has the well neither opens nor ends it', async () => {
      await night('run-1', seven);
      await night('run-2', two);
      await night('run-3', seven, 'schedule nightly');
      expect(await leftOut()).toEqual(all('open'));
      await night('run-4', two, 'schedule nightly');
      const [alert] = await list('wells-left-out');
      expect(await changesOf(alert?.id)).toEqual(['opened 1 run-2', 'worsened 2 run-4']);
      await night('run-5', seven);
      expect((await list('wells-left-out'))[0]).toMatchObject({
        state: 'open',
        summary: 'was in the schedule nightly until its run run-3, and is not any more',
      });
      await night('run-6', seven, 'schedule nightly');
      expect(await leftOut()).toEqual(all('resolved'));
    });

    it('G1: is opened once by a run that ends twice, in two processes, and after a run of before', async () => {
      await night('run-1', seven);
      await works('run-2', two, committedAtMs + day);
      const both = [test().warehouse, test().another()];
      await Promise.all(both.map((each) => ends('run-2', { list: file }, each)));
      const [alert] = await list('wells-left-out');
      expect(await changesOf(alert?.id)).toEqual(['opened 1 run-2']);
      // Two runs of the same list that end at a time.
      for (const runId of ['run-3', 'run-4']) await works(runId, ['w-1'], committedAtMs + 2 * day);
      await Promise.all(both.map((each, index) => ends(`run-${index + 3}`, { list: file }, each)));
      expect(await leftOut()).toEqual(['w-2 open', ...all('open')]);
      expect(await changesOf((await list('wells-left-out'))[0]?.id)).toHaveLength(1);
      // The list of last week, whose run is retried.
      await works('last week', seven, committedAtMs - 7 * day);
      await ends('last week', { list: file });
      expect(await leftOut()).toEqual(['w-2 open', ...all('open')]);
    });

    it('is none of a run whose targets are gone', async () => {
      await night('run-1', seven);
      await runs().create({ runId: 'bare', job, params: {}, service: 's', actor: 'a', requestedAtMs: committedAtMs });
      await ends('bare', { list: file });
      expect(await leftOut()).toEqual([]);
    });
  });

  describe('the alert of a silent well', () => {
    const silence = { today: dayNumber('2024-02-01'), warnAfterDays: 14, plugged: [] as readonly string[] };
    const upTo = (uwi: string, last: number, unit = 0) =>
      reading([row(1, dayOf(last - 1)), row(2, dayOf(last))], { uwi, unit });

    it('is info where it was silent before alerts were, else a warning, and ends with a day', async () => {
      await works('before', ['none']);
      await ends('before', { silence });
      const first = [upTo('busy', 30), upTo('dead', 2, 1), upTo('plugged', 2, 2)];
      await commits('run-1', first, { silence: { ...silence, plugged: ['plugged'] } });
      expect(await severities('well-silent')).toEqual(['dead open info']);
      expect((await runs().read('run-1'))?.report?.alerts).toEqual([]);

      const later = { ...silence, today: dayNumber('2024-02-14') };
      await works('run-2', ['busy']);
      await ends('run-2', { silence: { ...later, plugged: ['plugged'] } });
      expect(await severities('well-silent')).toEqual(['busy open warning', 'dead open info']);
      expect((await list('well-silent'))[0]).toMatchObject({
        target: { kind: 'well', id: 'busy' },
        summary: `no day of production after ${dayOf(30)}`,
        detail: { lastDay: dayOf(30), warnAfterDays: 14 },
      });
      // Neither what a run shows again nor a further day of silence is news.
      await works('run-3', ['busy']);
      await ends('run-3', { silence: { ...later, today: later.today + 1, plugged: ['plugged', 'busy'] } });
      expect(await severities('well-silent')).toEqual(['busy resolved warning', 'dead open info']);
      expect(await changesOf((await list('well-silent'))[1]?.id)).toEqual(['opened 1 run-1']);

      await commits('run-4', [reading([row(9, '2024-02-13')], { uwi: 'dead', to: '2024-03-01' })], { silence: later });
      expect(await severities('well-silent')).toEqual([
        'busy open warning',
        'dead resolved info',
        'plugged open warning',
      ]);
      const again = { ...later, today: dayNumber('2024-04-01') };
      await works('run-5', ['busy']);
      await ends('run-5', { silence: again });
      expect(await severities('well-silent')).toEqual([
        'busy open warning',
        'dead open warning',
        'plugged open warning',
      ]);
    });
  });

  describe('the silence of a well that is not read as others are', () => {
    const silence = { today: dayNumber('2024-03-01'), warnAfterDays: 14, plugged: [] as readonly string[] };
    const windows = ['listed', 'dropped', 'sold'].map((uwi, unit) =>
      reading([row(unit + 1, dayOf(30))], { uwi, unit, to: '2024-03-01' }),
    );
    const listed = async (runId: string, wells: readonly string[]) => {
      await works(runId, wells, Date.now());
      await ends(runId, { list: file, silence });
    };
    const silent = () => states('well-silent');

    it('is no alert of one that lists had and have no more: that one is told of as left out', async () => {
      await commits('run-1', windows, { list: file });
      await listed('run-2', ['listed', 'sold']);
      expect(await silent()).toEqual(['listed open', 'sold open']);
      await listed('run-3', ['listed']);
      expect(await silent()).toEqual(['listed open', 'sold resolved']);
      expect(await states('wells-left-out')).toEqual(['dropped open', 'sold open']);
      // Also by a run that reads all wells of the warehouse.
      await works('run-4', ['listed', 'dropped', 'sold']);
      await ends('run-4', { silence });
      expect(await silent()).toEqual(['listed open', 'sold resolved']);
    });

    it('of one that no list has is judged by the run that reads it, and by no other', async () => {
      await commits('run-1', windows, {});
      await listed('run-2', ['listed']);
      expect(await silent()).toEqual(['listed open']);
      await works('run-3', ['listed', 'dropped', 'sold']);
      await ends('run-3', { silence });
      expect(await silent()).toEqual(['dropped open', 'listed open', 'sold open']);
      await listed('run-4', ['listed']);
      expect(await silent()).toEqual(['dropped open', 'listed open', 'sold open']);
    });

    it('is no alert of one that the service does not know', async () => {
      await commits('run-1', windows, { silence });
      expect(await silent()).toEqual(['dropped open', 'listed open', 'sold open']);
      const { dailyProduction } = test().warehouse;
      await runs().create({ runId: 'run-2', job, params: {}, service: 's', actor: 'a', requestedAtMs: committedAtMs });
      await runs().savePlan('run-2', [{ unit: 0, chunk: 0, target: 'sold', spec: {} }], committedAtMs);
      await dailyProduction.settleUnknown({
        runId: 'run-2',
        units: [{ unit: 0, target: 'sold' }],
        atMs: committedAtMs,
      });
      await ends('run-2', { silence });
      expect(await silent()).toEqual(['dropped open', 'listed open', 'sold resolved']);
    });
  });

  describe('the alert of a month with restated rows', () => {
    /** Four rows from 30 January on: two months. */
    const days = [30, 31, 32, 33];
    const march = dayNumber('2024-03-01');
    const restated = { beforeDay: march, maxRows: 3 };
    const windowOf = (rows: Parameters<typeof reading>[0], uwi = 'w-1') => reading(rows, { uwi, to: '2024-03-01' });
    const read = (oilRate: number, uwi = 'w-1') =>
      windowOf(
        days.map((each) => row(each, dayOf(each), { oilRate, gasRate: 1 })),
        uwi,
      );
    const months = async () =>
      (await list('rows-restated')).map(({ target, state, detail }) => [
        target.id,
        state,
        detail['rows'],
        detail['oil'],
      ]);

    it('is one for each month of a run over the limit, with rows and changes, which a later one adds to', async () => {
      await commits('run-1', [read(10)], { restated });
      expect(await months()).toEqual([]);
      await commits('run-2', [read(12)], { restated: { ...restated, maxRows: 4 } });
      expect(await months()).toEqual([]);
      await commits('run-3', [read(15)], { restated });
      expect(await months()).toEqual([
        ['2024-01', 'open', 2, 6],
        ['2024-02', 'open', 2, 6],
      ]);
      const [january, february] = await list('rows-restated');
      expect(january).toMatchObject({
        severity: 'warning',
        target: { kind: 'month', id: '2024-01' },
        summary: '2 rows of days more than 30 days ago were changed: oil +6.00, gas +0.00 and water +0.00',
        detail: { gas: 0, water: 0, runId: 'run-3' },
      });
      await store().resolve({ ids: [february?.id ?? ''], ...person });
      // Replaced by records with other ids, and one of them lost.
      await commits(
        'run-4',
        [windowOf(days.slice(1).map((each) => row(100 + each, dayOf(each), { oilRate: 16, gasRate: 1 })))],
        {
          restated,
        },
      );
      expect(await months()).toEqual([
        ['2024-01', 'open', 4, 6 + 1 - 15],
        ['2024-02', 'open', 2, 2],
      ]);
      expect(await changesOf(january?.id)).toEqual(['opened 2 run-3', 'worsened 4 run-4']);
    });

    it('has no newer rows, no new ones, and ends with no run', async () => {
      await commits('run-1', [read(10)], { restated });
      const more = windowOf([...days, 34, 35].map((each) => row(each, dayOf(each), { oilRate: 11 })));
      await commits('run-2', [more], { restated: { beforeDay: dayNumber('2024-02-01'), maxRows: 1 } });
      expect(await months()).toEqual([['2024-01', 'open', 2, 2]]);
      await commits('run-3', [more], { restated });
      expect(await months()).toEqual([['2024-01', 'open', 2, 2]]);
    });

    it('G1: counts a row that one run changed twice once, and after a retry only what it changed since', async () => {
      const on = test().warehouse;
      await commits(
        'run-1',
        [read(10), read(10, 'w-2')].map((window, unit) => ({ ...window, unit })),
        { restated },
      );
      const atMs = Date.now();
      await runs().create({ runId: 'twice', job, params: {}, service: 's', actor: 'a', requestedAtMs: atMs });
      const units = ['w-1', 'w-1', 'w-2'].map((target, unit) => ({ unit, chunk: 0, target, spec: {} }));
      await runs().savePlan('twice', units, atMs);
      const commit = (window: WindowBatch, unit: number) =>
        on.dailyProduction.commit({
          runId: 'twice',
          windows: [{ ...window, unit }],
          shrink: guard,
          committedAtMs: Date.now(),
        });
      await commit(read(11), 0);
      await commit(read(13), 1);
      await runs().settle('twice', [{ unit: 2, state: 'failed', counts: {}, fault }]);
      await ends('twice', { restated });
      const once = [
        ['2024-01', 'open', 2, 6],
        ['2024-02', 'open', 2, 6],
      ];
      expect(await months()).toEqual(once);
      await runs().reopen('twice');
      await commit(read(14, 'w-2'), 2);
      await Promise.all([on, test().another()].map((each) => ends('twice', { restated }, each)));
      expect(await months()).toEqual(once.map(([month, state]) => [month, state, 4, 14]));
      // Nothing is changed by a further retry.
      await runs().settleRest('twice', { state: 'done' });
      await ends('twice', { restated });
      expect((await months()).map(([, , rows]) => rows)).toEqual([4, 4]);
    });

    it('takes the rates that a service may send', async () => {
      const most = (oilRate: number) => windowOf(days.map((each) => row(each, dayOf(each), { oilRate })));
      await commits('run-1', [most(Number.MAX_VALUE)], { restated });
      await commits('run-2', [most(-Number.MAX_VALUE)], { restated });
      expect((await months()).map(([month, , rows]) => [month, rows])).toEqual([
        ['2024-01', 2],
        ['2024-02', 2],
      ]);
    });
  });

  it('a run that is not to be observed shows nothing', async () => {
    await works('run-1', seven);
    await runs().finish(reportOf('run-1'));
    await night('run-2', two);
    expect(await leftOut()).toEqual([]);
  });
}
