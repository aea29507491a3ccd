/** A verification: its description and parameters, which windows are compared, and how the side of the service of one is read. */
import { NotFoundError, TransientError } from '../../src/core/base/errors.ts';
import { type RowBlocks, type RowColumns, RowColumnsBuilder } from '../../src/core/daily/row-columns.ts';
import type { QuarantinedRecord } from '../../src/core/daily/row.ts';
import type { ServiceProfile } from '../../src/core/paging/service-profile.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { beginOfDayAt } from '../../src/core/time/production-day.ts';
import { DAY_MS, type Window } from '../../src/core/time/window.ts';
import type { VerifiedRead } from '../../src/core/verify/comparison.ts';
import type { ChunkOfWork, JobContext } from '../../src/runs/job.ts';
import {
  expectedRows,
  readZones,
  unitsOf,
  type WellWindow,
  type WindowSpec,
  windowSpecSchema,
} from '../daily-production/plan.ts';
import { isUnprovenEnd, leastMaxRows } from '../daily-production/read-window.ts';
import type { RowReservation } from '../daily-production/row-budget.ts';
import type { DailyProductionSettings } from '../daily-production/settings.ts';
import { z } from 'zod';
import type { CountDescription, JobDescription } from '../../src/core/run/job-description.ts';
import { readingUnits } from '../exports.ts';

export async function planVerification(
  params: VerificationParams,
  wells: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
  settings: DailyProductionSettings,
  context: Pick<JobContext, 'warehouse'>,
): Promise<readonly PlannedUnit[]> {
  const windows: WellWindow[] = [];
  for await (const uwis of wells) {
    const zones = await readZones(uwis, settings, context);
    for (const uwi of uwis) {
      const zone = zones(uwi);
      const bounds = boundsOf(params, settings, zone.timeZone ?? settings.timeZone);
      windows.push({ uwi, spec: { ...bounds, mode: 'backfill', end: 'proof', ...zone } });
    }
  }
  return unitsOf(windows, settings);
}

/** As requested, else from the begin of the day that lies the usual number of days back in the zone of the well. */
function boundsOf(
  { nowMs, fromMs, toMs = nowMs, isWhole }: VerificationParams,
  { historyFromMs }: DailyProductionSettings,
  timeZone: string,
) {
  if (fromMs !== undefined) return { fromMs, toMs };
  if (isWhole || toMs !== nowMs) return { fromMs: historyFromMs, toMs };
  const lastDaysMs = beginOfDayAt(nowMs - verifiedDays * DAY_MS, timeZone);
  return { fromMs: Math.min(Math.max(historyFromMs, lastDaysMs), nowMs - 1), toMs };
}

/** Requests that a unit is expected to take where the service fits its profile: its pages, and one that shows their end. */
export function expectedRequests(spec: unknown, pageRows: number): number {
  return Math.max(1, Math.ceil(expectedRows(windowSpecSchema.parse(spec)) / pageRows)) + 1;
}

// Reads the window of a well for a verification: to its verified end, with what the service sends and nothing kept of it.

export interface ReadToVerify extends Pick<VerifiedRead, 'uwi' | 'counts' | 'isUnknown'> {
  readonly unit: PlannedUnit;
  readonly window: Window;
  /** Of the well. */
  readonly timeZone: string;
  readonly rows: RowColumns;
  readonly quarantined: readonly QuarantinedRecord[];
  readonly requests: number;
  readonly notices: readonly string[];
}

/** The profile in use by a chunk: one that contradicts the service is left out, and stays in the warehouse as it is. */
export interface ProfileOfChunk {
  profile: ServiceProfile | undefined;
}

interface ReadingContext extends Pick<JobContext, 'service' | 'now'> {
  readonly settings: DailyProductionSettings;
  readonly profiles: ProfileOfChunk;
  readonly reservation: RowReservation;
  readonly blocks: RowBlocks;
}

/** A well that the service does not know is read as one without records. Throws as the service does, else. */
export async function readToVerify(
  unit: PlannedUnit,
  spec: WindowSpec,
  { params, signal, read }: Pick<ChunkOfWork<VerificationParams>, 'params' | 'signal' | 'read'>,
  { service, now, settings, profiles, reservation, blocks }: ReadingContext,
): Promise<ReadToVerify> {
  const { pageLimit, pageLimitGranted, nullable, rowsInMemory } = settings;
  const { fromMs, toMs, timeZone = settings.timeZone } = spec;
  const uwi = unit.target;
  const window = { fromMs, toMs };
  const expected = { unit: unit.unit, expectedRows: expectedRows(spec) };
  const onRows = (rows: number, heldRows: number): Promise<void> => {
    read({ ...expected, rows, isRead: false });
    return reservation.came(heldRows);
  };
  let requests = 0;
  const onAttempt = (): void => void (requests += 1);
  const nowMs = Math.max(params.nowMs, now());
  const maxRows = Math.max(rowsInMemory, leastMaxRows);
  const readBy = (profile: ServiceProfile | undefined) =>
    service.readDailyProduction(
      { uwi, window, timeZone, nowMs, nullable, pageLimit, pageLimitGranted, profile, maxRows, blocks, onRows },
      { signal, onAttempt },
    );
  const { profile } = profiles;
  const about = { unit, uwi, window, timeZone };
  try {
    const reading = await readBy(profile).catch((error: unknown) => {
      if (profile === undefined || !isUnprovenEnd(error)) throw error;
      profiles.profile = undefined;
      return readBy(undefined);
    });
    if (!reading.isVerified)
      throw new TransientError('unproven-end', `nothing shows that all rows of ${uwi} were sent`);
    const { rows, quarantined, counts, notices } = reading;
    read({ ...expected, rows: counts.read, isRead: true });
    return { ...about, rows, quarantined, counts, notices, requests, isUnknown: false };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    read({ ...expected, rows: 0, isRead: true });
    const nothing = { rows: new RowColumnsBuilder().rows(), quarantined: [], notices: [] };
    return { ...about, ...nothing, counts: { read: 0, repeated: 0, outsideWindow: 0 }, requests, isUnknown: true };
  }
}

// The job that compares daily production at the service with the warehouse: its description and its parameters.

/** Instants in milliseconds; the wells are the targets of the run. */
export const verificationParamsSchema = z.strictObject({
  nowMs: z.number().int(),
  /** Without bounds the last days are read. */
  fromMs: z.number().int().optional(),
  toMs: z.number().int().optional(),
  /** The whole history of each well. */
  isWhole: z.boolean(),
  /** How many wells were chosen of how many, and by which seed. */
  sample: z.strictObject({ wells: z.number().int(), of: z.number().int(), seed: z.number().int() }).optional(),
});
export type VerificationParams = z.output<typeof verificationParamsSchema>;

/** Days before the request that are read where nothing else is said. */
const verifiedDays = 90;

/** read = same + differing + missingHere + notYetRead + repeated + outsideWindow + quarantined + accepted (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'same', inSum: 'part', isAlwaysShown: true },
  { name: 'differing', inSum: 'part', isAlwaysShown: true, isException: true, remark: 'other values, or another xid' },
  {
    name: 'missingHere',
    inSum: 'part',
    isAlwaysShown: true,
    isException: true,
    remark: 'the service has them, the warehouse does not',
  },
  { name: 'notYetRead', inSum: 'part', remark: 'of days behind the last read of their wells: no difference' },
  { name: 'repeated', inSum: 'part' },
  { name: 'outsideWindow', inSum: 'part', remark: 'they came, and are ignored' },
  { name: 'quarantined', inSum: 'part', remark: 'break the contract, and stand in quarantine here' },
  { name: 'accepted', inSum: 'part', remark: 'broke the contract, and were accepted as they are' },
  { name: 'stored', isAlwaysShown: true, remark: 'rows of the warehouse that were compared' },
  {
    name: 'missingThere',
    isAlwaysShown: true,
    isException: true,
    remark: 'the warehouse has them, the service does not',
  },
  { name: 'held', remark: 'missing there, and held until they are back or released' },
  { name: 'standing', remark: 'rows in whose stead the service sends what breaks the contract' },
];

export const verification: JobDescription = {
  name: 'verify daily-production',
  units: readingUnits('well', 'wells'),
  record: 'record',
  counts,
  unreachedBy: ['service-hold', 'service-down', 'no-connection', 'connection-lost', 'timeout'],
  nextSteps: ({ differences }) => (differences?.backfills ?? []).map((backfill) => ({ kind: 'backfill', ...backfill })),
};
