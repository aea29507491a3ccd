import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AccessError, PermanentError, TransientError, UsageError } from '../../src/core/errors.ts';
import { isFinished, type PlannedUnit, type RunReport } from '../../src/core/run.ts';
import type { RunningWorkers, RunQueue } from '../../src/queue/port.ts';
import { createRunQueue } from '../../src/queue/run-queue.ts';
import { startWorkers } from '../../src/queue/workers.ts';
import { createChunkWorker } from '../../src/runs/chunk-worker.ts';
import { createConductor } from '../../src/runs/conductor.ts';
import { anyJob, type ChunkOfWork, type Leftover } from '../../src/runs/job.ts';
import { createRunDesk, type RunDesk } from '../../src/runs/run-desk.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { deferred } from '../support/deferred.ts';
import { sharedRedisUrl } from '../support/redis.ts';

/** A job whose units do as their name says: the engine without the service. */
type Act = (unit: PlannedUnit, chunk: ChunkOfWork<Params>) => Promise<unknown>;
const paramsSchema = z.object({ targets: z.array(z.string()), chunkUnits: z.number() });
type Params = z.output<typeof paramsSchema>;

const retry = { maxAttempts: 3, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
const log = pino({ level: 'silent' });

describe('the engine', () => {
  let folder: string;
  let prefix: string;
  let warehouse: Warehouse;
  let queue: RunQueue;
  let running: RunningWorkers[];
  let seen: string[];
  let act: Act;
  let desk: RunDesk;

  const job = anyJob<Params>({
    name: 'rehearse',
    queue: 'export',
    params: paramsSchema,
    exceptions: ['odd'],
    balance: (counts) => ({ balanced: (counts['read'] ?? 0) === (counts['done'] ?? 0), statement: 'read = done' }),
    plan: async ({ targets, chunkUnits }) =>
      targets.map((target, unit) => ({ unit, chunk: Math.floor(unit / chunkUnits), target, spec: {} })),
    async work(chunk) {
      const left: Leftover[] = [];
      for (const unit of chunk.units) {
        seen.push(unit.target);
        try {
          await act(unit, chunk);
          const outcome = { unit: unit.unit, state: 'done', counts: { read: 1, done: 1 } } as const;
          await warehouse.runs.settle(chunk.runId, [outcome]);
          await chunk.settled([outcome]);
        } catch (error) {
          left.push({ unit, error });
        }
      }
      return left;
    },
  });

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-engine-'));
    prefix = `test-${randomUUID()}`;
    warehouse = createDuckdbWarehouse({
      path: path.join(folder, 'w.duckdb'),
      memoryLimitMb: 128,
      threads: 1,
      lockWaitMs: 5_000,
      now: Date.now,
    });
    queue = await createRunQueue({ url: sharedRedisUrl(), prefix, kind: 'lasting' });
    running = [];
    seen = [];
    act = async () => undefined;
    desk = createRunDesk({ warehouse, queue, jobs: [job], now: Date.now });
  });
  afterEach(async () => {
    for (const each of running) await each.stop();
    await queue.close();
    await warehouse.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function startWorker(graceMs = 5_000): Promise<RunningWorkers> {
    // The rehearsed job never asks the service.
    const service = {} as ProductionDataService;
    const parts = { warehouse, service, queue, jobs: [job], now: Date.now, log };
    const worker = await startWorkers({
      url: sharedRedisUrl(),
      prefix,
      settings: { queues: ['export'], chunkConcurrency: 2, retry, graceMs },
      handlers: {
        conduct: createConductor(parts, { chunksInFlight: 4, stuckAfterMs: 300 }),
        work: createChunkWorker({ ...parts, retry, random: Math.random }),
      },
      log,
    });
    running.push(worker);
    return worker;
  }

  async function reportOf(runId: string): Promise<RunReport> {
    for (;;) {
      const board = await queue.board.read(runId);
      const run = board !== undefined && isFinished(board.state) ? await warehouse.runs.read(runId) : undefined;
      if (run?.report !== undefined && isFinished(run.state)) return run.report;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const targets = (count: number): string[] => Array.from({ length: count }, (_, index) => `well-${index}`);
  const start = (count: number, chunkUnits = 3): Promise<string> =>
    desk.start('rehearse', { targets: targets(count), chunkUnits });

  it('G2: takes a run of many chunks in waves to a balanced report, each unit once', async () => {
    await startWorker();
    const report = await reportOf(await start(40));
    expect(report).toMatchObject({
      state: 'done',
      units: { total: 40, done: 40, failed: 0 },
      counts: { read: 40, done: 40 },
      balance: { balanced: true },
    });
    expect(seen.toSorted()).toEqual(targets(40).toSorted());
  });

  it('a run with nothing to do is done', async () => {
    await startWorker();
    expect(await reportOf(await start(0))).toMatchObject({ state: 'done', units: { total: 0 } });
  });

  it('a unit that fails does not stop the others, and a retry takes only what is left', async () => {
    act = async (unit) => {
      if (unit.target === 'well-1') throw new PermanentError('refused', 'the service refused it', { status: 422 });
    };
    await startWorker();
    const runId = await start(6);
    const failed = await reportOf(runId);
    expect(failed).toMatchObject({ state: 'failed', units: { done: 5, failed: 1 } });
    expect(failed.failures).toMatchObject([{ target: 'well-1', code: 'refused', message: 'the service refused it' }]);

    seen = [];
    act = async () => undefined;
    expect(await desk.retry(runId)).toBe(1);
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { total: 6, done: 6 }, counts: { read: 6 } });
    expect(seen).toEqual(['well-1']);
  });

  it('what is transient is tried again within its attempts and then fails', async () => {
    act = async (unit) => {
      if (unit.target === 'well-0') throw new TransientError('timeout', 'no answer');
    };
    await startWorker();
    expect(await reportOf(await start(3))).toMatchObject({ state: 'failed', units: { done: 2, failed: 1 } });
    expect(seen.filter((target) => target === 'well-0')).toHaveLength(3);
    expect(seen.filter((target) => target === 'well-1')).toHaveLength(1);
  });

  it('a bug in the work of one unit fails that unit and is named as a bug', async () => {
    act = async (unit) => {
      if (unit.target === 'well-0') throw new TypeError('x is not a function');
    };
    await startWorker();
    const report = await reportOf(await start(3));
    expect(report.failures).toMatchObject([{ target: 'well-0', code: 'bug' }]);
    expect(seen.filter((target) => target === 'well-0')).toHaveLength(1);
  });

  it('no access stops the run: no further unit is begun, and every one is accounted for', async () => {
    act = async () => {
      throw new AccessError('forbidden', 'the service does not let us in');
    };
    await startWorker();
    const report = await reportOf(await start(60, 1));
    expect(report).toMatchObject({ state: 'failed', stopped: { code: 'forbidden' }, units: { total: 60, failed: 60 } });
    expect(seen.length).toBeLessThan(60);
  });

  it('G2: a run whose counts do not add up is a failed run', async () => {
    act = async (unit, chunk) => {
      const outcome = { unit: unit.unit, state: 'done', counts: { read: 2, done: 1 } } as const;
      await warehouse.runs.settle(chunk.runId, [outcome]);
    };
    await startWorker();
    expect(await reportOf(await start(1))).toMatchObject({ state: 'failed', stopped: { code: 'unbalanced' } });
  });

  it('a cancel reaches work in flight, and what was not begun is accounted for as cancelled', async () => {
    const begun = deferred();
    act = (_unit, chunk) =>
      new Promise((_resolve, reject) => {
        begun.resolve();
        if (chunk.signal.aborted) reject(chunk.signal.reason);
        chunk.signal.addEventListener('abort', () => reject(chunk.signal.reason));
      });
    await startWorker();
    const runId = await start(30);
    await begun.promise;
    expect(await desk.cancel(runId, 'the operator')).toBe(true);
    const report = await reportOf(runId);
    expect(report).toMatchObject({ state: 'cancelled', units: { total: 30, cancelled: 30 } });
    expect(report.stopped?.message).toBe('cancelled by the operator');
    expect(await desk.cancel(runId, 'the operator')).toBe(false);
  });

  it('a run that is cancelled before any worker is there is never planned', async () => {
    const runId = await start(5);
    await desk.cancel(runId, 'the operator');
    await startWorker();
    expect(await reportOf(runId)).toMatchObject({ state: 'cancelled', units: { total: 0 } });
    expect(seen).toEqual([]);
  });

  it('G7: a stop hands work back, and the next worker goes on where it was', async () => {
    const begun = deferred();
    act = (unit, chunk) =>
      unit.target === 'well-0'
        ? Promise.resolve()
        : new Promise((_resolve, reject) => {
            begun.resolve();
            if (chunk.signal.aborted) reject(chunk.signal.reason);
            chunk.signal.addEventListener('abort', () => reject(chunk.signal.reason));
          });
    const first = await startWorker(50);
    const runId = await start(3);
    await begun.promise;
    await first.stop();
    running.pop();
    seen = [];
    act = async () => undefined;
    await startWorker();
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { done: 3 } });
    expect(seen).not.toContain('well-0');
  });

  it('G7: a run that Redis has lost altogether is revived from the warehouse and goes on', async () => {
    const runId = await start(6);
    await queue.board.forget(runId);
    const lost = `test-${randomUUID()}`;
    prefix = lost;
    await queue.close();
    queue = await createRunQueue({ url: sharedRedisUrl(), prefix: lost, kind: 'lasting' });
    desk = createRunDesk({ warehouse, queue, jobs: [job], now: Date.now });
    await startWorker();
    expect(await desk.revive()).toEqual([runId]);
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { done: 6 } });
    expect(await desk.revive()).toEqual([]);
  });

  it('refuses a job, a run and parameters that it does not know', async () => {
    await expect(desk.start('brew coffee', {})).rejects.toBeInstanceOf(UsageError);
    await expect(desk.retry('no-such-run')).rejects.toBeInstanceOf(UsageError);
    await expect(desk.cancel('no-such-run', 'me')).rejects.toBeInstanceOf(UsageError);
  });
});
