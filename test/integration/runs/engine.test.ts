import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import {
  AccessError,
  BlockedError,
  PermanentError,
  TransientError,
  UsageError,
} from '../../../src/core/base/errors.ts';
import { beatTimes } from '../../../src/core/run/warehouse-queue.ts';
import { isFinished, type PlannedUnit, type RunReport } from '../../../src/core/run/run.ts';
import type { RunningWorkers, RunQueue } from '../../../src/queue/port.ts';
import { createRunQueue } from '../../../src/queue/redis/run-queue.ts';
import { startWorkers } from '../../../src/queue/redis/workers.ts';
import { ChunkWorker } from '../../../src/runs/chunk-worker.ts';
import { Coordinator } from '../../../src/runs/coordinator.ts';
import { anyJob, type ChunkOfWork, type Job, type UnsettledUnit } from '../../../src/runs/job.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { reviveRuns } from '../../../src/runs/revival.ts';
import { RunService } from '../../../src/runs/run-service.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from '../../../src/warehouse/port/warehouse.ts';
import { deferred } from '../../support/deferred.ts';
import { sharedRedisUrl } from '../../support/redis.ts';
import { serviceAt } from '../../support/service-under-test.ts';

/** A job whose units behave as their names say: the engine without the service. */
type Act = (unit: PlannedUnit, chunk: ChunkOfWork<Params>) => Promise<unknown>;
const paramsSchema = z.object({ targets: z.array(z.string()), chunkUnits: z.number() });
type Params = z.output<typeof paramsSchema>;

const retry = { maxAttempts: 3, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
const noParams: Params = { targets: [], chunkUnits: 3 };
const actor = 'tester@host';
const serviceKey = () => 'https://service.example';
const log = pino({ level: 'silent' });

describe('the engine', () => {
  let folder: string;
  let prefix: string;
  let warehouse: WarehouseHandle;
  let queue: RunQueue;
  let running: RunningWorkers[];
  let seen: string[];
  let act: Act;
  let planFault: Error | undefined;
  let runService: RunService;

  const declaration: Job<Params> = {
    name: 'rehearse',
    units: { one: 'target', many: 'targets', failing: 'failed', held: 'held' },
    record: 'record',
    counts: [
      { name: 'read', inSum: 'whole' },
      { name: 'done', inSum: 'part' },
      { name: 'odd', isException: true },
    ],
    queue: 'export',
    params: paramsSchema,
    plan: async ({ targets, chunkUnits }) =>
      targets.map((target, unit) => ({ unit, chunk: Math.floor(unit / chunkUnits), target, spec: {} })),
    async work(chunk) {
      const left: UnsettledUnit[] = [];
      for (const unit of chunk.units) {
        seen.push(unit.target);
        try {
          await act(unit, chunk);
          const outcome = { unit: unit.unit, state: 'done', counts: { read: 1, done: 1 } } as const;
          await warehouse.ledger.runs.settle(chunk.runId, [outcome]);
          await chunk.settled([outcome]);
        } catch (error) {
          left.push({ unit, error });
        }
      }
      return left;
    },
  };
  const job = anyJob(declaration);

  /** The same job with its targets in the ledger. */
  const withTargets = anyJob({
    ...declaration,
    name: 'rehearse targets',
    takesTargets: true,
    async plan(_params, { ledger }, runId) {
      if (planFault !== undefined) throw planFault;
      const units: PlannedUnit[] = [];
      for await (const slice of ledger.runs.targets(runId)) {
        for (const target of slice) units.push({ unit: units.length, chunk: 0, target, spec: {} });
      }
      return units;
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
    queue = await createRunQueue({ redis: { url: sharedRedisUrl() }, prefix, service: serviceKey() }, 'lasting');
    running = [];
    seen = [];
    act = async () => undefined;
    planFault = undefined;
    runService = newRunService();
  });
  afterEach(async () => {
    await Promise.all(running.map((each) => each.stop()));
    await queue.close();
    await warehouse.close();
    await rm(folder, { recursive: true, force: true });
  });

  function newRunService(): RunService {
    const { ledger, location } = warehouse;
    return new RunService({
      ledger,
      warehouse,
      queue,
      location,
      times: beatTimes,
      kind: 'redis' as const,
      jobs: [job, withTargets],
      serviceKey,
      now: Date.now,
      version: '0.0.0',
    });
  }

  async function startWorker(graceMs = 5_000): Promise<RunningWorkers> {
    // The test's job never calls the service.
    const { service } = serviceAt(serviceKey());
    const outages = new OutageJournal(log);
    const parts = {
      warehouse,
      ledger: warehouse.ledger,
      service,
      queue,
      jobs: [job, withTargets],
      now: Date.now,
      log,
      outages,
      version: '0.0.0',
    };
    const coordinator = new Coordinator(parts, { chunksInFlight: 4, stuckAfterMs: 300, maxHoldMs: 60_000 });
    const chunkWorker = new ChunkWorker({ ...parts, retry, random: Math.random });
    const worker = await startWorkers({
      address: { redis: { url: sharedRedisUrl() }, prefix, service: serviceKey() },
      settings: { queues: ['export'], chunkConcurrency: () => 2, retry, graceMs },
      handlers: {
        coordinate: (runId, signal) => coordinator.coordinate(runId, signal),
        work: (item, attempt, signal) => chunkWorker.work(item, attempt, signal),
      },
      log,
      outages,
    });
    running.push(worker);
    return worker;
  }

  async function reportOf(runId: string): Promise<RunReport> {
    for (;;) {
      const progress = await queue.progress.read(runId);
      const run =
        progress !== undefined && isFinished(progress.state) ? await warehouse.ledger.runs.read(runId) : undefined;
      if (run?.report !== undefined && isFinished(run.state)) return run.report;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const targets = (count: number): string[] => Array.from({ length: count }, (_, index) => `well-${index}`);
  const start = (count: number, chunkUnits = 3): Promise<string> =>
    runService.start('rehearse', { targets: targets(count), chunkUnits }, { actor });

  it('G2: a run of many chunks ends in waves with a balanced report, each unit once', async () => {
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
    expect(await runService.retry(runId, 'tester@host')).toBe(1);
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

  it('G7: a chunk that must wait for another run is looked at again and again, and uses no attempt', async () => {
    let looks = 0;
    act = async () => {
      looks += 1;
      if (looks <= 2 * retry.maxAttempts) throw new BlockedError('push-under-way', 'another run must end first', 5);
    };
    await startWorker();
    expect(await reportOf(await start(1))).toMatchObject({ state: 'done', units: { done: 1 } });
    expect(looks).toBe(2 * retry.maxAttempts + 1);
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

  it('G7: a bug at the end of a run, met once, does not fail a run whose units are all done', async () => {
    vi.spyOn(warehouse.ledger.runs, 'finish').mockRejectedValueOnce(new TypeError('x is not a function'));
    await startWorker();
    const report = await reportOf(await start(3));
    expect(report).toMatchObject({ state: 'done', units: { total: 3, done: 3, failed: 0 } });
    expect(report.stopped).toBeUndefined();
  });

  it('no access stops the run: no further unit is begun, and every one is accounted for', async () => {
    act = async () => {
      throw new AccessError('forbidden', 'the service does not let us in');
    };
    await startWorker();
    const report = await reportOf(await start(60, 1));
    expect(report).toMatchObject({ state: 'failed', stopped: { code: 'forbidden' }, units: { total: 60, failed: 60 } });
    expect(seen.length).toBeLessThan(60);
    // Who was refused is named, and nobody else under that name.
    const refused = report.failures.filter(({ code }) => code === 'forbidden').map(({ target }) => target);
    expect(refused.toSorted()).toEqual(seen.toSorted());
    const message = 'not tried, since the run was stopped: the service does not let us in';
    const others = report.failures.filter(({ target }) => !seen.includes(target));
    expect(others).not.toEqual([]);
    for (const failure of others) expect(failure).toMatchObject({ code: 'not-tried', message });
  });

  it('G2: a run whose counts are not reconciled is a failed run', async () => {
    act = async (unit, chunk) => {
      const outcome = { unit: unit.unit, state: 'done', counts: { read: 2, done: 1 } } as const;
      await warehouse.ledger.runs.settle(chunk.runId, [outcome]);
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
    expect(await runService.cancel(runId, 'the operator')).toBe('requested');
    const report = await reportOf(runId);
    expect(report).toMatchObject({ state: 'cancelled', units: { total: 30, cancelled: 30 } });
    expect(report.stopped?.message).toBe('cancelled by the operator');
    expect(await runService.cancel(runId, 'the operator')).toBe('had-ended');
  });

  it('a run that is cancelled before any worker is there is never planned', async () => {
    const runId = await start(5);
    await runService.cancel(runId, 'the operator');
    await startWorker();
    expect(await reportOf(runId)).toMatchObject({ state: 'cancelled', units: { total: 0 } });
    expect(seen).toEqual([]);
  });

  it('G2, G7: a run that is cancelled before its plan keeps its targets, counts them as cancelled, and is planned by a retry', async () => {
    const runId = await runService.start('rehearse targets', noParams, { actor, targets: targets(3) });
    expect(await runService.cancel(runId, 'somebody')).toBe('ended');
    expect(await reportOf(runId)).toMatchObject({
      state: 'cancelled',
      units: { total: 3, done: 0, cancelled: 3 },
      balance: { balanced: true },
    });
    expect(await runService.retry(runId, 'tester@host')).toBe(3);
    await startWorker();
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { total: 3, done: 3, cancelled: 0 } });
    expect(seen).toEqual(targets(3));
  });

  it('G2, G7: a run whose plan could not be made counts its targets as failed, and is planned by a retry', async () => {
    planFault = new AccessError('refused', 'the service refused the token');
    await startWorker();
    const runId = await runService.start('rehearse targets', noParams, { actor, targets: targets(3) });
    expect(await reportOf(runId)).toMatchObject({
      state: 'failed',
      stopped: { message: 'the service refused the token' },
      units: { total: 3, failed: 3 },
    });
    planFault = undefined;
    expect(await runService.retry(runId, 'tester@host')).toBe(3);
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { total: 3, done: 3 } });
  });

  it('G7: a run that no worker is at is ended by the cancel itself, planned or not', async () => {
    const unplanned = await start(4);
    expect(await runService.cancel(unplanned, 'somebody')).toBe('ended');
    expect(await reportOf(unplanned)).toMatchObject({ state: 'cancelled', units: { total: 0 } });
    expect(await runService.cancel(unplanned, 'somebody')).toBe('had-ended');
    expect(await runService.retry(unplanned, 'tester@host')).toBe(1);
    expect(await runService.cancel(unplanned, 'somebody')).toBe('ended');

    const begun = deferred();
    const mayEnd = deferred();
    act = async () => {
      begun.resolve();
      await mayEnd.promise;
    };
    const worker = await startWorker();
    const planned = await start(4, 1);
    await begun.promise;
    const stopped = worker.stop();
    mayEnd.resolve();
    await stopped;
    expect(await runService.cancel(planned, 'somebody')).toBe('ended');
    const { units } = await reportOf(planned);
    expect(units.cancelled).toBeGreaterThan(0);
    expect(units.done + units.cancelled).toBe(4);
    expect(await runService.retry(planned, 'tester@host')).toBe(units.cancelled);
  });

  it('G1, G2: a worker that starts while a cancel ends the run leaves one report, and no unit open', async () => {
    for (let round = 0; round < 8; round += 1) {
      const runId = await start(6, 2);
      const [outcome, worker] = await Promise.all([runService.cancel(runId, 'somebody'), startWorker()]);
      const report = await reportOf(runId);
      expect(['ended', 'requested']).toContain(outcome);
      await worker.stop();
      const kept = await warehouse.ledger.runs.read(runId);
      expect(kept?.report).toEqual(report);
      expect((await warehouse.ledger.runs.totals(runId)).units).toMatchObject({ open: 0 });
      expect((await queue.progress.read(runId))?.state).toBe(kept?.state);
    }
  });

  it('G7: a run that a retry reopened before it died goes on, whatever Redis still says of its end', async () => {
    act = async () => {
      throw new PermanentError('no', 'not this time');
    };
    const worker = await startWorker();
    const runId = await start(4, 2);
    expect(await reportOf(runId)).toMatchObject({ state: 'failed' });
    await worker.stop();
    act = async () => undefined;
    expect(await warehouse.ledger.runs.reopen(runId)).toBe(4);
    expect((await queue.progress.read(runId))?.state).toBe('failed');
    await startWorker();
    expect(await reviveRuns({ ledger: warehouse.ledger, queue })).toEqual([runId]);
    await vi.waitFor(async () => expect((await warehouse.ledger.runs.read(runId))?.state).toBe('done'), 20_000);
  });

  it('G7: a run is started, and goes on later, where Redis goes away while it is stored', async () => {
    const { ledger, location } = warehouse;
    const going = await createRunQueue({ redis: { url: sharedRedisUrl() }, prefix, service: serviceKey() }, 'prompt');
    const jobs = [{ ...job, takesTargets: true }];
    const leaving = new RunService({
      ledger,
      warehouse,
      queue: going,
      location,
      times: beatTimes,
      kind: 'redis' as const,
      jobs,
      serviceKey,
      now: Date.now,
      version: '0.0.0',
    });
    async function* untilRedisGoes(): AsyncGenerator<string> {
      await going.close();
      yield 'well-0';
    }
    const params = { targets: targets(3), chunkUnits: 3 };
    const runId = await leaving.start('rehearse', params, { actor, targets: untilRedisGoes() });
    expect(await ledger.runs.read(runId)).toMatchObject({ state: 'queued' });
    await startWorker();
    expect(await reviveRuns({ ledger: warehouse.ledger, queue })).toEqual([runId]);
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { done: 3 } });
  });

  it('G7: a stop hands work back, and the next worker continues it', async () => {
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

  it('G7: a run that Redis has lost is revived from the warehouse and continues', async () => {
    const runId = await start(6);
    await queue.progress.forget(runId);
    const lost = `test-${randomUUID()}`;
    prefix = lost;
    await queue.close();
    queue = await createRunQueue({ redis: { url: sharedRedisUrl() }, prefix: lost, service: serviceKey() }, 'lasting');
    runService = newRunService();
    await startWorker();
    expect(await reviveRuns({ ledger: warehouse.ledger, queue })).toEqual([runId]);
    expect(await reportOf(runId)).toMatchObject({ state: 'done', units: { done: 6 } });
    expect(await reviveRuns({ ledger: warehouse.ledger, queue })).toEqual([]);
  });

  it('refuses a job, a run and parameters that it does not know', async () => {
    await expect(runService.start('brew coffee', {}, { actor })).rejects.toBeInstanceOf(UsageError);
    await expect(runService.retry('no-such-run', 'tester@host')).rejects.toBeInstanceOf(UsageError);
    await expect(runService.cancel('no-such-run', 'me')).rejects.toBeInstanceOf(UsageError);
  });
});
