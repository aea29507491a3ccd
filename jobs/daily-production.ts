/**
 * The job that pulls daily production into the warehouse: wells x a window each, read to the end, merged by window
 * replacement, watermark and outcome in the same transaction (DESIGN.md section 4.1).
 */
import { z } from 'zod';
import { balanceExport } from '../src/core/balance.ts';
import { wholeDays } from '../src/core/coverage.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { tierText, type LookbackTier } from '../src/core/lookback.ts';
import { workGathered } from '../src/runs/gathered-work.ts';
import type { ChunkOfWork, Job, JobParts, Leftover } from '../src/runs/job.ts';
import { ProfileInUse } from '../src/runs/profile-in-use.ts';
import { RowBudget, type RowReservation } from '../src/runs/row-budget.ts';
import type { WellFields } from '../src/warehouse/definitions.ts';
import type { WindowBatch } from '../src/warehouse/warehouse.ts';
import { expectedRows, planGaps, planWindows, windowSpecSchema, type WindowSpec } from './daily-production-plan.ts';

export const dailyProductionJobName = 'export daily-production';
/** The same over the days that the warehouse has nothing of. */
export const gapsJobName = 'export daily-production --gaps';

export interface DailyProductionSettings {
  /** Decides the calendar day of a row, where its well names no zone of its own. */
  readonly timeZone: string;
  /** Where a well's body names its time zone; no well has one of its own where it is left out. */
  readonly wellFields?: WellFields | undefined;
  readonly historyFromMs: number;
  readonly lookback: readonly LookbackTier[];
  readonly shrink: { readonly maxShare: number; readonly maxRows: number };
  readonly chunkWells: number;
  readonly chunkRows: number;
  readonly batchRows: number;
  /** Rows that this process holds between service and warehouse, over all its chunks. */
  readonly rowsInMemory: number;
  readonly pageLimit: number;
  readonly pageLimitGranted: boolean;
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

/** Two jobs that differ in what they read: what is due, and what is missing. They share the rows that they may hold. */
export function createDailyProductionJobs(settings: DailyProductionSettings): readonly Job<DailyProductionParams>[] {
  const budget = new RowBudget(settings.rowsInMemory);
  const shared = {
    queue: 'export',
    params: paramsSchema,
    exceptions: ['quarantined'],
    balance: balanceExport,
    work: (chunk, parts) => workWindows(settings, budget, chunk, parts),
  } satisfies Partial<Job<DailyProductionParams>>;
  return [
    { ...shared, name: dailyProductionJobName, plan: (params, parts) => planWindows(params, settings, parts) },
    { ...shared, name: gapsJobName, plan: (params, parts) => planGaps(params, settings, parts) },
  ];
}

interface ReadingParts extends JobParts {
  readonly profiles: ProfileInUse;
  readonly reservation: RowReservation;
}

interface HeldWindow {
  readonly batch: WindowBatch;
  readonly reservation: RowReservation;
}

/** Wells are read side by side, each once there is room for its rows, and committed whenever enough rows have come together. */
async function workWindows(
  settings: DailyProductionSettings,
  budget: RowBudget,
  chunk: ChunkOfWork<DailyProductionParams>,
  parts: JobParts,
): Promise<readonly Leftover[]> {
  const profiles = await ProfileInUse.load(parts);
  return workGathered<HeldWindow>(chunk.units, {
    concurrency: settings.wellConcurrency,
    maxWeight: settings.batchRows,
    weigh: ({ batch }) => batch.rows.length,
    room: budget,
    async read(unit) {
      const spec = windowSpecSchema.parse(unit.spec);
      const reservation = await budget.reserve(Math.min(expectedRows(spec), settings.pageLimit), chunk.signal);
      try {
        const batch = await readWindow(unit, spec, settings, chunk, { ...parts, profiles, reservation });
        reservation.hold(batch.rows.length);
        return { batch, reservation };
      } catch (error) {
        reservation.release();
        throw error;
      }
    },
    async commit(windows) {
      try {
        await commitWindows(
          windows.map(({ batch }) => batch),
          settings,
          chunk,
          parts,
        );
      } finally {
        for (const { reservation } of windows) reservation.release();
      }
    },
  });
}

async function readWindow(
  { unit, target: uwi }: PlannedUnit,
  { fromMs, toMs, mode, lookback, timeZone: zoneOfWell, unknownTimeZone }: WindowSpec,
  settings: DailyProductionSettings,
  { params, signal }: ChunkOfWork<DailyProductionParams>,
  { service, profiles, reservation }: ReadingParts,
): Promise<WindowBatch> {
  const window = { fromMs, toMs };
  const { pageLimit, pageLimitGranted } = settings;
  const { profile } = profiles;
  const timeZone = zoneOfWell ?? settings.timeZone;
  const mayGoOn = (rows: number): Promise<void> => reservation.came(rows);
  const request = { uwi, window, timeZone, pageLimit, pageLimitGranted, profile, mayGoOn };
  const reading = await service.readDailyProduction(request, { signal });
  const learnt = await profiles.learn({ reading, profile, uwi, timeZone }, signal);
  const { rows, quarantined, counts } = reading;
  return {
    unit,
    uwi,
    window,
    mode,
    readDays: wholeDays(window, timeZone, params.nowMs),
    rows,
    quarantined,
    counts,
    notices: [...reading.notices, ...learnt, ...lookbackNotice(lookback), ...zoneNotice(unknownTimeZone, timeZone)],
  };
}

async function commitWindows(
  windows: readonly WindowBatch[],
  settings: DailyProductionSettings,
  { runId, params, settled }: ChunkOfWork<DailyProductionParams>,
  { warehouse, now }: JobParts,
): Promise<void> {
  const shrink = { ...settings.shrink, allow: params.allowShrink };
  await settled(await warehouse.dailyProduction.commit({ runId, windows, shrink, committedAtMs: now() }));
}

/** What every run does need not be said; a deeper look back explains a longer run. */
function lookbackNotice(lookback: LookbackTier | undefined): readonly string[] {
  return lookback?.on === undefined ? [] : [`read again below the watermark: ${tierText(lookback)}`];
}

function zoneNotice(unknown: string | undefined, taken: string): readonly string[] {
  return unknown === undefined ? [] : [`${JSON.stringify(unknown)} is no time zone: ${taken} was taken for {targets}`];
}
