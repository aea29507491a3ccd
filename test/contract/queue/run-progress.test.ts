import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RedisRunProgress } from '../../../src/queue/redis/run-progress.ts';
import { queueForms } from '../../support/queue-forms.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const start = { queue: 'export', generation: 0, units: 4, settledUnits: 0, counts: {}, chunks: [0, 1, 2] } as const;

let runs = 0;
const newRun = (): string => `run-${(runs += 1)}`;

describe.each(queueForms)('the progress of a run in $name', (form) => {
  const stores = form.stores(`test-${randomUUID()}`);
  const { progress } = stores;
  afterAll(() => stores.close());

  it('is not there before it is opened', async () => {
    expect(await progress.read(newRun())).toBeUndefined();
  });

  it('G1: run progress counts a unit once, however often and in whatever order it is reported', async () => {
    const outcome = fc.record({ unit: fc.integer({ min: 0, max: 30 }), counts: fc.constant({ inserted: 5, read: 7 }) });
    const sayings = fc.array(fc.array(outcome, { maxLength: 6 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sayings, async (said) => {
        const run = newRun();
        await progress.open(run, { ...start, units: 31 });
        await Promise.all(said.map((outcomes) => progress.settle(run, outcomes)));
        const units = new Set(said.flat().map((each) => each.unit)).size;
        const state = await progress.read(run);
        expect(state?.settledUnits).toBe(units);
        expect(state?.counts['inserted'] ?? 0).toBe(5 * units);
      }),
      { numRuns: 30 },
    );
  });

  it('ends a chunk once', async () => {
    const run = newRun();
    await progress.open(run, start);
    await Promise.all([progress.endChunk(run, 1), progress.endChunk(run, 1), progress.endChunk(run, 2)]);
    expect((await progress.read(run))?.chunksEnded).toBe(2);
  });

  it('says with the end of a chunk whether it was the last one, again too', async () => {
    const run = newRun();
    await progress.open(run, start);
    const ends: boolean[] = [];
    for (const chunk of [2, 0, 0, 1, 1]) ends.push(await progress.endChunk(run, chunk));
    expect(ends).toEqual([false, false, false, true, true]);
  });

  it('keeps the first stopRequest, also one that came before the progress was opened', async () => {
    const run = newRun();
    await progress.requestStop(run, { kind: 'cancel', requestedBy: 'first' });
    await progress.requestStop(run, { kind: 'cancel', requestedBy: 'second' });
    expect(await progress.read(run)).toMatchObject({ state: 'queued', stopRequest: { requestedBy: 'first' } });
    await progress.open(run, start);
    expect(await progress.read(run)).toMatchObject({ state: 'running', stopRequest: { requestedBy: 'first' } });
  });

  it('starts over from the ledger when it is opened again, without the chunks that ended', async () => {
    const run = newRun();
    await progress.open(run, start);
    await progress.settle(run, [{ unit: 0, counts: { read: 3 } }]);
    await progress.endChunk(run, 0);
    await progress.open(run, { ...start, settledUnits: 1, counts: { read: 3 }, chunks: [1, 2] });
    expect(await progress.read(run)).toMatchObject({ settledUnits: 1, counts: { read: 3 }, chunks: 2, chunksEnded: 0 });
  });

  it('G7: counts no chunk that it was opened without: an item of before, whose units had their outcomes, may end late', async () => {
    const run = newRun();
    await progress.open(run, { ...start, chunks: [1, 2] });
    const ends = [await progress.endChunk(run, 0), await progress.endChunk(run, 1)];
    expect(await progress.read(run)).toMatchObject({ chunks: 2, chunksEnded: 1 });
    expect([...ends, await progress.endChunk(run, 2)]).toEqual([false, false, true]);
  });

  it('G7: loses no stop request that comes while it is opened, or restarted', async () => {
    const stop = { kind: 'cancel', requestedBy: 'somebody' } as const;
    for (let time = 0; time < 50; time += 1) {
      const run = newRun();
      await Promise.all([progress.open(run, start), progress.requestStop(run, stop)]);
      expect(await progress.read(run)).toMatchObject({ state: 'running', stopRequest: stop });
      await Promise.all([progress.restart(run), progress.open(run, start), progress.restart(run)]);
      expect(await progress.read(run)).toMatchObject({ state: 'queued', units: 0, stopRequest: stop });
    }
  });

  it('does not come back from the dead when a late worker speaks of a run that was forgotten', async () => {
    const run = newRun();
    await progress.open(run, start);
    await progress.forget(run);
    await progress.settle(run, [{ unit: 0, counts: { read: 3 } }]);
    await progress.endChunk(run, 0);
    expect(await progress.read(run)).toBeUndefined();
  });

  it('adds what units under way have counted, and forgets it when they are settled', async () => {
    const run = newRun();
    await progress.open(run, start);
    const ahead = { unit: 1, done: 50, whole: 100, counts: { rows: 10 }, attempt: 2 };
    await progress.advance(run, ahead);
    expect(await progress.read(run)).toMatchObject({ counts: { rows: 10 }, underWay: [ahead], settledUnits: 0 });
    await progress.settle(run, [{ unit: 1, counts: { rows: 20 } }]);
    expect(await progress.read(run)).toMatchObject({ counts: { rows: 20 }, underWay: [], settledUnits: 1 });
  });

  it('keeps what was read of a unit until it is settled: no count, no movement of the run, never backwards', async () => {
    const run = newRun();
    await progress.open(run, start);
    const page = { unit: 0, rows: 50, expectedRows: 100, isRead: false };
    await form.pass(30);
    await progress.recordReadings(run, [page, { unit: 1, rows: 7, isRead: true }]);
    await progress.recordReadings(run, [{ ...page, rows: 40 }]);
    const { reading, counts, underWay } = (await progress.read(run)) ?? {};
    expect(reading?.toSorted((left, right) => left.unit - right.unit)).toEqual([
      page,
      { unit: 1, rows: 7, isRead: true },
    ]);
    expect({ counts, underWay }).toEqual({ counts: {}, underWay: [] });
    expect((await progress.read(run))?.unmovedMs).toBeGreaterThan(20);
    await progress.settle(run, [{ unit: 0, counts: { read: 60 } }]);
    await progress.recordReadings(run, [{ ...page, rows: 100 }]);
    expect(await progress.read(run)).toMatchObject({ counts: { read: 60 }, reading: [{ unit: 1 }] });
  });

  it('G7: the progress of a unit never goes back, and a settled unit is not in progress again', async () => {
    const run = newRun();
    await progress.open(run, start);
    const told = (done: number) => ({ unit: 0, done, counts: { rows: done }, attempt: 1 });
    await progress.advance(run, told(50));
    await progress.advance(run, told(40));
    expect(await progress.read(run)).toMatchObject({ counts: { rows: 50 } });
    await progress.settle(run, [{ unit: 0, counts: { rows: 60 } }]);
    await progress.advance(run, told(70));
    expect(await progress.read(run)).toMatchObject({ counts: { rows: 60 }, underWay: [] });
  });
});

// What looks at the clock and the keys of Redis itself.
describe('the progress of a run in Redis itself', () => {
  let redis: Redis;
  let progress: RedisRunProgress;
  const prefix = `test-${randomUUID()}`;

  beforeAll(() => {
    redis = new Redis(sharedRedisUrl());
    progress = new RedisRunProgress(redis, prefix);
  });
  afterAll(() => redis.disconnect());

  it('gives the next chunks, and a slower coordinator cannot take back what was added', async () => {
    const run = newRun();
    await progress.open(run, start);
    expect(await progress.nextChunks(run, 2)).toEqual({ chunks: [0, 1], cursor: 2 });
    await progress.recordAdded(run, 2);
    await progress.recordAdded(run, 1);
    expect(await progress.nextChunks(run, 9)).toEqual({ chunks: [2], cursor: 3 });
    await progress.endChunk(run, 0);
    expect(await progress.chunksInFlight(run)).toEqual([1]);
  });

  it('tells for how long it has not moved by the clock of Redis, whatever those of the hosts say', async () => {
    const run = newRun();
    const dayMs = 86_400_000;
    const realNow = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() - dayMs);
    await progress.open(run, start);
    await progress.settle(run, [{ unit: 0, counts: {} }]);
    vi.restoreAllMocks();
    const first = (await progress.read(run))?.unmovedMs;
    expect(first).toBeLessThan(dayMs);
    await expect.poll(async () => (await progress.read(run))?.unmovedMs).toBeGreaterThan(first as number);
    await progress.endChunk(run, 0);
    expect((await progress.read(run))?.chunksEnded).toBe(1);
  });

  it('is kept for a day when the run is finished, and then goes by itself', async () => {
    const run = newRun();
    await progress.open(run, start);
    await progress.finish(run, 'done');
    expect((await progress.read(run))?.state).toBe('done');
    const keys = await redis.keys(`${prefix}:run:${run}*`);
    const livesSeconds = await Promise.all(keys.map((key) => redis.ttl(key)));
    expect(livesSeconds.length).toBeGreaterThan(0);
    expect(livesSeconds.every((seconds) => seconds > 0 && seconds <= 86_400)).toBe(true);
  });
});
