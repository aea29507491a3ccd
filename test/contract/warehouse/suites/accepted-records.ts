/** Records in quarantine that a person accepted as they are. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import { checkRecord } from '../../../../src/core/daily/record-check.ts';
import type { QuarantinedRecord } from '../../../../src/core/daily/row.ts';
import { productionCalendar } from '../../../../src/core/time/production-day.ts';
import { alertsUnderTest, person } from '../../../support/alerts-under-test.ts';
import {
  ask,
  committedAtMs,
  dayOf,
  guard,
  loadOne,
  planned,
  reading,
  row,
} from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

export function describeAcceptedRecords(open: OpenWarehouse): void {
  const { test, store, list, states, changesOf, night, readsTo } = alertsUnderTest(open);

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
