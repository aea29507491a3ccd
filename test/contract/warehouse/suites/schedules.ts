/** Schedules by the port: revisions, pauses, and ticks that one process takes. */
import { describe, expect, it } from 'vitest';
import { serviceIdentity } from '../../../../src/core/base/service-key.ts';
import type { ScheduleSet, TakenTick } from '../../../../src/warehouse/port/runs.ts';
import { committedAtMs } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const at = (minutes: number): number => committedAtMs + minutes * 60_000;
const definition = (cron: string): string => JSON.stringify({ cron, job: 'export wells' });
const nightly = { name: 'nightly', definition: definition('15 2 * * *') };
const weekly = { name: 'weekly', definition: definition('0 5 * * 0') };
const set = (revision: number, ...schedules: ScheduleSet['schedules']): ScheduleSet => ({ revision, schedules });
const started = (minutes: number, runId = `run-${minutes}`): TakenTick => ({
  dueMs: at(minutes),
  outcome: 'starting',
  runId,
});

export function describeSchedules(open: OpenWarehouse): void {
  describe('the schedules of a configuration', () => {
    const test = freshWarehouse(open);
    const store = () => test().warehouse.ledger.schedules;
    const names = async () => (await store().read()).schedules.map(({ name }) => name);
    const madeRun = (runId: string, minutes: number, schedule: string | undefined) =>
      test().warehouse.ledger.runs.create({
        runId,
        job: 'export wells',
        params: null,
        service: 'https://one.example',
        actor: 'ana@host',
        requestedAtMs: at(minutes),
        ...(schedule !== undefined && { schedule }),
      });

    it('of a higher revision replace those of a lower one, never the other way round', async () => {
      expect(await store().read()).toEqual({ revision: undefined, schedules: [] });
      expect(await store().apply(set(2, weekly, nightly), at(0))).toEqual({ kind: 'applied', revision: 2 });
      expect(await store().apply(set(1), at(1))).toEqual({ kind: 'older', revision: 2 });
      expect(await names()).toEqual(['nightly', 'weekly']);
      expect(await store().apply(set(2, nightly, weekly), at(2))).toEqual({ kind: 'same', revision: 2 });
      expect(await store().apply(set(2, nightly), at(3))).toEqual({ kind: 'differs', revision: 2 });
      expect(await names()).toEqual(['nightly', 'weekly']);
      expect(await store().apply(set(3, nightly), at(4))).toEqual({ kind: 'applied', revision: 3 });
      expect(await names()).toEqual(['nightly']);
    });

    it('applied by two processes at once are those of the higher revision', async () => {
      const [one, other] = [test().another(), test().another()];
      await store().read();
      await Promise.all([
        one.ledger.schedules.apply(set(1, weekly), at(0)),
        other.ledger.schedules.apply(set(2, nightly), at(0)),
        one.ledger.schedules.apply(set(2, nightly), at(0)),
      ]);
      expect(await store().read()).toMatchObject({ revision: 2, schedules: [{ name: 'nightly' }] });
    });

    it('G11: belong to the service of the first application, and those of another one change nothing', async () => {
      const [one, other] = ['https://one.example', 'https://other.example'].map((address) =>
        serviceIdentity(address, undefined),
      );
      const { ledger } = test().another(one);
      expect(await ledger.schedules.apply(set(1, nightly), at(0))).toMatchObject({ kind: 'applied' });
      expect((await ledger.ownership.read()).service).toBe('https://one.example');
      const refused = test().another(other).ledger.schedules.apply(set(2, weekly), at(1));
      await expect(refused).rejects.toThrow(/one\.example.*other\.example/);
      expect(await store().read()).toMatchObject({ revision: 1, schedules: [nightly] });
    });

    it('have the newest of the runs that are theirs, whoever began it, and no other one', async () => {
      await store().apply({ revision: 1, schedules: [nightly, weekly] }, at(0));
      await madeRun('by-hand', 1, 'nightly');
      await madeRun('of another', 2, undefined);
      const runs = async () => (await store().read()).schedules.map(({ name, lastRunId }) => [name, lastRunId]);
      expect(await runs()).toEqual([
        [nightly.name, 'by-hand'],
        [weekly.name, undefined],
      ]);
      await madeRun('r', 3, 'nightly');
      expect(await runs()).toMatchObject([[nightly.name, 'r'], {}]);
    });

    it('keep their pause and their last tick, and count from now on where they changed', async () => {
      await store().apply(set(1, nightly, weekly), at(0));
      expect(await store().pause('nightly', { atMs: at(1), by: 'ana@host' })).toBe(true);
      expect(await store().pause('monthly', undefined)).toBe(false);
      expect(await store().take(nightly, { dueMs: at(2), outcome: 'skipped', words: 'paused' })).toBe(true);
      const changed = { ...nightly, definition: definition('0 9 * * *') };
      await store().apply(set(2, changed, weekly), at(3));
      const [first, second] = (await store().read()).schedules;
      expect(first).toEqual({
        ...changed,
        sinceMs: at(3),
        paused: { atMs: at(1), by: 'ana@host' },
        lastTick: { dueMs: at(2), outcome: 'skipped', words: 'paused' },
        lastRunId: undefined,
      });
      expect(second).toMatchObject({ ...weekly, sinceMs: at(0), paused: undefined, lastTick: undefined });
      await store().pause('nightly', undefined);
      expect((await store().read()).schedules[0]?.paused).toBeUndefined();
    });
  });

  describe('a tick', () => {
    const test = freshWarehouse(open);
    const store = () => test().warehouse.ledger.schedules;

    it('G1: is taken once, by one of several processes at once, and no earlier one after it', async () => {
      await store().apply(set(1, nightly), at(0));
      const stores = [store(), test().another().ledger.schedules, test().another().ledger.schedules];
      const taken = await Promise.all(stores.map((each, index) => each.take(nightly, started(5, `run-${index}`))));
      expect(taken.filter((isTaken) => isTaken)).toHaveLength(1);
      expect(await store().take(nightly, started(4))).toBe(false);
      expect(await store().take(nightly, started(6))).toBe(true);
      expect((await store().read()).schedules[0]).toMatchObject({
        lastTick: { dueMs: at(6), outcome: 'starting', runId: 'run-6' },
        // It is not made yet.
        lastRunId: undefined,
      });
    });

    it('keeps what became of it, also where it starts no run', async () => {
      await store().apply(set(1, nightly), at(0));
      await store().take(nightly, started(5));
      await store().settle('nightly', { dueMs: at(5), outcome: 'started', runId: 'run-5' });
      await store().take(nightly, { dueMs: at(6), outcome: 'skipped', words: 'run run-5 has not ended' });
      await store().settle('nightly', { dueMs: at(5), outcome: 'failed', words: 'too late' });
      const [stored] = (await store().read()).schedules;
      await store().take(nightly, started(7, 'never made'));
      await store().settle('nightly', { dueMs: at(7), outcome: 'failed', words: 'no file' });
      expect((await store().read()).schedules[0]).toMatchObject({ lastTick: { outcome: 'failed', words: 'no file' } });
      expect(stored?.lastTick).toEqual({ dueMs: at(6), outcome: 'skipped', words: 'run run-5 has not ended' });
    });

    it('of a definition that was replaced is not taken', async () => {
      await store().apply(set(1, nightly), at(0));
      await store().apply(set(2, { ...nightly, definition: definition('0 9 * * *') }), at(1));
      expect(await store().take(nightly, started(5))).toBe(false);
      expect(await store().take(weekly, started(5))).toBe(false);
    });
  });
}
