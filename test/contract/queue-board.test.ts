import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRunBoard, type RedisRunBoard } from '../../src/queue/board.ts';
import { sharedRedisUrl } from '../support/redis.ts';

const start = { queue: 'export', round: 0, units: 4, settledUnits: 0, counts: {}, chunks: [0, 1, 2] } as const;

describe('the board of a run', () => {
  let redis: Redis;
  let board: RedisRunBoard;
  let runs = 0;
  const newRun = (): string => `run-${(runs += 1)}`;

  beforeAll(() => {
    redis = new Redis(sharedRedisUrl());
    board = createRunBoard(redis, `test-${randomUUID()}`);
  });
  afterAll(() => redis.disconnect());

  it('is not there before it is opened', async () => {
    expect(await board.read(newRun())).toBeUndefined();
  });

  it('G1: counts a unit once, whoever says it how often and in whatever order', async () => {
    const outcome = fc.record({ unit: fc.integer({ min: 0, max: 30 }), counts: fc.constant({ inserted: 5, read: 7 }) });
    const sayings = fc.array(fc.array(outcome, { maxLength: 6 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sayings, async (said) => {
        const run = newRun();
        await board.open(run, { ...start, units: 31 });
        await Promise.all(said.map((outcomes) => board.settle(run, outcomes)));
        const units = new Set(said.flat().map((each) => each.unit)).size;
        const state = await board.read(run);
        expect(state?.settledUnits).toBe(units);
        expect(state?.counts['inserted'] ?? 0).toBe(5 * units);
      }),
      { numRuns: 30 },
    );
  });

  it('ends a chunk once', async () => {
    const run = newRun();
    await board.open(run, start);
    await Promise.all([board.endChunk(run, 1), board.endChunk(run, 1), board.endChunk(run, 2)]);
    expect((await board.read(run))?.chunksEnded).toBe(2);
  });

  it('gives the next chunks, and a slower conductor cannot take back what was added', async () => {
    const run = newRun();
    await board.open(run, start);
    expect(await board.nextChunks(run, 2)).toEqual({ chunks: [0, 1], addedThen: 2 });
    await board.noteAdded(run, 2);
    await board.noteAdded(run, 1);
    expect(await board.nextChunks(run, 9)).toEqual({ chunks: [2], addedThen: 3 });
    await board.endChunk(run, 0);
    expect(await board.chunksInFlight(run)).toEqual([1]);
  });

  it('keeps the first halt, also one that came before the board was opened', async () => {
    const run = newRun();
    await board.halt(run, { kind: 'cancel', requestedBy: 'first' });
    await board.halt(run, { kind: 'cancel', requestedBy: 'second' });
    expect(await board.read(run)).toMatchObject({ state: 'queued', halt: { requestedBy: 'first' } });
    await board.open(run, start);
    expect(await board.read(run)).toMatchObject({ state: 'running', halt: { requestedBy: 'first' } });
  });

  it('starts over from the ledger when it is opened again, without the chunks that ended', async () => {
    const run = newRun();
    await board.open(run, start);
    await board.settle(run, [{ unit: 0, counts: { read: 3 } }]);
    await board.endChunk(run, 0);
    await board.open(run, { ...start, settledUnits: 1, counts: { read: 3 }, chunks: [1, 2] });
    expect(await board.read(run)).toMatchObject({ settledUnits: 1, counts: { read: 3 }, chunks: 2, chunksEnded: 0 });
  });

  it('does not come back from the dead when a late worker speaks of a run that was forgotten', async () => {
    const run = newRun();
    await board.open(run, start);
    await board.forget(run);
    await board.settle(run, [{ unit: 0, counts: { read: 3 } }]);
    await board.endChunk(run, 0);
    expect(await board.read(run)).toBeUndefined();
  });

  it('is kept for a day when the run is finished, and then goes by itself', async () => {
    const run = newRun();
    await board.open(run, start);
    await board.finish(run, 'done');
    expect((await board.read(run))?.state).toBe('done');
    const keys = await redis.keys(`*:run:${run}*`);
    const livesSeconds = await Promise.all(keys.map((key) => redis.ttl(key)));
    expect(livesSeconds.length).toBeGreaterThan(0);
    expect(livesSeconds.every((seconds) => seconds > 0 && seconds <= 86_400)).toBe(true);
  });

  it('adds what units under way have counted, and forgets it when they are settled', async () => {
    const run = newRun();
    await board.open(run, start);
    const progress = { unit: 1, done: 50, whole: 100, counts: { rows: 10 }, attempt: 2 };
    await board.progress(run, progress);
    expect(await board.read(run)).toMatchObject({ counts: { rows: 10 }, underWay: [progress], settledUnits: 0 });
    await board.settle(run, [{ unit: 1, counts: { rows: 20 } }]);
    expect(await board.read(run)).toMatchObject({ counts: { rows: 20 }, underWay: [], settledUnits: 1 });
  });

  it('G7: a unit under way never goes back, and a settled one is not under way again', async () => {
    const run = newRun();
    await board.open(run, start);
    const told = (done: number) => ({ unit: 0, done, counts: { rows: done }, attempt: 1 });
    await board.progress(run, told(50));
    await board.progress(run, told(40));
    expect(await board.read(run)).toMatchObject({ counts: { rows: 50 } });
    await board.settle(run, [{ unit: 0, counts: { rows: 60 } }]);
    await board.progress(run, told(70));
    expect(await board.read(run)).toMatchObject({ counts: { rows: 60 }, underWay: [] });
  });
});
