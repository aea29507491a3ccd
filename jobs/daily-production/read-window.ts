/** Reads one window of one well to its end, and judges how fresh the well is after it. */
import type { RowBlocks } from '../../src/core/daily/row-columns.ts';
import { TransientError } from '../../src/core/base/errors.ts';
import { wholeDays } from '../../src/core/daily/coverage.ts';
import { type Freshness, freshnessNotice, freshnessOf, lastDayAfter } from '../../src/core/daily/watermark.ts';
import { type LookbackTier, tierText } from '../../src/core/daily/due-window.ts';
import { midnightNotice } from '../../src/core/daily/zones.ts';
import type { UnfinishedUnit, WindowBatch } from '../../src/core/daily/merge.ts';
import type { WindowReading } from '../../src/core/daily/reading.ts';
import type { TrustedEnd } from '../../src/core/paging/page-end.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { askedWindow, type Window } from '../../src/core/time/window.ts';
import { dayAt } from '../../src/core/time/production-day.ts';
import type { ChunkOfWork, JobContext } from '../../src/runs/job.ts';
import { expectedRows, type WindowSpec } from './plan.ts';
import type { ProfileInUse } from './profile.ts';
import type { RowReservation } from './row-budget.ts';
import type { DailyProductionParams, DailyProductionSettings } from './settings.ts';

/** A window that the warehouse gave back. */
export interface GivenBack {
  /** Requests of reads of it that are in no outcome. */
  readonly requests: number;
  /** What was merged of it, if only a part has to be read again. */
  readonly before?: UnfinishedUnit;
}

interface ReadingContext extends JobContext {
  readonly profiles: ProfileInUse;
  readonly reservation: RowReservation;
  /** Where the rows take their room. Those of a read that failed, or did not count, are left to the collector. */
  readonly blocks: RowBlocks;
  /** What the warehouse gave back of the unit: this read is verified. */
  readonly givenBack?: GivenBack | undefined;
  /** Called right before each request of the window is sent. */
  readonly onAttempt: () => void;
}

/**
 * The last rows of a silent well, in front of its empty window where no lookback brings them: a verified read of three rows
 * confirms the numbering of pages, and one of fewer costs another request; an unverified read expects the last of them. They
 * are outside the window, so that an answer without them removes nothing (G4).
 */
const daysToKnowPageBy = 3;

/** Whether the window itself holds as many of the last rows of a silent well. */
function bringsRows(lookback: LookbackTier | undefined): boolean {
  return lookback !== undefined && (lookback.days === 'all' || lookback.days >= daysToKnowPageBy);
}

/** A record a day since 1900, and some more: no read of a well is refused below it. */
export const leastMaxRows = 50_000;

export async function readWindow(
  { unit, target: uwi }: PlannedUnit,
  spec: WindowSpec,
  settings: DailyProductionSettings,
  { params, signal, read }: Pick<ChunkOfWork<DailyProductionParams>, 'params' | 'signal' | 'read'>,
  { service, now, profiles, reservation, blocks, givenBack, onAttempt }: ReadingContext,
): Promise<WindowBatch> {
  const { fromMs, toMs, mode, reach, lookback, timeZone = settings.timeZone } = spec;
  const before = givenBack?.before;
  const whole = { fromMs, toMs };
  const window = before?.window ?? whole;
  const { pageLimit, pageLimitGranted, nullable } = settings;
  const { profile } = profiles;
  const expected = { expectedRows: expectedRows(spec) };
  const onRows = (rows: number, heldRows: number): Promise<void> => {
    read({ unit, rows, ...expected, isRead: false });
    return reservation.came(heldRows);
  };
  const isEmpty = reach === 'last-day' && before === undefined && !bringsRows(lookback);
  const daysBefore = isEmpty ? daysToKnowPageBy : undefined;
  const maxRows = Math.max(settings.rowsInMemory, leastMaxRows);
  const trustedEnd =
    givenBack === undefined ? trustedEndFor(spec, askedWindow(window, daysBefore), timeZone) : undefined;
  // A run may be worked days after it was requested: days that have come meanwhile are none of the future.
  const nowMs = Math.max(params.nowMs, now());
  const request = {
    uwi,
    window,
    timeZone,
    nowMs,
    nullable,
    daysBefore,
    pageLimit,
    pageLimitGranted,
    profile,
    maxRows,
    blocks,
    onRows,
  };
  const readOnce = (how: { readonly trustedEnd?: TrustedEnd | undefined }): Promise<WindowReading> =>
    service.readDailyProduction({ ...request, ...how }, { signal, onAttempt }).catch(async (error: unknown) => {
      if (isUnprovenEnd(error)) await profiles.invalidate({ uwi, timeZone }, profile, signal);
      throw error;
    });
  const first = await readOnce({ trustedEnd });
  const reading = isEnough(first, spec) ? first : afterRead(await readOnce({}), first.counts.requests);
  read({ unit, rows: reading.counts.read, ...expected, isRead: true });
  const learnt = await profiles.update({ reading, profile, uwi, timeZone }, signal);
  const { rows, quarantined, isWithoutContent } = reading;
  // The first read of the unit has told.
  const freshness =
    before === undefined ? freshnessAfter(reading, spec, settings, dayAt(params.nowMs, timeZone)) : 'fresh';
  const covered = before?.isVerified === true ? whole : window;
  return {
    unit,
    uwi,
    window,
    timeZone,
    mode,
    isVerified: reading.isVerified,
    readDays: wholeDays(covered, timeZone, params.nowMs),
    rows,
    quarantined,
    counts: {
      ...reading.counts,
      requests: (givenBack?.requests ?? 0) + reading.counts.requests + learnt.requests,
      ...(isStale(freshness) ? { stale: 1 } : {}),
    },
    isWithoutContent,
    before,
    notices: [
      ...reading.notices,
      ...learnt.notices,
      ...noticesOf(spec, timeZone, rows),
      ...freshnessNotice(freshness, settings.staleAfterDays),
    ],
  };
}

/**
 * Leave to end the read where the service's profile says so, if the plan gives it. A row of the last day with one
 * has to come where it lies in the requested range: an answer without it shows nothing of the numbering of pages.
 */
function trustedEndFor({ end, lastDay }: WindowSpec, asked: Window, timeZone: string): TrustedEnd | undefined {
  if (end === undefined || end === 'proof') return undefined;
  const askedFrom = dayAt(asked.fromMs, timeZone);
  const expectsRow = lastDay !== undefined && askedFrom !== undefined && askedFrom < lastDay;
  return { leastRows: expectsRow ? 1 : 0 };
}

/** Whether a read need not be verified (src/core/daily/due-window.ts). Plans of earlier versions may have no last day. */
function isEnough({ isVerified, rows, quarantined }: WindowReading, { end, lastDay }: WindowSpec): boolean {
  if (isVerified || end !== 'word-if-silent') return true;
  return quarantined.length === 0 && !rows.days.some((day) => lastDay === undefined || day > lastDay);
}

/** A reading with the requests of one before it that did not count. */
function afterRead(reading: WindowReading, requests: number): WindowReading {
  const { counts } = reading;
  return { ...reading, counts: { ...counts, requests: counts.requests + requests } };
}

/** A page behind the first was a 404, which the profile does not have of this service. */
export function isUnprovenEnd(error: unknown): boolean {
  return error instanceof TransientError && error.code === 'unproven-end';
}

/** A backfill says nothing about new days. */
function freshnessAfter(
  { rows, quarantined }: WindowReading,
  { mode, isPlugged, lastDay }: WindowSpec,
  { staleAfterDays: warnAfterDays }: DailyProductionSettings,
  today: number | undefined,
): Freshness {
  if (mode === 'backfill' || isPlugged || today === undefined) return 'fresh';
  return freshnessOf({ lastDay: lastDayAfter(lastDay, rows.days), today, warnAfterDays, quarantined });
}

function isStale(freshness: Freshness): boolean {
  return freshness === 'stale' || freshness === 'quarantined';
}

function noticesOf(spec: WindowSpec, timeZone: string, { instantsMs }: WindowReading['rows']): readonly string[] {
  // Once for a well: its first rows.
  const dates =
    spec.lastDay === undefined && spec.mode === 'incremental' ? midnightNotice(instantsMs, timeZone) : undefined;
  return [
    ...lookbackNotice(spec.lookback),
    ...zoneNotice(spec.unknownTimeZone, timeZone),
    ...(spec.otherTimeZone === undefined
      ? []
      : [
          `the time zone of the well is now ${spec.otherTimeZone}, and its rows are dated by ${timeZone} until a rezone ({targets})`,
        ]),
    ...(dates === undefined ? [] : [dates]),
  ];
}

/** The default lookback needs no notice; a deeper one explains a longer run. */
function lookbackNotice(lookback: LookbackTier | undefined): readonly string[] {
  return lookback?.on === undefined ? [] : [`read again below the watermark: ${tierText(lookback)}`];
}

function zoneNotice(unknown: string | undefined, taken: string): readonly string[] {
  return unknown === undefined ? [] : [`${JSON.stringify(unknown)} is no time zone: ${taken} was taken for {targets}`];
}
