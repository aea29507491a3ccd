/**
 * A world for models: processes with everything of wellsync but HTTP, Redis and time. The engine is a real DuckDB file, the
 * queue one in memory, the service whatever a model brings. Each call of a port waits before it takes effect and before its
 * answer is back, and the scheduler of fast-check says who goes on: so a process can be killed between any two awaits.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type fc from 'fast-check';
import { pino } from 'pino';
import { vi } from 'vitest';
import type { BeatTimes, QueueKind, QueueStateStore } from '../../src/core/run/warehouse-queue.ts';
import { isFinished } from '../../src/core/run/run.ts';
import { EmbeddedQueue } from '../../src/queue/embedded/run-queue.ts';
import { startEmbeddedWorkers } from '../../src/queue/embedded/workers.ts';
import type { ChunkItem, RunQueue } from '../../src/queue/port.ts';
import { ChunkWorker } from '../../src/runs/chunk-worker.ts';
import { Coordinator } from '../../src/runs/coordinator.ts';
import type { AnyJob, JobContext } from '../../src/runs/job.ts';
import { OutageJournal } from '../../src/runs/outage-journal.ts';
import { claimQueue } from '../../src/runs/queue-claim.ts';
import { interruptRuns } from '../../src/runs/finish-run.ts';
import { reviveRuns } from '../../src/runs/revival.ts';
import { RunService } from '../../src/runs/run-service.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { type DatabaseFile, shareDatabaseFile } from '../../src/warehouse/duckdb/file/database-file.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { memoryQueue } from '../support/memory-queue.ts';
import { memoryProcess, type MemoryProcess, memoryRedis } from '../support/memory-redis.ts';
import { startMemoryWorkers } from '../support/memory-workers.ts';

/** A short beat: what a model waits for is passed time, not work. */
const times: BeatTimes = { beatEveryMs: 10_000, staleAfterMs: 45_000 };
const retry = { maxAttempts: 3, baseDelayMs: 1_000, maxDelayMs: 4_000, maxHoldMs: 3_600_000 };
/** Methods of the ports that return something else than a promise. */
const synchronous = new Set(['fence', 'records', 'isAt', 'requireStored', 'rowsThatFit', 'targets']);

/** Calls that write what a run does: the fence keeps a process from them whose queue has lost the warehouse. */
const writing = new RegExp(
  String.raw`^warehouse\.(?:dailyProduction\.commit|ledger\.(?:pushes\.(?:begin|save)|deletions\.(?:begin|conclude|closeFailed)|` +
    String.raw`runs\.(?:create|savePlan|settle|settleRest|resume|reopen|finish)))$`,
);

export type Pace = (step: string) => Promise<void>;

/** Makes a call that waits before and after: a process can be killed at either. */
export type During = <Value>(step: string, call: () => Promise<Value>) => Promise<Value>;

/** Whom a guarantee is asked of: the warehouse, or a copy of it. */
export interface Asked {
  rows<Row extends object>(sql: string): Promise<readonly Row[]>;
}

export interface WorldParts {
  readonly scheduler: fc.Scheduler;
  /** The address of the service, and its key. */
  readonly serviceUrl: string;
  /** The client of a new process. */
  readonly service: (pace: Pace, own: MemoryProcess) => ProductionDataService;
  /** The jobs of a new process. */
  readonly jobs: (during: During) => readonly AnyJob[];
  readonly chunkQueues: Parameters<typeof startMemoryWorkers>[0]['settings']['queues'];
  /** Redis if omitted; else each process has a queue of its own, and what the ledger keeps. */
  readonly queue?: QueueKind;
}

export interface WorldProcess {
  readonly own: MemoryProcess;
  readonly runs: RunService;
  readonly context: JobContext;
  readonly revive: () => Promise<unknown>;
  /** False while it claims the warehouse, where another queue has it, and once it is dead. */
  readonly isWorking: () => boolean;
}

export class World implements Asked, AsyncDisposable {
  readonly warehouse: WarehouseHandle;
  /** Two queues, of which one at a time may work the warehouse (G11). */
  readonly queues = [memoryRedis(), memoryRedis()] as const;
  readonly processes: WorldProcess[] = [];
  /** Ids of runs that were requested, in order. */
  readonly requested: string[] = [];
  /** Lines of all logs. */
  readonly log: string[] = [];
  /** What requests ended with that were not carried out. */
  readonly refusals: Error[] = [];
  /** G11: what a process did in the warehouse after another queue had taken it over. */
  readonly trespasses: string[] = [];
  nowMs = Date.parse('2026-03-10T12:00:00Z');
  steps = 0;
  readonly #parts: WorldParts;
  readonly #folder: string;
  readonly #handles: WarehouseHandle[] = [];
  readonly #file: DatabaseFile;
  #busy = 0;
  #copies = 0;
  /** The processes of embedded queues, by their ids. */
  readonly #owners = new Map<string, MemoryProcess>();
  readonly #embeddedQueues: EmbeddedQueue[] = [];
  /** Of the last takeover, and of each process by its fence. */
  #epoch = 0;
  readonly #epochs = new Map<MemoryProcess, number>();

  private constructor(folder: string, parts: WorldParts) {
    this.#folder = folder;
    this.#parts = parts;
    this.warehouse = this.#openWarehouse();
    this.#file = shareDatabaseFile({ path: path.join(folder, 'w.duckdb'), now: this.now });
  }

  static async open(parts: WorldParts): Promise<World> {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-model-'));
    await writeFile(path.join(folder, 'w.duckdb'), await (emptyFile ??= makeEmptyFile()));
    return new World(folder, parts);
  }

  readonly now = (): number => this.nowMs;

  /** Starts a process that works through a queue, once it has claimed the warehouse. */
  start(queue: 0 | 1): WorldProcess {
    const own = memoryProcess(this.queues[queue], { now: this.now, pace: (what) => this.#turn(what) });
    const { now } = this;
    const handle = this.#openWarehouse();
    const warehouse = this.#paced(handle, 'warehouse', own);
    const { ledger, location } = warehouse;
    const log = pino({ level: 'debug' }, { write: (line) => void this.log.push(line) });
    const jobs = this.#parts.jobs((step, call) => this.#during(own, step, call));
    const outages = new OutageJournal(log);
    const kind = this.#parts.queue ?? 'redis';
    const embedded = kind === 'embedded' ? this.#embedded(own, ledger.queueState) : undefined;
    const queueOfProcess: RunQueue = embedded ?? memoryQueue(own);
    const service = this.#parts.service((what) => own.step(what), own);
    const context = { warehouse, ledger, service, queue: queueOfProcess, jobs, now, log, outages, version: '0.0.0' };
    const claim = { ledger, queue: queueOfProcess, location, times, kind, isGone: (id: string) => this.#isGone(id) };
    const runs = new RunService({ ...context, ...claim, serviceKey: () => this.#parts.serviceUrl });
    const coordinator = new Coordinator(context, { chunksInFlight: 2, stuckAfterMs: 15_000, maxHoldMs: 3_600_000 });
    const chunkWorker = new ChunkWorker({ ...context, retry, random: () => 0.5 });
    let isWorking = false;
    const work = async (): Promise<void> => {
      const claimed = await claimQueue({ ...claim, log });
      await embedded?.restore();
      isWorking = true;
      const working = {
        settings: { queues: this.#parts.chunkQueues, chunkConcurrency: () => 2, retry, graceMs: 2_000 },
        handlers: {
          coordinate: (runId: string, signal: AbortSignal) => coordinator.coordinate(runId, signal),
          work: (item: ChunkItem, attempt: number, signal: AbortSignal) => chunkWorker.work(item, attempt, signal),
        },
        log,
        outages,
      };
      const workers =
        embedded === undefined
          ? startMemoryWorkers({ own, ...working })
          : startEmbeddedWorkers({ queue: embedded, now, ...working });
      // As a process that has lost the warehouse ends.
      claimed.signal.addEventListener('abort', () => {
        isWorking = false;
        void workers.stop(0);
      });
    };
    const started = {
      own,
      runs,
      context,
      revive: () => reviveRuns({ ledger, queue: queueOfProcess }),
      isWorking: () => isWorking && !own.isDead,
    };
    this.processes.push(started);
    this.tell(work());
    return started;
  }

  #embedded(own: MemoryProcess, store: QueueStateStore): EmbeddedQueue {
    const queueId = `queue-${this.processes.length + 1}`;
    this.#owners.set(queueId, own);
    const queue = new EmbeddedQueue({ queueId, now: this.now, store });
    this.#embeddedQueues.push(queue);
    return queue;
  }

  /** As the system says it of a socket. */
  async #isGone(queueId: string): Promise<boolean> {
    return this.#owners.get(queueId)?.isDead === true;
  }

  /** Something that a person or a timer began: nobody waits for it, and it may be refused. */
  tell(work: Promise<unknown>): void {
    work.catch((error: unknown) => void this.refusals.push(error as Error));
  }

  /** Requests a run by a process, under an id that a test can tell. */
  request(ask: (runId: string) => Promise<unknown>): string {
    const runId = `run-${this.requested.length + 1}`;
    this.requested.push(runId);
    this.tell(ask(runId));
    return runId;
  }

  /** Lets one of those who wait go on, if any does. Returns whether one did. */
  async step(): Promise<boolean> {
    await this.settled();
    if (this.#parts.scheduler.count() === 0) return false;
    await this.#parts.scheduler.waitOne();
    this.steps += 1;
    await this.settled();
    return true;
  }

  /** What is due by time alone: beats, looks for a cancelled run, items that were put off, locks that run out. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    // A clock that is far ahead at once, as after a night of a suspended host: no beat for each ten seconds of it.
    vi.advanceTimersByTime(Math.min(ms, 2 * times.beatEveryMs));
    for (const queue of this.queues) queue.poke();
    for (const queue of this.#embeddedQueues) queue.changed();
    await this.settled();
  }

  /** Works on until every run has ended. Throws after far more steps than that can take. */
  async finish(): Promise<void> {
    for (let round = 0; round < 400; round += 1) {
      for (let steps = 0; steps < 3_000 && (await this.step()); steps += 1);
      if ((await this.unfinished()).length === 0) return;
      if (!this.processes.some((each) => each.isWorking())) this.start(0);
      await this.pass(round % 10 === 9 ? 60_000 : 5_000);
      for (const each of this.processes) if (each.isWorking()) this.tell(each.revive());
    }
    throw new Error(`no end of ${(await this.unfinished()).join(', ')}`);
  }

  async unfinished(): Promise<readonly string[]> {
    const rows = await this.rows<{ runId: string; state: 'done' }>('SELECT run_id AS "runId", state FROM run');
    return rows.filter(({ state }) => !isFinished(state)).map(({ runId }) => runId);
  }

  /** The rows of a statement, past every process. */
  async rows<Row extends object>(sql: string): Promise<readonly Row[]> {
    this.#busy += 1;
    return this.#file.transact((session) => session.rows<Row>(sql)).finally(() => (this.#busy -= 1));
  }

  /** Copies the warehouse by a process, as a backup does, and asks the copy. */
  async copy<Answer>({ context }: WorldProcess, ask: (copy: Asked) => Promise<Answer>): Promise<Answer> {
    this.#copies += 1;
    const file = path.join(this.#folder, `copy-${this.#copies}.duckdb`);
    await context.warehouse.copyTo(file);
    this.#busy += 1;
    try {
      const jobs = this.#parts.jobs((_, call) => call());
      const { now } = this;
      const made = createDuckdbWarehouse({ path: file, now });
      await interruptRuns({ ledger: made.ledger, location: made.location, jobs, now, version: '0.0.0' });
      await made.ledger.ownership.renew();
      await made.close();
      const copy = shareDatabaseFile({ path: file, now });
      const rows: Asked['rows'] = (sql) => copy.transact((session) => session.rows(sql));
      try {
        return await ask({ rows });
      } finally {
        await copy.release();
      }
    } finally {
      this.#busy -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { own } of this.processes) own.kill();
    vi.useRealTimers();
    await Promise.all([...this.#handles.map((handle) => handle.close()), this.#file.release()]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #openWarehouse(): WarehouseHandle {
    const { serviceUrl } = this.#parts;
    const service = { key: serviceUrl, address: serviceUrl };
    const file = path.join(this.#folder, 'w.duckdb');
    const handle = createDuckdbWarehouse({ path: file, now: this.now, service });
    this.#handles.push(handle);
    return handle;
  }

  /** Waits until the scheduler has picked this step. */
  async #turn(what: string): Promise<void> {
    await this.#parts.scheduler.schedule(Promise.resolve(), what);
  }

  /** Until everything that is not a step has happened, as the work of the engine's threads. */
  async settled(): Promise<void> {
    do for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    while (this.#busy > 0);
  }

  async #during<Value>(own: MemoryProcess, step: string, call: () => Promise<Value>): Promise<Value> {
    await own.step(step);
    this.#busy += 1;
    const isOver = (this.#epochs.get(own) ?? Infinity) < this.#epoch && writing.test(step);
    const [settled] = await Promise.allSettled([call()]).finally(() => (this.#busy -= 1));
    if (isOver && settled.status === 'fulfilled') this.trespasses.push(`G11: ${step} after a takeover`);
    if (step.endsWith('.takeOver') && settled.status === 'fulfilled')
      this.#epoch = Number(settled.value ?? this.#epoch);
    await own.step(`${step}: back`);
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }

  /** The port, each call of which waits for its turn, and again before its result is back. */
  #paced<Port extends object>(port: Port, name: string, own: MemoryProcess): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        const step = `${name}.${String(key)}`;
        if (typeof value === 'object' && value !== null) return this.#paced(value, step, own);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const call = (): unknown => Reflect.apply(value, target, args);
          if (!synchronous.has(String(key))) return this.#during(own, step, async () => call());
          if (key === 'fence') this.#epochs.set(own, Number(args[0]));
          const result = call();
          return key === 'records' ? this.#paced(result as object, step, own) : result;
        };
      },
    });
  }
}

/** What the first use of a warehouse writes: made once in a process. */
let emptyFile: Promise<Buffer> | undefined;

async function makeEmptyFile(): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-model-'));
  const file = path.join(folder, 'w.duckdb');
  const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
  await warehouse.check();
  await warehouse.close();
  const content = await readFile(file);
  await rm(folder, { recursive: true });
  return content;
}
