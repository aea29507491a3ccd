/** What people say of alerts, their lists, and how long alerts are kept. */
import { describe, expect, it } from 'vitest';
import { alertsUnderTest, nowMs, person, uwi } from '../../../support/alerts-under-test.ts';
import { committedAtMs, dayOf, load, loadOne } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const day = 86_400_000;

export function describeAlertsOfPeople(open: OpenWarehouse): void {
  const { test, store, list, changesOf, night, readsTo } = alertsUnderTest(open);

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
