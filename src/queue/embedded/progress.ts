/** The progress of runs in the memory of the working process: what src/queue/redis/run-progress.ts keeps in Redis. */
import type { ChunkQueueName } from '../../core/run/job-description.ts';
import type { QueueStateEntry } from '../../core/run/warehouse-queue.ts';
import { addCounts, type Counts, type RunState } from '../../core/run/run.ts';
import type {
  ItemStartStore,
  RunLogStore,
  RunProgress,
  RunProgressStore,
  StartedWork,
  StopRequest,
  UnitProgress,
  UnitReading,
} from '../port.ts';
import type { KeptState } from './kept-state.ts';

/** Finished runs whose progress is kept, for commands that still follow them. */
const mostFinished = 50;

interface Opened {
  readonly queue: ChunkQueueName;
  readonly generation: number;
  readonly units: number;
  readonly settledUnits: number;
  /** In the order of work. */
  readonly chunks: readonly number[];
  readonly isChunk: ReadonlySet<number>;
  /** A bit for each unit: a run may have a hundred thousand. */
  readonly settled: Uint8Array;
}

interface OfRun {
  state: RunState;
  opened: Opened | undefined;
  stopRequest: StopRequest | undefined;
  counts: Counts;
  settledSince: number;
  chunksAdded: number;
  readonly ended: Set<number>;
  readonly underWay: Map<number, UnitProgress>;
  readonly reading: Map<number, UnitReading>;
  movedAtMs: number;
}

export class EmbeddedProgress implements RunProgressStore {
  readonly #now: () => number;
  readonly #kept: KeptState;
  readonly #starts: EmbeddedStarts;
  readonly #runs = new Map<string, OfRun>();
  readonly #finished = new Set<string>();

  constructor(now: () => number, kept: KeptState, starts: EmbeddedStarts) {
    this.#now = now;
    this.#kept = kept;
    this.#starts = starts;
  }

  /** Stop requests of processes that ended before they were carried out. */
  restore(entries: readonly QueueStateEntry[]): void {
    for (const { kind, key, value } of entries) if (kind === 'stop') this.#of(key).stopRequest ??= value as StopRequest;
  }

  async read(runId: string): Promise<RunProgress | undefined> {
    return this.readNow(runId);
  }

  readNow(runId: string): RunProgress | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    const { opened, underWay, reading, ended, state, chunksAdded, stopRequest } = run;
    return {
      state,
      generation: opened?.generation ?? 0,
      queue: opened?.queue ?? 'export',
      units: opened?.units ?? 0,
      settledUnits: (opened?.settledUnits ?? 0) + run.settledSince,
      counts: [...underWay.values()].reduce((sum, { counts }) => addCounts(sum, counts), run.counts),
      underWay: [...underWay.values()],
      reading: [...reading.values()],
      chunks: opened?.chunks.length ?? 0,
      chunksAdded,
      chunksEnded: ended.size,
      stopRequest,
      unmovedMs: Math.max(0, this.#now() - run.movedAtMs),
    };
  }

  /**
   * The starts of work stay: a process that took the work over opens what another one died of (G7).
   */
  async open(runId: string, start: Parameters<RunProgressStore['open']>[1]): Promise<void> {
    const { queue, generation, units, settledUnits, counts, chunks } = start;
    const isChunk = new Set(chunks);
    const settled = new Uint8Array((units >> 3) + 1);
    const opened = { queue, generation, units, settledUnits, chunks: [...chunks], isChunk, settled };
    const { stopRequest } = this.#runs.get(runId) ?? {};
    this.#finished.delete(runId);
    this.#runs.set(runId, { ...this.#fresh(), state: 'running', opened, counts: { ...counts }, stopRequest });
  }

  async settle(runId: string, outcomes: Parameters<RunProgressStore['settle']>[1]): Promise<void> {
    const run = this.#runs.get(runId);
    if (run?.opened === undefined || outcomes.length === 0) return;
    for (const { unit, counts } of outcomes) {
      if (!mark(run.opened.settled, unit)) continue;
      run.settledSince += 1;
      run.underWay.delete(unit);
      run.reading.delete(unit);
      run.counts = addCounts(run.counts, counts);
    }
    run.movedAtMs = this.#now();
  }

  async advance(runId: string, progress: UnitProgress): Promise<void> {
    const run = this.#open(runId, progress.unit);
    if (run === undefined || (run.underWay.get(progress.unit)?.done ?? 0) > progress.done) return;
    run.underWay.set(progress.unit, progress);
    run.movedAtMs = this.#now();
  }

  async recordReadings(runId: string, readings: readonly UnitReading[]): Promise<void> {
    for (const reading of readings) {
      const run = this.#open(runId, reading.unit);
      if (run === undefined || (run.reading.get(reading.unit)?.rows ?? 0) > reading.rows) continue;
      run.reading.set(reading.unit, reading);
    }
  }

  async endChunk(runId: string, chunk: number): Promise<boolean> {
    const run = this.#runs.get(runId);
    if (run?.opened?.isChunk.has(chunk) !== true) return false;
    run.ended.add(chunk);
    run.movedAtMs = this.#now();
    return run.ended.size === run.opened.chunks.length;
  }

  async requestStop(runId: string, stopRequest: StopRequest): Promise<void> {
    const run = this.#of(runId);
    if (run.stopRequest !== undefined) return;
    run.stopRequest = stopRequest;
    await this.#kept.keep('stop', runId, stopRequest);
  }

  async finish(runId: string, state: RunState): Promise<void> {
    const run = this.#of(runId);
    run.state = state;
    run.movedAtMs = this.#now();
    // A retry of the run must not meet it.
    if (run.stopRequest !== undefined) this.#kept.recordNow('stop', runId);
    this.#starts.forget(runId);
    this.#finished.delete(runId);
    this.#finished.add(runId);
    const [oldest] = this.#finished;
    if (this.#finished.size <= mostFinished || oldest === undefined) return;
    this.#finished.delete(oldest);
    this.#runs.delete(oldest);
  }

  async forget(runId: string): Promise<void> {
    if (this.#runs.get(runId)?.stopRequest !== undefined) this.#kept.recordNow('stop', runId);
    this.#finished.delete(runId);
    this.#runs.delete(runId);
    this.#starts.forget(runId);
  }

  async restart(runId: string): Promise<void> {
    const { stopRequest } = this.#runs.get(runId) ?? {};
    this.#finished.delete(runId);
    if (stopRequest === undefined) this.#runs.delete(runId);
    else this.#runs.set(runId, { ...this.#fresh(), stopRequest });
  }

  /** The next chunks that were not added, at most `limit`, with the position of the first; they count as added. */
  takeNext(runId: string, limit: number): { readonly first: number; readonly chunks: readonly number[] } {
    const run = this.#runs.get(runId);
    const first = run?.chunksAdded ?? 0;
    const chunks = run?.opened?.chunks.slice(first, first + limit) ?? [];
    if (run !== undefined) run.chunksAdded += chunks.length;
    return { first, chunks };
  }

  /** The chunks that were added and have not ended. */
  inFlight(runId: string): readonly number[] {
    const { opened, chunksAdded, ended } = this.#runs.get(runId) ?? {};
    return opened?.chunks.slice(0, chunksAdded).filter((chunk) => ended?.has(chunk) !== true) ?? [];
  }

  /** Undefined for a run without progress, and for a unit that is settled. */
  #open(runId: string, unit: number): OfRun | undefined {
    const run = this.#runs.get(runId);
    return run?.opened === undefined || isMarked(run.opened.settled, unit) ? undefined : run;
  }

  #of(runId: string): OfRun {
    const run = this.#runs.get(runId) ?? this.#fresh();
    this.#runs.set(runId, run);
    return run;
  }

  #fresh(): OfRun {
    return {
      state: 'queued',
      opened: undefined,
      stopRequest: undefined,
      counts: {},
      settledSince: 0,
      chunksAdded: 0,
      ended: new Set(),
      underWay: new Map(),
      reading: new Map(),
      movedAtMs: this.#now(),
    };
  }
}

function isMarked(bits: Uint8Array, index: number): boolean {
  return ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

/** Returns false if it was marked before. */
function mark(bits: Uint8Array, index: number): boolean {
  if (isMarked(bits, index)) return false;
  bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  return true;
}

/** Starts of work that did not end, by run; in the ledger before the work begins, so that a death is counted (G7). */
export class EmbeddedStarts implements ItemStartStore {
  readonly #kept: KeptState;
  readonly #counts = new Map<string, Map<string, number>>();

  constructor(kept: KeptState) {
    this.#kept = kept;
  }

  restore(entries: readonly QueueStateEntry[]): void {
    this.#counts.clear();
    for (const { kind, key, value } of entries) {
      const [runId = '', work = ''] = key.split(' ');
      if (kind === 'start') this.#of(runId).set(work, Number(value));
    }
  }

  async begin(runId: string, work: StartedWork): Promise<number> {
    const counts = this.#of(runId);
    const name = nameOf(work);
    const before = counts.get(name) ?? 0;
    const key = `${runId} ${name}`;
    try {
      await this.#kept.keep('start', key, before + 1);
    } catch (error) {
      // The work is not begun: it is no start, and must not be written as one later.
      this.#kept.record('start', key, before === 0 ? undefined : before);
      throw error;
    }
    counts.set(name, before + 1);
    return before;
  }

  async end(runId: string, work: StartedWork): Promise<void> {
    if (this.#counts.get(runId)?.delete(nameOf(work)) !== true) return;
    // What is killed after it has advanced did not die of its work.
    this.#kept.recordNow('start', `${runId} ${nameOf(work)}`);
  }

  async ofUnits(runId: string): Promise<ReadonlyMap<number, number>> {
    const units = [...(this.#counts.get(runId) ?? [])].filter(([name]) => name.startsWith('unit:'));
    return new Map(units.map(([name, starts]) => [Number(name.slice('unit:'.length)), starts]));
  }

  forget(runId: string): void {
    for (const name of this.#counts.get(runId)?.keys() ?? []) this.#kept.record('start', `${runId} ${name}`);
    this.#counts.delete(runId);
  }

  #of(runId: string): Map<string, number> {
    const counts = this.#counts.get(runId) ?? new Map<string, number>();
    this.#counts.set(runId, counts);
    return counts;
  }
}

function nameOf(work: StartedWork): string {
  return 'chunk' in work ? `chunk:${work.chunk}` : `unit:${work.unit}`;
}

/** Lines of a run that are kept, the latest last; and runs whose lines are in memory. */
const mostLines = 200;
const mostLogs = 50;

/** The last lines of the log about each run, for displays: in memory, and soon after in the ledger. */
export function createRunLog(kept: KeptState): RunLogStore {
  const logs = new Map<string, readonly string[]>();
  const read = async (runId: string): Promise<readonly string[]> => {
    const known = logs.get(runId);
    if (known !== undefined) return known;
    const [found] = await kept.read(['log'], runId);
    return (found?.value as readonly string[] | undefined) ?? [];
  };
  return {
    read,
    async append(runId, lines) {
      if (lines.length === 0) return;
      const all = [...(await read(runId)), ...lines].slice(-mostLines);
      logs.delete(runId);
      logs.set(runId, all);
      const [oldest] = logs.keys();
      if (logs.size > mostLogs && oldest !== undefined) logs.delete(oldest);
      kept.record('log', runId, all);
    },
  };
}
