/** What of an embedded queue outlives its process: each by a queue that is left as by a kill, and another one after it. */
import { describe, expect, it } from 'vitest';
import { EmbeddedQueue } from '../../../../src/queue/embedded/run-queue.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const limits = { concurrency: 2, requestsPerSecond: undefined, leaseMs: 5_000 };

export function describeQueueState(open: OpenWarehouse): void {
  describe('the queue of a process that was killed', () => {
    const test = freshWarehouse(open);

    /** Nothing of the one before is closed: what it only noted is lost, as by SIGKILL. */
    async function queueOf({ ledger }: WarehouseHandle, now = Date.now): Promise<EmbeddedQueue> {
      const queue = new EmbeddedQueue({ queueId: 'of a test', now, store: ledger.queueState });
      await queue.restore();
      return queue;
    }

    it('G7: has counted the starts of its work, which the next one isolates', async () => {
      const { warehouse } = test();
      const first = await queueOf(warehouse);
      expect(await first.starts.begin('run', { chunk: 0 })).toBe(0);
      expect(await first.starts.begin('run', { unit: 7 })).toBe(0);
      const second = await queueOf(test().another());
      // A progress that is opened anew says nothing of what killed the one before.
      await second.progress.open('run', openOf([0]));
      expect(await second.starts.begin('run', { chunk: 0 })).toBe(1);
      expect(await second.starts.ofUnits('run')).toEqual(new Map([[7, 1]]));
      await second.starts.end('run', { chunk: 0 });
      await second.flush();
      const third = await queueOf(warehouse);
      expect(await third.starts.begin('run', { chunk: 0 })).toBe(0);
    });

    it('G7: writes at once that a start has got somewhere: its process may be killed in the next moment', async () => {
      const { queueState } = test().warehouse.ledger;
      const written: unknown[] = [];
      const write = async (...given: Parameters<typeof queueState.write>) => {
        written.push(...given[0]);
        await queueState.write(...given);
      };
      const queue = new EmbeddedQueue({ queueId: 'of a test', now: Date.now, store: { read: queueState.read, write } });
      await queue.starts.begin('run', { chunk: 0 });
      await queue.starts.end('run', { chunk: 0 });
      await new Promise(setImmediate);
      expect(written).toMatchObject([
        { key: 'run chunk:0', value: 1 },
        { key: 'run chunk:0', value: undefined },
      ]);
      await queue.flush();
    });

    it('keeps a request to stop until the run has ended', async () => {
      const { warehouse } = test();
      const stop = { kind: 'cancel', requestedBy: 'ana@host' } as const;
      await (await queueOf(warehouse)).progress.requestStop('run', stop);
      const second = await queueOf(test().another());
      expect(await second.progress.read('run')).toMatchObject({ state: 'queued', stopRequest: stop });
      await second.progress.open('run', openOf([0]));
      expect(await second.progress.read('run')).toMatchObject({ state: 'running', stopRequest: stop });
      await second.progress.finish('run', 'cancelled');
      await second.flush();
      expect(await (await queueOf(warehouse)).progress.read('run')).toBeUndefined();
    });

    it('G9: keeps the bound of a Retry-After, and the series that it belongs to, until the service answers', async () => {
      const { warehouse } = test();
      let nowMs = Date.parse('2026-03-01T00:00:00Z');
      const first = await queueOf(warehouse, () => nowMs);
      await first.serviceHold.admission(limits).holdAll(40_000, 60_000);
      await first.flush();
      nowMs += 10_000;
      const second = await queueOf(test().another(), () => nowMs);
      expect(await second.serviceHold.read()).toMatchObject({ leftMs: 30_000, isTooLong: false });
      const asker = second.serviceHold.admission(limits);
      expect(await asker.ask([{ runId: 'run', requests: 1 }])).toMatchObject({ kind: 'paused' });
      nowMs += 31_000;
      // The second wait in a row is beyond the most together.
      expect(await asker.holdAll(40_000, 60_000)).toMatchObject({ isTooLong: true });
      await second.serviceHold.lift();
      await second.flush();
      expect(await (await queueOf(warehouse, () => nowMs)).serviceHold.read()).toBeUndefined();
    });

    it('keeps since when a part is down, and the last lines of the log of a run', async () => {
      const { warehouse } = test();
      let nowMs = 1_000_000;
      const first = await queueOf(warehouse, () => nowMs);
      await first.recordDown('export', 'service');
      await first.runLog.append('run', ['{"msg":"one"}', '{"msg":"two"}']);
      await first.flush();
      nowMs += 90_000;
      const second = await queueOf(test().another(), () => nowMs);
      expect(await second.recordDown('export', 'service')).toBe(90_000);
      await second.runLog.append('run', ['{"msg":"three"}']);
      expect(await second.runLog.read('run')).toEqual(['{"msg":"one"}', '{"msg":"two"}', '{"msg":"three"}']);
      await second.recordUp('export');
      await second.flush();
      const third = await queueOf(warehouse, () => nowMs);
      expect(await third.recordDown('export', 'service')).toBe(0);
      expect(await third.runLog.read('run')).toHaveLength(3);
    });

    it('writes changes together, and those that could not be written with the next', async () => {
      const { warehouse } = test();
      const { queueState } = warehouse.ledger;
      let isAway = true;
      const store = {
        read: queueState.read,
        write: async (...given: Parameters<typeof queueState.write>) => {
          if (isAway) throw new Error('away');
          await queueState.write(...given);
        },
      };
      const queue = new EmbeddedQueue({ queueId: 'of a test', now: Date.now, store });
      await expect(queue.progress.requestStop('run', { kind: 'cancel', requestedBy: 'me' })).rejects.toThrow('away');
      isAway = false;
      await queue.starts.begin('run', { chunk: 1 });
      const kept = await queueState.read(['start', 'stop']);
      expect(kept.map(({ kind, key }) => [kind, key])).toEqual([
        ['start', 'run chunk:1'],
        ['stop', 'run'],
      ]);
    });

    it('G7: counts no start that could not be written: its work is not begun', async () => {
      const { warehouse } = test();
      const { queueState } = warehouse.ledger;
      let isAway = true;
      const write = async (...given: Parameters<typeof queueState.write>) => {
        if (isAway) throw new Error('away');
        await queueState.write(...given);
      };
      const queue = new EmbeddedQueue({
        queueId: 'of a test',
        now: Date.now,
        store: { read: queueState.read, write },
      });
      for (let tries = 0; tries < 5; tries += 1) {
        await expect(queue.starts.begin('run', { chunk: 0 })).rejects.toThrow('away');
      }
      isAway = false;
      expect(await queue.starts.begin('run', { chunk: 0 })).toBe(0);
      const next = await queueOf(warehouse, Date.now);
      expect(await next.starts.begin('run', { chunk: 0 })).toBe(1);
    });

    it('a process at work takes up what others wrote: requests to stop, and that a hold is lifted', async () => {
      const { warehouse } = test();
      const working = await queueOf(warehouse, Date.now);
      const admission = working.serviceHold.admission({ concurrency: 1, requestsPerSecond: undefined, leaseMs: 1_000 });
      await admission.holdAll(60_000, 120_000);
      await working.flush();
      const other = await queueOf(warehouse, Date.now);
      await other.progress.requestStop('run', { kind: 'cancel', requestedBy: 'me' });
      await working.readWords();
      expect(working.progress.readNow('run')?.stopRequest).toMatchObject({ kind: 'cancel' });
      expect(await working.serviceHold.read()).toBeDefined();
      await other.serviceHold.lift();
      await other.flush();
      await working.readWords();
      expect(await working.serviceHold.read()).toBeUndefined();
      // One that was met since is no lifted one, though it may not be written yet.
      await admission.holdAll(60_000, 120_000);
      await working.readWords();
      expect(await working.serviceHold.read()).toBeDefined();
    });
  });
}

function openOf(chunks: readonly number[]) {
  return { queue: 'export', generation: 0, units: 9, settledUnits: 0, counts: {}, chunks } as const;
}
