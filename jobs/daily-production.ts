/**
 * The job that pulls daily production into the warehouse: wells x a window each, read to the end, merged by window
 * replacement, watermark and outcome in the same transaction (DESIGN.md section 4.1).
 */
import { z } from 'zod';
import { balanceExport } from '../src/core/balance.ts';
import { assignChunks } from '../src/core/chunking.ts';
import { AbortedError, AccessError, RateLimitedError, TransientError } from '../src/core/errors.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { DAY_MS, daysIn, incrementalWindow, type ReadMode, type Window } from '../src/core/window.ts';
import type { ChunkOfWork, Job, JobParts, Leftover } from '../src/runs/job.ts';
import { RowBudget, type RowReservation } from '../src/runs/row-budget.ts';
import type { WindowBatch } from '../src/warehouse/warehouse.ts';

export const dailyProductionJobName = 'export daily-production';

export interface DailyProductionSettings {
  readonly timeZone: string;
  readonly historyFromMs: number;
  readonly lookbackDays: number;
  readonly shrink: { readonly maxShare: number; readonly maxRows: number };
  readonly chunkWells: number;
  readonly chunkRows: number;
  readonly batchRows: number;
  /** Rows that this process holds between service and warehouse, over all its chunks. */
  readonly rowsInMemory: number;
  readonly pageLimit: number;
  /** Wells of a chunk that are read at one time. */
  readonly wellConcurrency: number;
}

/** Instants in milliseconds. A run with `fromMs` or `toMs` is a backfill; without, every well goes on at its watermark. */
const paramsSchema = z.strictObject({
  uwis: z.array(z.string().min(1)).min(1),
  nowMs: z.number().int(),
  fromMs: z.number().int().optional(),
  toMs: z.number().int().optional(),
  allowShrink: z.boolean(),
});
export type DailyProductionParams = z.output<typeof paramsSchema>;

const unitSchema = z.object({ fromMs: z.number(), toMs: z.number(), mode: z.enum(['incremental', 'backfill']) });

/** A window from the start of history says little about the rows in it: it counts as ten years of days. */
const longestExpectedDays = 3_650;

function expectedRows(window: Window): number {
  return Math.min(daysIn(window), longestExpectedDays);
}

export function createDailyProductionJob(settings: DailyProductionSettings): Job<DailyProductionParams> {
  const budget = new RowBudget(settings.rowsInMemory);
  return {
    name: dailyProductionJobName,
    queue: 'export',
    params: paramsSchema,
    exceptions: ['quarantined'],
    balance: balanceExport,
    plan: (params, parts) => planUnits(params, settings, parts),
    work: (chunk, parts) => new ChunkExport(settings, budget, chunk, parts).run(),
  };
}

async function planUnits(
  params: DailyProductionParams,
  settings: DailyProductionSettings,
  { warehouse }: JobParts,
): Promise<readonly PlannedUnit[]> {
  const uwis = [...new Set(params.uwis)];
  const mode: ReadMode = params.fromMs === undefined && params.toMs === undefined ? 'incremental' : 'backfill';
  const watermarks =
    mode === 'incremental' ? await warehouse.dailyProduction.watermarks(uwis) : new Map<string, number>();
  const windows = uwis.map((uwi): Window => {
    if (mode === 'backfill')
      return { fromMs: params.fromMs ?? settings.historyFromMs, toMs: params.toMs ?? params.nowMs };
    return incrementalWindow({
      watermarkMs: watermarks.get(uwi),
      lookbackMs: settings.lookbackDays * DAY_MS,
      historyFromMs: settings.historyFromMs,
      nowMs: params.nowMs,
    });
  });
  const chunks = assignChunks(windows.map(expectedRows), {
    maxUnits: settings.chunkWells,
    maxRows: settings.chunkRows,
  });
  return uwis.map((target, unit) => ({ unit, chunk: chunks[unit] ?? 0, target, spec: { ...windows[unit], mode } }));
}

interface GatheredWindow {
  readonly unit: PlannedUnit;
  readonly batch: WindowBatch;
  readonly reservation: RowReservation;
}

/** The work on one chunk: wells are read side by side, and committed whenever enough rows have come together. */
class ChunkExport {
  readonly #settings: DailyProductionSettings;
  readonly #budget: RowBudget;
  readonly #chunk: ChunkOfWork<DailyProductionParams>;
  readonly #parts: JobParts;
  readonly #left: Leftover[] = [];
  #gathered: GatheredWindow[] = [];
  #gatheredRows = 0;
  #committing: Promise<void> = Promise.resolve();
  /** An error that every further well would meet as well: none is begun any more. */
  #forAll: unknown;

  constructor(
    settings: DailyProductionSettings,
    budget: RowBudget,
    chunk: ChunkOfWork<DailyProductionParams>,
    parts: JobParts,
  ) {
    this.#settings = settings;
    this.#budget = budget;
    this.#chunk = chunk;
    this.#parts = parts;
  }

  async run(): Promise<readonly Leftover[]> {
    const units = this.#chunk.units.values();
    const readers = Array.from({ length: this.#settings.wellConcurrency }, async () => {
      for (const unit of units) await this.#read(unit);
    });
    await Promise.all(readers);
    await this.#commitGathered();
    return this.#left;
  }

  async #read(unit: PlannedUnit): Promise<void> {
    if (this.#forAll !== undefined) {
      this.#left.push({ unit, error: this.#forAll });
      return;
    }
    const { mode, ...window } = unitSchema.parse(unit.spec);
    let reservation: RowReservation | undefined;
    try {
      reservation = await this.#reserve(expectedRows(window));
      const batch = await this.#readWindow(unit, window, mode);
      reservation.hold(batch.rows.length);
      await this.#gather({ unit, batch, reservation });
    } catch (error) {
      reservation?.release();
      if (isForAll(error)) this.#forAll = error;
      this.#left.push({ unit, error });
    }
  }

  /** Rows that wait for their batch must not keep the next reader waiting for ever. */
  async #reserve(rows: number): Promise<RowReservation> {
    const reserved = this.#budget.reserve(rows, this.#chunk.signal);
    const [reservation] = await Promise.all([reserved, this.#budget.isWaitedFor ? this.#commitGathered() : undefined]);
    return reservation;
  }

  async #readWindow(unit: PlannedUnit, window: Window, mode: ReadMode): Promise<WindowBatch> {
    const { timeZone, pageLimit } = this.#settings;
    const request = { uwi: unit.target, window, timeZone, pageLimit };
    const reading = await this.#parts.service.readDailyProduction(request, { signal: this.#chunk.signal });
    return { unit: unit.unit, uwi: unit.target, window, mode, ...reading };
  }

  /** Holds the reader back while a full batch is committed: rows in memory stay bounded (G8). */
  async #gather(window: GatheredWindow): Promise<void> {
    this.#gathered.push(window);
    this.#gatheredRows += window.batch.rows.length;
    if (this.#gatheredRows >= this.#settings.batchRows || this.#budget.isWaitedFor) await this.#commitGathered();
  }

  #commitGathered(): Promise<void> {
    const entries = this.#gathered;
    this.#gathered = [];
    this.#gatheredRows = 0;
    this.#committing = this.#committing.then(() => this.#commit(entries));
    return this.#committing;
  }

  async #commit(entries: readonly GatheredWindow[]): Promise<void> {
    if (entries.length === 0) return;
    const { shrink } = this.#settings;
    try {
      const outcomes = await this.#parts.warehouse.dailyProduction.commit({
        runId: this.#chunk.runId,
        windows: entries.map((entry) => entry.batch),
        shrink: { ...shrink, allow: this.#chunk.params.allowShrink },
        committedAtMs: this.#parts.now(),
      });
      await this.#chunk.settled(outcomes);
    } catch (error) {
      this.#left.push(...entries.map(({ unit }) => ({ unit, error })));
    } finally {
      for (const { reservation } of entries) reservation.release();
    }
  }
}

function isForAll(error: unknown): boolean {
  if (error instanceof AccessError || error instanceof AbortedError || error instanceof RateLimitedError) return true;
  return error instanceof TransientError && error.serviceDown;
}
