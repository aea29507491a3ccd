/** Owns a whole installation within a test's process: real Redis, real service client, real DuckDB file; the clock is the test's. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { isFinished, type RunReport } from '../../src/core/run.ts';
import { createRunQueue } from '../../src/queue/run-queue.ts';
import { startWorkers } from '../../src/queue/workers.ts';
import { createChunkWorker } from '../../src/runs/chunk-worker.ts';
import { createConductor } from '../../src/runs/conductor.ts';
import type { AnyJob } from '../../src/runs/job.ts';
import { createRunDesk } from '../../src/runs/run-desk.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { sharedRedisUrl } from './redis.ts';
import { serviceAt } from './service-under-test.ts';

const retry = { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
const log = pino({ level: 'silent' });

export interface EngineHere extends AsyncDisposable {
  readonly warehouse: Warehouse;
  /** Runs a job to its report. */
  run(job: string, params: unknown): Promise<RunReport>;
  /** The clock that commits are stamped with, milliseconds since 1970. */
  nowMs: number;
}

export async function engineHere(serviceUrl: string, jobs: readonly AnyJob[]): Promise<EngineHere> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-here-'));
  const prefix = `here-${randomUUID()}`;
  const url = sharedRedisUrl();
  const warehouse = createDuckdbWarehouse({ path: path.join(folder, 'w.duckdb'), now: Date.now });
  const queue = await createRunQueue({ url, prefix, kind: 'lasting' });
  const { service } = serviceAt(serviceUrl, { maxBodyBytes: 64_000_000 });
  const engine = { nowMs: Date.now() };
  const parts = { warehouse, service, queue, jobs, now: () => engine.nowMs, log };
  const desk = createRunDesk(parts);
  const workers = await startWorkers({
    url,
    prefix,
    settings: { queues: ['export'], chunkConcurrency: 2, retry, graceMs: 2_000 },
    handlers: {
      // Stuck is reckoned by the engine's clock, which stands still here.
      conduct: createConductor({ ...parts, now: Date.now }, { chunksInFlight: 8, stuckAfterMs: 5_000 }),
      work: createChunkWorker({ ...parts, retry, random: Math.random }),
    },
    log,
  });

  async function reportOf(runId: string): Promise<RunReport> {
    for (;;) {
      const board = await queue.board.read(runId);
      const run = board !== undefined && isFinished(board.state) ? await warehouse.runs.read(runId) : undefined;
      if (run?.report !== undefined) return run.report;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  return Object.assign(engine, {
    warehouse,
    run: async (job: string, params: unknown) => reportOf(await desk.start(job, params)),
    async [Symbol.asyncDispose]() {
      await workers.stop();
      await queue.close();
      await service.close();
      await warehouse.close();
      await rm(folder, { recursive: true, force: true });
    },
  });
}
