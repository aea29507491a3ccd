/**
 * The job that compares daily production at the service with the warehouse. A unit is one well with its window: read to its
 * verified end, and compared with the stored rows as the merge of an export would. It writes its run, and nothing else.
 */
import { TransientError } from '../../src/core/base/errors.ts';
import { checkZone } from '../../src/core/daily/zones.ts';
import { heldRowsOf } from '../../src/core/daily/reading.ts';
import { mostRereads } from '../../src/core/daily/read-order.ts';
import { isForAll } from '../../src/core/run/retry-decision.ts';
import { grouped } from '../../src/core/base/lists.ts';
import { counted, figure } from '../../src/core/base/text.ts';
import type { PlannedUnit, UnitOutcome } from '../../src/core/run/run.ts';
import { dayAt } from '../../src/core/time/production-day.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import {
  type ComparedWindow,
  type ReadSoFar,
  reportedDifferences,
  WindowComparison,
} from '../../src/core/verify/comparison.ts';
import type { ChunkOfWork, Job, JobContext, Judgement, UnsettledUnit } from '../../src/runs/job.ts';
import type { StoredWindows } from '../../src/warehouse/port/daily-production.ts';
import { readInBatches } from '../exports.ts';
import { expectedRows, type WindowSpec, windowSpecSchema } from '../daily-production/plan.ts';
import { keptProfile } from '../daily-production/profile.ts';
import { readersOf, type ReadingRoom, readingRoomOf, type RowReservation } from '../daily-production/row-budget.ts';
import type { DailyProductionSettings } from '../daily-production/settings.ts';
import {
  planVerification,
  type ProfileOfChunk,
  readToVerify,
  type ReadToVerify,
  verification,
  type VerificationParams,
  verificationParamsSchema,
} from './windows.ts';

export const verificationJobName = verification.name;

/** `room`: what the exports of the process read in. */
export function createVerificationJob(
  settings: DailyProductionSettings,
  room: ReadingRoom = readingRoomOf(settings),
): Job<VerificationParams> {
  let chunks = 0;
  return {
    ...verification,
    queue: 'export',
    params: verificationParamsSchema,
    varyingParams: ['nowMs'],
    readsUpToRequest: ({ toMs }) => toMs === undefined,
    takesTargets: true,
    checkStart: async ({ warehouse }) => checkZone(await warehouse.zones.read(), settings.timeZone),
    plan: (params, context, runId) => planVerification(params, context.ledger.runs.targets(runId), settings, context),
    work: async (chunk, context) => {
      const chunkNo = (chunks += 1);
      const profiles = { profile: await keptProfile(context.service.baseUrl, context) };
      return verifyChunk(chunk, { ...context, ...room, settings, profiles, chunkNo });
    },
    judge: ({ sample }, counts, found): Judgement => ({
      counts: {},
      notices: [...(sample === undefined ? [] : [sampleNotice(sample)]), ...nothingNotice(counts)],
      differences: reportedDifferences(found),
    }),
    observe: async () => ({ isAnswer: true }),
  };
}

function sampleNotice({ wells, of, seed }: NonNullable<VerificationParams['sample']>): string {
  return `a sample: ${counted(wells, 'well')} of ${figure(of)}, chosen by the seed ${seed}`;
}

/** That all is the same says nothing of wells without a record. */
function nothingNotice({ read = 0, stored = 0 }: Readonly<Record<string, number>>): readonly string[] {
  if (read > 0 || stored > 0) return [];
  return ['nothing was compared: no record of these days was read, and none is stored'];
}

interface VerificationContext extends JobContext, ReadingRoom {
  readonly settings: DailyProductionSettings;
  readonly profiles: ProfileOfChunk;
  readonly chunkNo: number;
}

/** Of the wells of a chunk, when their reads began. */
interface KnownBefore {
  /** By unit. */
  readonly stamps: ReadonlyMap<number, string>;
  readonly readSoFar: (uwi: string, timeZone: string) => ReadSoFar;
}

/**
 * Compares the wells of a chunk, and again those of which a commit changed something while they were read: what was read may
 * be older than what is stored.
 */
async function verifyChunk(
  chunk: ChunkOfWork<VerificationParams>,
  context: VerificationContext,
): Promise<readonly UnsettledUnit[]> {
  const left: UnsettledUnit[] = [];
  let units = chunk.units;
  for (let rereads = 0; units.length > 0; rereads += 1) {
    const forAll = left.find(({ error }) => isForAll(error))?.error;
    const isOver = rereads > mostRereads;
    if (forAll !== undefined || isOver) {
      left.push(...units.map((unit) => ({ unit, error: forAll ?? changedMeanwhile(unit) })));
      break;
    }
    const again: PlannedUnit[] = [];
    left.push(...(await verifyUnits(units, chunk, context, again)));
    units = again;
  }
  return left;
}

function changedMeanwhile({ target }: PlannedUnit): TransientError {
  return new TransientError(
    'changed-meanwhile',
    `other runs changed rows of ${target} each time that it was read: it could not be compared`,
    { hint: 'It is tried again. Where it stays so, verify it when no export is under way.' },
  );
}

interface ReservedRead extends ReadToVerify {
  readonly reservation: RowReservation;
}

/** Rows of one comparison: commits of the process wait meanwhile, for about 40 microseconds a row. */
const mostRowsCompared = 10_000;

/** `again`: is given the units of which a commit changed something. */
async function verifyUnits(
  units: readonly PlannedUnit[],
  chunk: ChunkOfWork<VerificationParams>,
  context: VerificationContext,
  again: PlannedUnit[],
): Promise<readonly UnsettledUnit[]> {
  const { settings, budget, blocks, slots, chunkNo } = context;
  const before = await knownBefore(units, context);
  const reader = { runId: chunk.runId, chunkNo, signal: chunk.signal };
  return readInBatches<ReservedRead>(units, {
    concurrency: readersOf(settings),
    maxWeight: Math.min(settings.batchRows, mostRowsCompared),
    weigh: (read) => heldRowsOf(read),
    room: budget,
    read: (unit) => slots.during(reader, () => readReserved(unit, chunk, context)),
    async commit(reads) {
      try {
        again.push(...(await compareReads(reads, before, chunk, context)));
      } finally {
        for (const { reservation, rows } of reads) {
          reservation.release();
          blocks.release(rows);
        }
      }
    },
  });
}

function specOf({ spec }: PlannedUnit): WindowSpec {
  return windowSpecSchema.parse(spec);
}

async function knownBefore(
  units: readonly PlannedUnit[],
  { warehouse: { dailyProduction, coverage } }: VerificationContext,
): Promise<KnownBefore> {
  const stamps = await dailyProduction.stamps(units.map((unit) => ({ uwi: unit.target, window: specOf(unit) })));
  const uwis = units.map(({ target }) => target);
  const watermarks = await dailyProduction.watermarks(uwis);
  const knownDays = await coverage.knownDays(uwis.filter((uwi) => !watermarks.has(uwi)));
  return {
    stamps: new Map(units.map(({ unit }, index) => [unit, stamps[index] ?? ''])),
    readSoFar: (uwi, timeZone) => {
      const watermarkMs = watermarks.get(uwi)?.watermarkMs;
      const watermarkDay = watermarkMs === undefined ? undefined : dayAt(watermarkMs, timeZone);
      return { watermarkDay, knownDays: knownDays.get(uwi) ?? [] };
    },
  };
}

async function readReserved(
  unit: PlannedUnit,
  chunk: ChunkOfWork<VerificationParams>,
  context: VerificationContext,
): Promise<ReservedRead> {
  const { settings, budget } = context;
  const spec = specOf(unit);
  const reservation = await budget.reserve(Math.min(expectedRows(spec), settings.pageLimit), chunk.signal);
  try {
    const read = await readToVerify(unit, spec, chunk, { ...context, reservation });
    reservation.hold(heldRowsOf(read));
    return { ...read, reservation };
  } catch (error) {
    reservation.release();
    throw error;
  }
}

/** Settles what nothing came in between of. Returns the other units. */
async function compareReads(
  reads: readonly ReadToVerify[],
  before: KnownBefore,
  { runId, settled }: ChunkOfWork<VerificationParams>,
  { warehouse, ledger, settings }: VerificationContext,
): Promise<readonly PlannedUnit[]> {
  const { compared, stamps } = await warehouse.dailyProduction.compareStored(reads, async (stored) => ({
    compared: await compareAll(reads, stored, before, settings.timeZone),
    // The last statement: a commit before it is seen.
    stamps: await stored.stamps(),
  }));
  const isChanged = ({ unit }: ReadToVerify, index: number): boolean => stamps[index] !== before.stamps.get(unit.unit);
  const outcomes = reads.flatMap((read, index) => {
    const each = compared[index];
    return each === undefined || isChanged(read, index) ? [] : [outcomeOf(read, each, before)];
  });
  await ledger.runs.settle(runId, outcomes);
  await settled(outcomes);
  return reads.filter(isChanged).map(({ unit }) => unit);
}

/** The comparison of each read, in their order. */
async function compareAll(
  reads: readonly ReadToVerify[],
  stored: StoredWindows,
  before: KnownBefore,
  timeZone: string,
): Promise<readonly ComparedWindow[]> {
  const broken = reads.flatMap(({ uwi, quarantined }, windowNo) =>
    quarantined.map((record) => ({ ...record, uwi, windowNo })),
  );
  const standing = await stored.standing(broken);
  const held = await stored.heldMonths();
  const judged = grouped(
    broken.map((record, index) => ({ ...record, standing: standing[index] })),
    ({ windowNo }) => String(windowNo),
  );
  const dayOf = (instantMs: number): number => dayAt(instantMs, timeZone) ?? Math.floor(instantMs / DAY_MS);
  const comparisons = reads.map((read, windowNo) => {
    return new WindowComparison({ ...read, broken: judged.get(String(windowNo)) ?? [] }, dayOf, stored.forms);
  });
  for await (const row of stored.rows()) comparisons[row.windowNo]?.addStored(row);
  const wanted = comparisons.flatMap(({ unmatchedXids }, windowNo) => unmatchedXids.map((xid) => ({ windowNo, xid })));
  for (const row of await stored.rowsByXid(wanted)) comparisons[row.windowNo]?.addMoved(row);
  return comparisons.map((comparison, index) => {
    const { uwi, timeZone: zone } = reads[index] as ReadToVerify;
    return comparison.result(before.readSoFar(uwi, zone), held.get(uwi) ?? noMonths);
  });
}

const noMonths: ReadonlySet<number> = new Set();

function outcomeOf(read: ReadToVerify, { counts, finding }: ComparedWindow, before: KnownBefore): UnitOutcome {
  const { unit, requests, isUnknown } = read;
  const notices = [...read.notices, ...noticesOf(read, counts, before)];
  return {
    unit: unit.unit,
    state: isUnknown ? 'unknown' : 'done',
    counts: { ...counts, requests },
    ...(finding === undefined ? {} : { finding }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

function noticesOf(
  { isUnknown, uwi, timeZone }: ReadToVerify,
  { missingThere, stored, read }: ComparedWindow['counts'],
  { readSoFar }: KnownBefore,
): readonly string[] {
  if (isUnknown && missingThere > 0)
    return [
      'the service does not know {targets} (404): all of their rows are missing there, and no export removes them',
    ];
  if (isUnknown) return ['the service does not know {targets} (404), and the warehouse has no row of them to compare'];
  const { watermarkDay, knownDays } = readSoFar(uwi, timeZone);
  const isNeverRead = watermarkDay === undefined && knownDays.length === 0 && stored === 0 && read > 0;
  return isNeverRead ? ['no export has ever read {targets}: nothing of them can be compared'] : [];
}
