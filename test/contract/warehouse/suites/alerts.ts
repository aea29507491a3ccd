/** What opens alerts and resolves them in the commits of exports: records in quarantine, held rows, failed and unknown wells. */
import { describe, expect, it } from 'vitest';
import { alertsUnderTest, fault, nowMs, person, uwi } from '../../../support/alerts-under-test.ts';
import { committedAtMs, dailyRows, dayOf, loadOne, reading } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

export function describeAlerts(open: OpenWarehouse): void {
  const { test, store, list, states, changesOf, night, readsTo, ended } = alertsUnderTest(open);

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

    it('has the cause of all that are wrong alike, and its own values in its words', async () => {
      const wrong = (xid: number, value: string) => ({ xid, reason: `oilRate is "${value}", not a number` });
      await loadOne(
        test().warehouse,
        night([wrong(1, 'n/a'), wrong(2, '-'), { xid: 3, reason: 'xid is 7, not a uuid' }]),
      );
      expect((await list()).map(({ cause, summary }) => `${cause} | ${summary}`).toSorted()).toEqual([
        'oilRate is not a number | oilRate is "-", not a number',
        'oilRate is not a number | oilRate is "n/a", not a number',
        'xid is not a uuid | xid is 7, not a uuid',
      ]);
    });

    it('a well of a thousand of them is a thousand alerts, each once', async () => {
      const many = Array.from({ length: 1_000 }, (_, index) => ({ xid: index + 1, day: dayOf((index % 30) + 1) }));
      await loadOne(test().warehouse, night(many));
      expect(await store().countOpen(nowMs)).toEqual([
        { kind: 'record-quarantined', severity: 'warning', alerts: 1_000, areWells: false },
      ]);
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
}
