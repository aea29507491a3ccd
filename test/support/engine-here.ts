/** A whole app in the process of a test: real Redis, real service client, real DuckDB file, and the test's clock. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Logger, pino } from 'pino';
import { beatTimes } from '../../src/core/run/warehouse-queue.ts';
import { isFinished, type RunReport } from '../../src/core/run/run.ts';
import { createRunQueue } from '../../src/queue/redis/run-queue.ts';
import { startWorkers } from '../../src/queue/redis/workers.ts';
import { ChunkWorker } from '../../src/runs/chunk-worker.ts';
import { Coordinator } from '../../src/runs/coordinator.ts';
import { OutageJournal } from '../../src/runs/outage-journal.ts';
import type { AnyJob } from '../../src/runs/job.ts';
import { RunService } from '../../src/runs/run-service.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { sharedRedisUrl } from './redis.ts';
import { serviceAt } from './service-under-test.ts';
import { askedWhileOpen } from './warehouse-batches.ts';

const silent = pino({ level: 'silent' });

export interface EngineHere extends AsyncDisposable {
  readonly warehouse: WarehouseHandle;
  /** Runs a job to its report. */
  run(job: string, params: unknown, targets: readonly string[]): Promise<RunReport>;
  /** Queues a run, and returns its id. */
  start(job: string, params: unknown, targets?: readonly string[]): Promise<string>;
  /** Waits for the report of a run. */
  reportOf(runId: string): Promise<RunReport>;
  cancel(runId: string): Promise<void>;
  /** Stops the workers, and starts others. */
  restartWorkers(): Promise<void>;
  /** The clock of commits, milliseconds since 1970. */
  nowMs: number;
}

interface EngineOptions {
  /** Where the folder of the warehouse is made. */
  readonly disk?: string;
  readonly redisUrl?: string;
  readonly log?: Logger;
  readonly maxHoldMs?: number;
  /** Of a request to the service, for answers that a test holds back. */
  readonly timeoutMs?: number;
}

export async function engineHere(
  serviceUrl: string,
  jobs: readonly AnyJob[],
  {
    disk = tmpdir(),
    redisUrl = sharedRedisUrl(),
    log = silent,
    maxHoldMs = 60_000,
    timeoutMs = 5_000,
  }: EngineOptions = {},
): Promise<EngineHere> {
  const retry = { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs };
  const folder = await mkdtemp(path.join(disk, 'wellsync-here-'));
  const address = { redis: { url: redisUrl }, prefix: `here-${randomUUID()}`, service: serviceUrl };
  const file = path.join(folder, 'w.duckdb');
  const warehouse = askedWhileOpen(createDuckdbWarehouse({ path: file, now: Date.now }), file);
  const queue = await createRunQueue(address, 'lasting');
  const { service } = serviceAt(serviceUrl, { maxBodyBytes: 64_000_000, timeoutMs });
  const engine = { nowMs: Date.now() };
  const outages = new OutageJournal(log);
  const parts = {
    warehouse,
    ledger: warehouse.ledger,
    service,
    queue,
    jobs,
    now: () => engine.nowMs,
    log,
    outages,
    version: '0.0.0',
  };
  const runService = new RunService({
    ...parts,
    location: warehouse.location,
    times: beatTimes,
    kind: 'redis' as const,
    serviceKey: () => serviceUrl,
  });
  // The engine's clock stands still here, so time without progress needs a real one.
  const coordinator = new Coordinator(
    { ...parts, now: Date.now },
    { chunksInFlight: 8, stuckAfterMs: 5_000, maxHoldMs },
  );
  const chunkWorker = new ChunkWorker({ ...parts, retry, random: Math.random });
  const startAll = () =>
    startWorkers({
      address,
      settings: { queues: ['export'], chunkConcurrency: () => 2, retry, graceMs: 2_000 },
      handlers: {
        coordinate: (runId, signal) => coordinator.coordinate(runId, signal),
        work: (item, attempt, signal) => chunkWorker.work(item, attempt, signal),
      },
      log,
      outages,
    });
  let workers = await startAll();

  async function reportOf(runId: string): Promise<RunReport> {
    for (;;) {
      const progress = await queue.progress.read(runId);
      const run =
        progress !== undefined && isFinished(progress.state) ? await warehouse.ledger.runs.read(runId) : undefined;
      if (run?.report !== undefined) return run.report;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const start = (job: string, params: unknown, targets?: readonly string[]): Promise<string> =>
    runService.start(job, params, { actor: 'tester@host', ...(targets === undefined ? {} : { targets }) });

  return Object.assign(engine, {
    warehouse,
    start,
    reportOf,
    run: async (job: string, params: unknown, targets: readonly string[]) =>
      reportOf(await start(job, params, targets)),
    restartWorkers: async () => {
      await workers.stop();
      workers = await startAll();
    },
    cancel: async (runId: string) => void (await runService.cancel(runId, 'tester@host')),
    async [Symbol.asyncDispose]() {
      await workers.stop();
      await queue.close();
      await service.close();
      await warehouse.close();
      await rm(folder, { recursive: true, force: true });
    },
  });
}
