/**
 * What the engine does where Redis and the warehouse tell different things of a run. The moment between two requests to
 * Redis is what matters: so the queue is one in memory, which a test can stop at any of them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { ChunkWorker } from '../../../src/runs/chunk-worker.ts';
import { Coordinator } from '../../../src/runs/coordinator.ts';
import { anyJob, type AnyJob, type ChunkOfWork } from '../../../src/runs/job.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from '../../../src/warehouse/port/warehouse.ts';
import { memoryQueue } from '../../support/memory-queue.ts';
import { memoryProcess, type MemoryProcess, memoryRedis } from '../../support/memory-redis.ts';
import { serviceAt } from '../../support/service-under-test.ts';

const retry = { maxAttempts: 3, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
const log = pino({ level: 'silent' });
const runId = 'run-1';
const chunkItem = { runId, generation: 0, chunk: 0 };
const service = 'http://127.0.0.1:1';
const onlyUnit = { unit: 0, chunk: 0, target: 'well-0', spec: {} };

let folder: string;
let warehouse: WarehouseHandle;
let nowMs: number;
let redis: ReturnType<typeof memoryRedis>;
/** Asked before each request to Redis. */
let onStep: (what: string) => void | Promise<void>;
let work: (chunk: ChunkOfWork<object>) => Promise<void>;
let own: MemoryProcess;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-engine-'));
  nowMs = Date.parse('2026-03-10T12:00:00Z');
  warehouse = createDuckdbWarehouse({ path: path.join(folder, 'w.duckdb'), threads: 1, now: () => nowMs });
  redis = memoryRedis();
  onStep = () => undefined;
  work = async () => undefined;
  own = memoryProcess(redis, { now: () => nowMs, pace: async (what) => onStep(what) });
});
afterEach(async () => {
  own.kill();
  await warehouse.close();
  await rm(folder, { recursive: true, force: true });
});

function jobOf(isExclusive: boolean): AnyJob {
  return anyJob({
    name: 'rehearse',
    units: { one: 'target', many: 'targets', failing: 'failed', held: 'held' },
    record: 'record',
    counts: [],
    queue: 'export',
    isExclusive,
    params: z.object({}),
    plan: async () => [onlyUnit],
    async work(chunk) {
      await work(chunk);
      await warehouse.ledger.runs.settle(runId, [{ unit: 0, state: 'done', counts: {} }]);
      return [];
    },
  });
}

/** A process with a run that is stored and not yet planned. */
async function engine({ isExclusive = false } = {}) {
  const queue = memoryQueue(own);
  const jobs = [jobOf(isExclusive)];
  const client = serviceAt(service).service;
  const { ledger } = warehouse;
  const outages = new OutageJournal(log);
  const parts = { warehouse, ledger, service: client, queue, jobs, now: () => nowMs, log, outages, version: '0.0.0' };
  const coordinator = new Coordinator(parts, { chunksInFlight: 4, stuckAfterMs: 15_000, maxHoldMs: 60_000 });
  const chunkWorker = new ChunkWorker({ ...parts, retry, random: () => 0.5 });
  const { signal } = new AbortController();
  const request = { runId, job: 'rehearse', params: {}, service, actor: 'tester@host', requestedAtMs: nowMs };
  await ledger.runs.create(request);
  return {
    queue,
    look: () => coordinator.coordinate(runId, signal),
    workChunk: () => chunkWorker.work(chunkItem, 0, signal),
  };
}

test('G7: a chunk whose item Redis has lost, and nothing else, is added again', async () => {
  const { queue, look } = await engine();
  await look();
  expect([...redis.items.keys()]).toHaveLength(1);
  redis.loseItems();
  await look();
  expect([...redis.items.keys()]).toEqual([]);
  nowMs += 60_000;
  await look();
  expect(await queue.chunkStatuses(runId)).toMatchObject([{ status: 'waiting' }]);
});

test('G7: progress that is ahead of the ledger is opened anew, and a cancel of that moment is not forgotten', async () => {
  const { queue, look } = await engine();
  await look();
  // As after a power cut, which took the last commit with it.
  await queue.progress.endChunk(runId, 0);
  onStep = async (what) => {
    if (!/^(?:restart|forget) /.test(what)) return;
    onStep = () => undefined;
    await memoryQueue(own).progress.requestStop(runId, { kind: 'cancel', requestedBy: 'tester@host' });
  };
  for (let looks = 0; looks < 5; looks += 1) await look();
  expect(await warehouse.ledger.runs.read(runId)).toMatchObject({
    state: 'cancelled',
    report: { units: { cancelled: 1 } },
  });
});

test('G7: work is told that another worker may have its item by now, before any timer says so', async () => {
  const { look, workChunk } = await engine({ isExclusive: true });
  await look();
  const owned: boolean[] = [];
  work = async ({ isOwned }) => {
    owned.push(isOwned());
    own.suspend();
    nowMs += 60_000;
    own.goOn();
    owned.push(isOwned());
  };
  await workChunk();
  expect(owned).toEqual([true, false]);
});
