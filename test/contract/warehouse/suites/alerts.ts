/** Alerts by their port: opened, renewed and resolved by the transactions of the work, and what people say of them. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { observePush, type RunObservations } from '../../../../src/core/alerts/run-observations.ts';
import type { AlertKind } from '../../../../src/core/alerts/kinds.ts';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import { checkRecord } from '../../../../src/core/daily/record-check.ts';
import type { QuarantinedRecord } from '../../../../src/core/daily/row.ts';
import { productionCalendar } from '../../../../src/core/time/production-day.ts';
import type { Fault } from '../../../../src/core/base/errors.ts';
import type { PlannedUnit, UnitOutcome } from '../../../../src/core/run/run.ts';
import type { AlertFilter } from '../../../../src/warehouse/port/alerts.ts';
import {
  ask,
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  loadOne,
  planned,
  reading,
  row,
  unreadable,
  xidOf,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const uwi = 'NO 15/9-F-1 C';
const day = 86_400_000;
const nowMs = Date.now() + day;
const person = { by: 'ana@host', because: 'the gauge is dead', atMs: committedAtMs };

interface Ending {
  readonly stopped?: Fault;
  readonly observations?: RunObservations;
}

export function describeAlerts(open: OpenWarehouse): void {
  const test = freshWarehouse(open);
  const store = () => test().warehouse.ledger.alerts;
  const list = async (filter: Partial<AlertFilter> = {}) =>
    (await store().list({ limit: 100, nowMs, ...filter })).alerts;
  const states = async (kind: AlertKind) =>
    (await list({ kinds: [kind] })).map(({ target, state }) => `${target.id} ${state}`).toSorted();
  const changesOf = async (id: string) => (await store().changes(id)).map(({ change, size }) => `${change} ${size}`);
  const night = (quarantined: Parameters<typeof unreadable>[0][], unit = 0) =>
    reading(dailyRows(3), { unit, to: '2024-02-01', quarantined: quarantined.map(unreadable) });

  /** A run of one unit that ends as it is said. */
  async function readsTo(
    runId: string,
    state: 'failed' | 'unknown',
    { target = uwi, spec = {} }: Partial<PlannedUnit> = {},
  ): Promise<void> {
    const { runs } = test().warehouse.ledger;
    const request = {
      job: 'export daily-production',
      params: {},
      service: 's',
      actor: 'a',
      requestedAtMs: committedAtMs,
    };
    await runs.create({ runId, ...request });
    await runs.savePlan(runId, [{ unit: 0, chunk: 0, target, spec }], committedAtMs);
    const unknown = { runId, units: [{ unit: 0, target }], atMs: committedAtMs };
    if (state === 'unknown') await test().warehouse.dailyProduction.settleUnknown(unknown);
    else await runs.settle(runId, [failed]);
  }
  /** Ends a run; returns what its report says of alerts. */
  async function ended(runId: string, { stopped, observations }: Ending = {}) {
    const { runs } = test().warehouse.ledger;
    const { units, counts, failures } = await runs.totals(runId);
    const job = (await runs.readHead(runId))?.job ?? '';
    await runs.finish(
      {
        runId,
        job,
        state: units.failed > 0 || stopped !== undefined ? 'failed' : 'done',
        ...(stopped === undefined ? {} : { stopped }),
        units,
        counts,
        balance: { balanced: true, statement: '' },
        failures,
        notices: [],
        startedAtMs: committedAtMs,
        finishedAtMs: committedAtMs,
      },
      observations,
    );
    return (await runs.read(runId))?.report?.alerts;
  }
  const fault = { code: 'timeout', message: 'GET /daily-production was not answered in time' };
  const failed: UnitOutcome = { unit: 0, state: 'failed', counts: {}, fault };

  describe('the alert of a record in quarantine', () => {
    it('G2: opens with it, is renewed without a word, ends when it comes right, and is the same one later', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([{ xid: 9, day: dayOf(9) }, { raw: '{"no":"xid"}' }]));
      const [first, second] = await list();
      expect(second).toBeDefined();
      expect(await list({ target: uwi })).toHaveLength(2);
      expect([first, second].map((alert) => alert?.target.kind)).toEqual(['record', 'record']);
      const alert = (await list({ target: `${uwi} 00000000-0000-4000-8000-000000000009` }))[0];
      expect(alert).toMatchObject({
        kind: 'record-quarantined',
        state: 'open',
        severity: 'warning',
        job: 'export daily-production',
        summary: `${dayOf(9)}: oilRate: expected number`,
        detail: { day: dayOf(9), reason: 'oilRate: expected number' },
        acknowledged: undefined,
        resolved: undefined,
      });
      const id = alert?.id ?? '';
      await loadOne(warehouse, night([{ xid: 9, day: dayOf(9) }]));
      expect(await changesOf(id)).toEqual(['opened 1']);
      await loadOne(warehouse, night([]));
      expect((await list()).map(({ state }) => state)).toEqual(['resolved', 'resolved']);
      await loadOne(warehouse, night([{ xid: 9, day: dayOf(9) }]));
      expect(await changesOf(id)).toEqual(['opened 1', 'resolved 1', 'reopened 1']);
    });

    it('a well of a thousand of them is a thousand alerts, each once', async () => {
      const many = Array.from({ length: 1_000 }, (_, index) => ({ xid: index + 1, day: dayOf((index % 30) + 1) }));
      await loadOne(test().warehouse, night(many));
      expect(await store().countOpen(nowMs)).toEqual([
        { kind: 'record-quarantined', severity: 'warning', alerts: 1_000 },
      ]);
    });
  });

  describe('an accepted record', () => {
    const bad = { xid: 9, day: dayOf(9), raw: '{"oilRate":null}' };
    const idsOf = async () => (await list()).map(({ id }) => id);
    const accept = (ids: readonly string[], alerts = store()) => alerts.accept({ ids, ...person });
    const quarantine = () => ask(test().warehouse, 'SELECT xid FROM quarantine');

    it('G2: stays in quarantine, quiet and counted as accepted, whichever read covers it', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([bad]));
      const [id = ''] = await idsOf();
      expect(await accept([id, 'no such id'])).toEqual([id]);
      expect(await list()).toMatchObject([{ state: 'resolved', resolved: person }]);
      expect(await store().changes(id)).toMatchObject([{ change: 'opened' }, { change: 'resolved', ...person }]);
      for (const later of [night([bad]), { ...night([bad]), isVerified: false }]) {
        const { counts } = await loadOne(warehouse, later);
        expect(counts).toMatchObject({ read: later.counts.read, quarantined: 0, accepted: 1 });
        expect(await quarantine()).toHaveLength(1);
      }
      await loadOne(warehouse, night([]));
      await loadOne(warehouse, night([bad]));
      expect(await changesOf(id)).toEqual(['opened 1', 'resolved 1']);
    });

    it('with other content opens its alert again; other records of the well count as quarantined', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([bad]));
      const [id = ''] = await idsOf();
      await accept([id]);
      const { counts } = await loadOne(warehouse, night([bad, { ...bad, xid: 8 }]));
      expect(counts).toMatchObject({ read: 5, quarantined: 1, accepted: 1 });
      expect(await changesOf(id)).toEqual(['opened 1', 'resolved 1']);
      await loadOne(warehouse, night([{ ...bad, raw: '{"oilRate":"-"}' }]));
      expect(await changesOf(id)).toEqual(['opened 1', 'resolved 1', 'reopened 1']);
      expect(await accept([id])).toEqual([id]);
      const { counts: both } = await loadOne(warehouse, night([bad]));
      expect(both).toMatchObject({ quarantined: 0, accepted: 1 });
    });

    it('is one of its well alone', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([bad]));
      await accept(await idsOf());
      const ofOther = { ...night([bad]), uwi: 'other' };
      expect((await loadOne(warehouse, ofOther)).counts).toMatchObject({ quarantined: 1 });
      expect((await states('record-quarantined')).toSorted()).toEqual([
        expect.stringMatching(/^NO .* resolved$/),
        expect.stringMatching(/^other .* open$/),
      ]);
    });

    it('of a long one is told from another that begins alike', async () => {
      const { warehouse } = test();
      const [one, other] = ['a', 'b'].map((end) => longRecord(`${'x'.repeat(70_000)}${end}`));
      expect(one?.raw).toBe(other?.raw);
      const both = [one, other].flatMap((record) => record ?? []);
      await loadOne(warehouse, reading([], { quarantined: both }));
      const ids = await idsOf();
      expect(ids).toHaveLength(2);
      await accept(ids.slice(0, 1));
      const { counts } = await loadOne(warehouse, reading([], { quarantined: both }));
      expect(counts).toMatchObject({ read: 2, quarantined: 1, accepted: 1 });
      expect((await list({ states: ['open'] })).map(({ id }) => id)).toEqual(ids.slice(1));
    });

    it('that was acknowledged before is accepted; alerts of other kinds stay', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([bad]));
      const ids = await idsOf();
      await store().acknowledge({ ids, ...person, untilMs: undefined });
      await readsTo('fails', 'failed', { target: 'other' });
      expect(await accept(await idsOf())).toEqual(ids);
      expect(await states('well-failed')).toEqual(['other open']);
    });

    it('G2: is in the sum of a read that was cut where a later read stands', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([bad]));
      await accept(await idsOf());
      const begun = async (windows: readonly WindowBatch[]) => {
        const runId = await planned(warehouse, windows);
        return { runId, readNo: await warehouse.readOrder.begin({ kind: 'uwi', runId, ended: [] }) };
      };
      const commit = async (run: Awaited<ReturnType<typeof begun>>, windows: readonly WindowBatch[]) =>
        warehouse.dailyProduction.commit({ ...run, windows, shrink: guard, committedAtMs });
      const [early, late] = [
        night([bad, { ...bad, xid: 8 }]),
        reading([row(21, dayOf(21))], { from: dayOf(20), to: dayOf(25) }),
      ];
      const earlier = await begun([early]);
      await commit(await begun([late]), [late]);
      const { unfinished } = await commit(earlier, [early]);
      const [before] = unfinished;
      expect(before?.outcome.counts).toMatchObject({ read: 5, quarantined: 1, accepted: 1 });
      const again = { ...reading([row(21, dayOf(21))]), window: before?.window ?? early.window, before };
      const readNo = await warehouse.readOrder.begin({ kind: 'uwi', runId: earlier.runId, ended: [] });
      const { outcomes } = await commit({ ...earlier, readNo }, [again]);
      expect(outcomes[0]?.counts).toMatchObject({ read: 6, quarantined: 1, accepted: 1 });
      expect(balanceOfCounts(dailyProduction, outcomes[0]?.counts ?? {})).toMatchObject({ balanced: true });
    });

    it('is accepted once by two at one time', async () => {
      const { warehouse } = test();
      const many = Array.from({ length: 20 }, (_, index) => ({ ...bad, xid: index + 1 }));
      await loadOne(warehouse, night(many));
      const ids = await idsOf();
      const taken = await Promise.all([
        accept(ids),
        accept(ids.toReversed(), test().another().ledger.alerts),
        loadOne(warehouse, night(many)),
      ]);
      expect([...taken[0], ...taken[1]].toSorted()).toEqual(ids.toSorted());
      expect(await list({ states: ['open', 'acknowledged'] })).toEqual([]);
      expect((await loadOne(warehouse, night(many))).counts).toMatchObject({ quarantined: 0, accepted: 20 });
    });
  });

  describe('the alert of held rows', () => {
    it('G4: is worse with more of them, which ends an acknowledgement, and ends with the hold', async () => {
      const { warehouse } = test();
      const spring = { to: '2024-05-01' };
      const but = (lost: number) => dailyRows(121).filter((_, index) => index < 40 || index >= 40 + lost);
      await loadOne(warehouse, reading(dailyRows(121), spring));
      await loadOne(warehouse, reading(but(12), spring));
      const [alert] = await list();
      expect(alert).toMatchObject({ kind: 'rows-held', state: 'open', target: { kind: 'well', id: uwi } });
      const id = alert?.id ?? '';
      expect(await store().acknowledge({ ids: [id], ...person, untilMs: undefined })).toEqual([id]);
      await loadOne(warehouse, reading(but(12), spring));
      expect(await states('rows-held')).toEqual([`${uwi} acknowledged`]);
      await loadOne(warehouse, reading(but(14), spring));
      expect(await states('rows-held')).toEqual([`${uwi} open`]);
      expect(await changesOf(id)).toEqual(['opened 12', 'acknowledged 12', 'worsened 14']);
      await loadOne(warehouse, reading(dailyRows(121), spring));
      expect(await states('rows-held')).toEqual([`${uwi} resolved`]);
    });
  });

  describe('the alert of a well that failed', () => {
    const window = (from: string, to: string) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) });

    it('ends with a later read of all that failed, and with no other', async () => {
      const { warehouse } = test();
      await readsTo('fails', 'failed', { spec: window('2024-01-01', '2024-03-01') });
      expect(await list()).toMatchObject([
        {
          kind: 'well-failed',
          severity: 'error',
          summary: fault.message,
          openedBy: 'fails',
          detail: { code: 'timeout' },
        },
      ]);
      await loadOne(warehouse, reading(dailyRows(3), { from: '2024-02-01', to: '2024-04-01' }));
      expect(await states('well-failed')).toEqual([`${uwi} open`]);
      await readsTo('fails-again', 'failed', { spec: window('2024-02-20', '2024-03-05') });
      await loadOne(warehouse, reading(dailyRows(3), { from: '2024-02-20', to: '2024-04-01' }));
      expect(await states('well-failed')).toEqual([`${uwi} open`]);
      await loadOne(warehouse, reading(dailyRows(3), { from: '2024-01-01', to: '2024-04-01' }));
      expect(await states('well-failed')).toEqual([`${uwi} resolved`]);
    });

    it('is one of a run that was stopped, for each target that was not tried', async () => {
      const { runs } = test().warehouse.ledger;
      await runs.create({
        runId: 'stopped',
        job: 'export wells',
        params: {},
        service: 's',
        actor: 'a',
        requestedAtMs: 0,
      });
      const units = ['w-1', 'w-2'].map((target, unit) => ({ unit, chunk: 0, target, spec: {} }));
      await runs.savePlan('stopped', units, committedAtMs);
      await runs.settleRest('stopped', { state: 'failed', fault });
      expect(await list()).toMatchObject([{ target: { kind: 'source-well' } }, { target: { kind: 'source-well' } }]);
      expect(await ended('stopped')).toEqual([{ kind: 'well-failed', severity: 'error', alerts: 2 }]);
    });

    it('of a retry that succeeds is of no run any more', async () => {
      const { warehouse } = test();
      await readsTo('fails', 'failed');
      await loadOne(warehouse, reading(dailyRows(3)));
      expect(await states('well-failed')).toEqual([`${uwi} resolved`]);
      expect(await store().countOpen(nowMs)).toEqual([]);
    });
  });

  it('a well that the service does not know is told of until it answers', async () => {
    await readsTo('missed', 'unknown');
    await readsTo('missed-again', 'unknown');
    expect(await list()).toMatchObject([{ kind: 'well-unknown', state: 'open', openedBy: 'missed' }]);
    expect(await ended('missed-again')).toEqual([]);
    await loadOne(test().warehouse, reading(dailyRows(3)));
    expect(await states('well-unknown')).toEqual([`${uwi} resolved`]);
  });

  describe('the end of a run', () => {
    const requestOf = (job: string) => ({ job, params: {}, service: 's', actor: 'a', requestedAtMs: committedAtMs });

    it('that could not be planned is an alert of its job, until one is planned', async () => {
      const { runs } = test().warehouse.ledger;
      const stopped = { code: 'no-wells', message: 'the list has no well' };
      await runs.create({ runId: 'unplanned', ...requestOf('export wells') });
      expect(await ended('unplanned', { stopped })).toEqual([{ kind: 'run-failed', severity: 'error', alerts: 1 }]);
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

  describe('what a person says', () => {
    it('is kept, once, with who, when and why', async () => {
      await readsTo('fails', 'failed');
      const [alert] = await list();
      const ids = [alert?.id ?? '', 'no such id'];
      expect(await store().acknowledge({ ids, ...person, untilMs: nowMs + day })).toEqual([ids[0]]);
      const { because, by, atMs } = person;
      expect(await list()).toMatchObject([{ state: 'acknowledged', acknowledged: { by, because, atMs } }]);
      expect(await store().resolve({ ids, ...person })).toEqual([ids[0]]);
      expect(await store().resolve({ ids, ...person })).toEqual([]);
      expect(await store().acknowledge({ ids, ...person, untilMs: undefined })).toEqual([]);
      expect(await list()).toMatchObject([{ state: 'resolved', resolved: { by, because, atMs } }]);
      expect(await store().changes(ids[0] ?? '')).toMatchObject([
        { change: 'opened', by: 'fails', because: undefined },
        { change: 'acknowledged', by, because },
        { change: 'resolved', by, because },
      ]);
    });

    it('of two at one time is said once', async () => {
      await readsTo('fails', 'failed');
      const ids = (await list()).map(({ id }) => id);
      const both = await Promise.all(
        [store(), test().another().ledger.alerts].map((each) => each.resolve({ ids, ...person })),
      );
      expect(both.flat()).toEqual(ids);
    });

    it('holds until its time: then the alert is open, and the next work that sees it opens it again', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, night([{ xid: 9, day: dayOf(9) }]));
      const [alert] = await list();
      const ids = [alert?.id ?? ''];
      await store().acknowledge({ ids, ...person, untilMs: committedAtMs + day });
      expect(await list({ nowMs: committedAtMs, states: ['acknowledged'] })).toHaveLength(1);
      expect(await list({ states: ['open'] })).toHaveLength(1);
      await load(warehouse, [night([{ xid: 9, day: dayOf(9) }])], undefined, committedAtMs + 2 * day);
      expect(await changesOf(ids[0] ?? '')).toEqual(['opened 1', 'acknowledged 1', 'reopened 1']);
    });
  });

  describe('the messages for a receiver', () => {
    const outbox = () => store().outbox;
    const minute = 60_000;

    it('are one for what a run changed of one cause, once it has ended, and one when it is over', async () => {
      const { warehouse } = test();
      const windows = [
        night([
          { xid: 8, day: dayOf(8) },
          { xid: 9, day: dayOf(9) },
        ]),
      ];
      const runId = await planned(warehouse, windows);
      const atMs = Date.now();
      await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs: atMs });
      expect(await outbox().take(10, atMs)).toEqual([]);
      await ended(runId);
      const taken = await outbox().take(10, atMs);
      expect(taken).toEqual([
        {
          id: expect.any(String) as string,
          change: 'opened',
          kind: 'record-quarantined',
          severity: 'warning',
          job: 'export daily-production',
          summary: `${dayOf(8)}: oilRate: expected number`,
          alerts: 2,
          targets: [8, 9].map((xid) => `${uwi} ${xidOf(xid)}`),
          by: runId,
          atMs,
        },
      ]);
      expect(await outbox().waiting(atMs)).toEqual({ messages: 1, sinceMs: atMs });
      await outbox().settle(
        taken.map(({ id }) => id),
        atMs,
      );
      expect(await outbox().waiting(atMs)).toEqual({ messages: 0, sinceMs: undefined });
      await store().resolve({ ids: (await list()).map(({ id }) => id), ...person, atMs });
      expect(await outbox().take(10, atMs + 2 * minute)).toMatchObject([
        { change: 'resolved', alerts: 2, by: person.by },
      ]);
    });

    it('are given to one process at a time, to another after a minute, and to none after three days', async () => {
      await readsTo('fails', 'failed');
      await ended('fails');
      const atMs = Date.now();
      const both = await Promise.all(
        [outbox(), test().another().ledger.alerts.outbox].map((each) => each.take(10, atMs)),
      );
      expect(both.flat()).toHaveLength(1);
      expect(await outbox().take(10, atMs + minute / 2)).toEqual([]);
      expect(await outbox().take(10, atMs + minute)).toEqual(both.flat());
      expect(await outbox().take(10, atMs + 4 * day)).toEqual([]);
    });
  });

  it('is kept with its changes for some time after its resolution, and for as long as it is not', async () => {
    const { retention } = test().warehouse.ledger;
    await readsTo('fails', 'failed');
    await readsTo('fails too', 'failed', { target: 'other' });
    const [, resolved] = await list({ target: 'other' }).then(async (others) => [await list(), others] as const);
    await store().resolve({ ids: resolved.map(({ id }) => id), ...person });
    const bounds = { unitsMs: 0, runsMs: 0, pushesMs: 0, historyMs: undefined };
    expect(await retention.step({ ...bounds, alertsMs: committedAtMs })).toBeUndefined();
    const pruned = { ...bounds, alertsMs: committedAtMs + day };
    while ((await retention.step(pruned)) !== undefined);
    expect((await list()).map(({ target }) => target.id)).toEqual([uwi]);
    expect(await store().changes(resolved[0]?.id ?? '')).toEqual([]);
  });

  it('a list has errors first, comes in pages, and is asked for by kind, state, target and time', async () => {
    const { warehouse } = test();
    await loadOne(
      warehouse,
      night([
        { xid: 8, day: dayOf(8) },
        { xid: 9, day: dayOf(9) },
      ]),
    );
    await readsTo('fails', 'failed', { target: 'other' });
    const pages = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await store().list({ limit: 1, nowMs, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(...page.alerts);
      ({ cursor } = page);
    }
    expect(pages.map(({ severity }) => severity)).toEqual(['error', 'warning', 'warning']);
    expect(await list()).toEqual(pages);
    expect(await list({ kinds: ['well-failed'] })).toHaveLength(1);
    expect(await list({ states: ['resolved', 'acknowledged'] })).toEqual([]);
    expect(await list({ target: 'other' })).toHaveLength(1);
    expect(await list({ sinceMs: committedAtMs + day })).toMatchObject([{ target: { id: 'other' } }]);
    expect(await store().find(pages[0]?.id.slice(0, 8) ?? '', 2, nowMs)).toEqual([pages[0]]);
    await expect(store().list({ limit: 1, nowMs, cursor: 'x' })).rejects.toThrow('not a cursor of a list of alerts');
  });
}

/** A record that the quarantine keeps the start of, as the check makes it. */
function longRecord(remark: string): QuarantinedRecord {
  const raw = JSON.stringify({ remark });
  const text = {
    whole: (mostChars: number) => raw.slice(0, mostChars),
    digest: () => createHash('sha256').update(raw).digest('hex'),
    member: () => '',
  };
  const checked = checkRecord(JSON.parse(raw), productionCalendar('UTC'), text);
  if (checked.kind === 'row') throw new Error('the record is right');
  return checked.record;
}
