/** The messages of alerts that wait for a receiver. */
import { describe, expect, it } from 'vitest';
import { alertsUnderTest, person, uwi } from '../../../support/alerts-under-test.ts';
import { dayOf, guard, planned, xidOf } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const day = 86_400_000;

export function describeAlertMessages(open: OpenWarehouse): void {
  const { test, store, list, night, readsTo, ended } = alertsUnderTest(open);

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
          isOfAll: false,
          because: null,
          targets: [8, 9].map((xid) => `${uwi} ${xidOf(xid)}`),
          ids: (await list())
            .toSorted((left, right) => left.target.id.localeCompare(right.target.id))
            .map(({ id }) => id),
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
        { change: 'resolved', alerts: 2, by: person.by, because: person.because },
      ]);
    });

    it('never overtake an earlier one of the same alert, which another process may be sending or wait to send', async () => {
      const { runs } = test().warehouse.ledger;
      await readsTo('first', 'failed');
      await ended('first');
      const atMs = Date.now();
      const opened = await outbox().take(10, atMs);
      expect(opened).toMatchObject([{ change: 'opened' }]);
      const ids = (await list()).map(({ id }) => id);
      await store().resolve({ ids, ...person, atMs });
      // Its process may have died, or have a receiver that hangs.
      expect(await outbox().take(10, atMs + minute / 2)).toEqual([]);
      const sent = await outbox().take(10, atMs + minute);
      expect(sent).toMatchObject([{ change: 'opened' }, { change: 'resolved' }]);
      await outbox().settle(
        sent.map(({ id }) => id),
        atMs + minute,
      );
      // A run that has not ended: what a person does meanwhile is told of after it.
      await readsTo('second', 'failed');
      await store().resolve({ ids, ...person, atMs: atMs + 2 * minute });
      expect(await outbox().take(10, atMs + 2 * minute)).toEqual([]);
      expect(await runs.readHead('second')).toBeDefined();
      await ended('second');
      expect(await outbox().take(10, atMs + 3 * minute)).toMatchObject([
        { change: 'reopened' },
        { change: 'resolved' },
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
}
