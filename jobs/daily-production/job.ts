/**
 * The job that reads daily production into the warehouse. A unit is one well with its window: read to the end, merged
 * by window replacement, with watermark and outcome in the same transaction (docs/design.md section 4.1).
 */
import type { Observation } from '../../src/core/alerts/alert.ts';
import { dueObservations, observeOtherZones, type RunObservations } from '../../src/core/alerts/run-observations.ts';
import { checkZone } from '../../src/core/daily/zones.ts';
import { type DayInterval, mergeDays, windowOfDays } from '../../src/core/daily/coverage.ts';
import { heldRowsOf } from '../../src/core/daily/reading.ts';
import { daysOfMonth } from '../../src/core/daily/shrink-guard.ts';
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import { isForAll } from '../../src/core/run/retry-decision.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { dayAt } from '../../src/core/time/production-day.ts';
import type { ChunkOfWork, EndedRun, Job, JobContext, UnsettledUnit } from '../../src/runs/job.ts';
import {
  judgeRemoved,
  readInBatches,
  ReadNumbers,
  recordUnknown,
  refuseRetryOfRelease,
  settleUnknown,
} from '../exports.ts';
import {
  expectedRows,
  planGaps,
  planWindows,
  pluggedAmong,
  readNamedZones,
  readZones,
  unitsOf,
  type WellWindow,
  windowSpecSchema,
} from './plan.ts';
import { pageRowsOf, type ProfileInUse, ProfilesInUse } from './profile.ts';
import { type GivenBack, readWindow } from './read-window.ts';
import { readersOf, type ReadingRoom, readingRoomOf, type RowReservation } from './row-budget.ts';
import {
  dailyProduction,
  dailyProductionGaps,
  type DailyProductionParams,
  dailyProductionParamsSchema,
  type DailyProductionSettings,
} from './settings.ts';

export const dailyProductionJobName = dailyProduction.name;
export const gapsJobName = dailyProductionGaps.name;

/** Two jobs, for the windows that are due and for the gaps. They share the room for rows with each other, and with whoever is given it. */
export function createDailyProductionJobs(
  settings: DailyProductionSettings,
  room = readingRoomOf(settings),
): readonly Job<DailyProductionParams>[] {
  const numbers = new ReadNumbers();
  const profilesByRun = new ProfilesInUse();
  let chunks = 0;
  const shared = {
    queue: 'export',
    params: dailyProductionParamsSchema,
    varyingParams: ['nowMs', 'source'],
    readsUpToRequest: ({ toMs, releaseOf }) => toMs === undefined && releaseOf === undefined,
    takesTargets: true,
    checkRetry: refuseRetryOfRelease,
    checkStart: async ({ warehouse }) => checkZone(await warehouse.zones.read(), settings.timeZone),
    judge: ({ allowShrink, releaseOf }, counts) =>
      judgeRemoved(counts, allowShrink || releaseOf !== undefined, settings.shrink.maxRowsPerRun),
    observe: (params, ended, context) => observeEnd(params, ended, settings, context),
    release: { kind: 'uwi', params: (releaseOf, nowMs) => ({ nowMs, allowShrink: false, releaseOf }) },
    work: (chunk, context) => {
      const own = { ...context, ...room, settings, numbers, chunkNo: (chunks += 1) };
      return profilesByRun.during(chunk.runId, context, (profiles) => workWindows({ ...own, profiles }, chunk));
    },
  } satisfies Partial<Job<DailyProductionParams>>;
  return [
    {
      ...dailyProduction,
      ...shared,
      async plan(params, context, runId) {
        await keepSettings(settings, context);
        if (params.releaseOf !== undefined) return planRelease(runId, params, settings, context);
        const pageRows = await pageRowsOf(context.service.baseUrl, settings.pageLimit, context);
        return planWindows(params, context.ledger.runs.targets(runId), settings, { ...context, pageRows });
      },
    },
    {
      ...dailyProductionGaps,
      ...shared,
      async plan(params, context, runId) {
        await keepSettings(settings, context);
        if (params.releaseOf !== undefined) return planRelease(runId, params, settings, context);
        return planGaps(params, context.ledger.runs.targets(runId), settings, context);
      },
    },
  ];
}

/** What the rows mean to whoever reads them is kept with them. */
async function keepSettings(
  { timeZone, rateBasis }: DailyProductionSettings,
  { warehouse }: Pick<JobContext, 'warehouse'>,
): Promise<void> {
  await warehouse.zones.keep(timeZone);
  await warehouse.months.keepRateBasis(rateBasis);
}

/** What the end of a run shows of the wells of its source, of all wells, and of earlier months. */
async function observeEnd(
  { source }: DailyProductionParams,
  ended: EndedRun,
  settings: DailyProductionSettings,
  { warehouse, now }: Pick<JobContext, 'warehouse' | 'now'>,
): Promise<RunObservations> {
  const { timeZone, plugged, staleAfterDays: warnAfterDays, restated, remindAfterDays } = settings;
  const today = dayAt(now(), timeZone) ?? 0;
  const { isSilenceDue, ...due } = dueObservations({ ...ended, source }, { today, ...restated });
  const ofWells = { ...due, isOfWells: true } as const;
  if (!isSilenceDue) return ofWells;
  return {
    ...ofWells,
    ...(settings.zoneField === undefined ? {} : { found: [await observeZones(settings, warehouse)] }),
    remindAfterDays,
    silence: { today, warnAfterDays, plugged: [...(await pluggedAmong(plugged, warehouse.wells))] },
  };
}

/** Wells whose record names another zone than the one by which their rows are dated. */
async function observeZones(
  settings: DailyProductionSettings,
  warehouse: JobContext['warehouse'],
): Promise<Observation> {
  const wanted = { timeZone: settings.timeZone, ofWells: await readNamedZones(settings, { warehouse }) };
  return observeOtherZones(await warehouse.zones.others(wanted, { afterId: 0, limit: mostOtherZones }));
}

/** Of more wells than this the first ones are alerts: a configuration is wrong, and not a well. */
const mostOtherZones = 1_000;

interface ReservedWindow {
  readonly batch: WindowBatch;
  readonly reservation: RowReservation;
}

/**
 * Reads the windows of a chunk, then again what the warehouse gave back: windows of which an unverified read lacked stored
 * rows, verified (G4), and parts of windows in which a later read stands. What is read again has a later number. None is
 * read again after an error that each would meet as well.
 */
async function workWindows(
  context: ExportContext,
  chunk: ChunkOfWork<DailyProductionParams>,
): Promise<readonly UnsettledUnit[]> {
  const unread = new Map<number, number>();
  const left: UnsettledUnit[] = [];
  let units = chunk.units;
  let givenBack: ReadonlyMap<number, GivenBack> = new Map();
  while (units.length > 0) {
    const next = new Map<number, GivenBack>();
    const forAll = left.find(({ error }) => isForAll(error));
    if (forAll === undefined) left.push(...(await readUnits(units, chunk, { ...context, unread, givenBack, next })));
    else left.push(...units.map((unit) => ({ unit, error: forAll.error })));
    units = units.filter(({ unit }) => next.has(unit));
    givenBack = next;
  }
  const { settleUnknown: settle } = context.warehouse.dailyProduction;
  return settleUnknown(left, settle, chunk, context, unread);
}

/** Reads units under one number. */
async function readUnits(
  units: readonly PlannedUnit[],
  chunk: ChunkOfWork<DailyProductionParams>,
  context: Omit<WindowsContext, 'readNo'>,
): Promise<readonly UnsettledUnit[]> {
  const { warehouse, numbers } = context;
  return numbers.during({ kind: 'uwi', runId: chunk.runId }, warehouse.readOrder, (readNo) =>
    readWindows(units, chunk, { ...context, readNo }),
  );
}

/** What the chunks of the process share, and the chunk's own number. */
interface ExportContext extends JobContext, ReadingRoom {
  readonly settings: DailyProductionSettings;
  readonly numbers: ReadNumbers;
  /** Of the chunks of the run. */
  readonly profiles: ProfileInUse;
  /** Number of the chunk among those that the process began. */
  readonly chunkNo: number;
}

interface WindowsContext extends ExportContext {
  /** The number of these reads. */
  readonly readNo: number;
  /** What the warehouse gave back before, by unit. */
  readonly givenBack: ReadonlyMap<number, GivenBack>;
  /** What it gives back of these reads. */
  readonly next: Map<number, GivenBack>;
  /** The requests of windows that could not be read, by unit. */
  readonly unread: Map<number, number>;
}

/** Reads wells concurrently, each once there is a slot and room for its rows, and commits in batches. */
async function readWindows(
  units: readonly PlannedUnit[],
  chunk: ChunkOfWork<DailyProductionParams>,
  context: WindowsContext,
): Promise<readonly UnsettledUnit[]> {
  const { settings, budget, slots, chunkNo } = context;
  const reader = { runId: chunk.runId, chunkNo, signal: chunk.signal };
  return readInBatches<ReservedWindow>(units, {
    concurrency: readersOf(settings),
    maxWeight: settings.batchRows,
    weigh: ({ batch }) => heldRowsOf(batch),
    room: budget,
    mostFitting: () => context.warehouse.dailyProduction.rowsThatFit(),
    read: (unit) => slots.during(reader, () => readReserved(unit, chunk, context)),
    async commit(windows) {
      const batches = windows.map(({ batch }) => batch);
      try {
        await commitWindows(batches, chunk, context);
      } finally {
        for (const { reservation } of windows) reservation.release();
      }
      // Not after an error: a COPY that broke off may still read some.
      for (const { rows } of batches) context.blocks.release(rows);
    },
  });
}

/** Reads a window. Its rows stay in the budget until they are committed. */
async function readReserved(
  unit: PlannedUnit,
  chunk: ChunkOfWork<DailyProductionParams>,
  context: WindowsContext,
): Promise<ReservedWindow> {
  const { settings, budget, givenBack, unread } = context;
  const spec = windowSpecSchema.parse(unit.spec);
  const before = givenBack.get(unit.unit);
  let requests = before?.requests ?? 0;
  const reservation = await budget.reserve(Math.min(expectedRows(spec), settings.pageLimit), chunk.signal);
  const begunMs = performance.now();
  try {
    const batch = await readWindow(unit, spec, settings, chunk, {
      ...context,
      reservation,
      givenBack: before,
      onAttempt: () => (requests += 1),
    });
    reservation.hold(heldRowsOf(batch));
    return { batch: { ...batch, readMs: Math.round(performance.now() - begunMs) }, reservation };
  } catch (error) {
    reservation.release();
    unread.set(unit.unit, requests);
    recordUnknown(error, unit, chunk);
    throw error;
  }
}

/** A window without an outcome is given back, or was settled before: reading it again is right for both. */
async function commitWindows(
  windows: readonly WindowBatch[],
  { runId, params, settled }: ChunkOfWork<DailyProductionParams>,
  { settings, warehouse, readNo, next }: WindowsContext,
): Promise<void> {
  const shrink = { ...settings.shrink, allow: params.allowShrink };
  const { checks } = settings;
  const { outcomes, unfinished } = await warehouse.dailyProduction.commit({ runId, windows, shrink, checks, readNo });
  const done = new Set(outcomes.map(({ unit }) => unit));
  for (const { unit, isVerified, counts } of windows) {
    if (!isVerified && !done.has(unit)) next.set(unit, { requests: counts.requests });
  }
  // Its requests are counted in the outcome of what was merged.
  for (const before of unfinished) next.set(before.unit, { requests: 0, before });
  await settled(outcomes);
}

// The units of a run that releases what another run holds: the months of those holds, as backfills.

/**
 * One window for each stretch of months that `runId` may release. A hold that ended since the request has none: its rows are
 * back, or gone.
 */
async function planRelease(
  runId: string,
  { nowMs }: Pick<DailyProductionParams, 'nowMs'>,
  settings: DailyProductionSettings,
  { warehouse, ledger }: JobContext,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of ledger.runs.targets(runId)) {
    const held = await warehouse.dailyProduction.heldMonths(uwis);
    const zones = await readZones(uwis, settings, { warehouse });
    for (const uwi of uwis) {
      const released = (held.get(uwi) ?? []).filter(({ release }) => release?.runId === runId);
      const zone = zones(uwi);
      const { timeZone = settings.timeZone } = zone;
      for (const days of mergeDays(released.map(({ month }) => daysOfMonth(month)))) {
        windows.push({ uwi, spec: { ...windowUntil(days, timeZone, nowMs), mode: 'backfill', ...zone } });
      }
    }
  }
  return unitsOf(windows, settings);
}

/** Never ends after now, nor before its start. */
function windowUntil(days: DayInterval, timeZone: string, nowMs: number) {
  const { fromMs, toMs } = windowOfDays(days, timeZone);
  return { fromMs, toMs: Math.max(fromMs + 1, Math.min(toMs, nowMs)) };
}
