/** Reads one window of one well to its end, and judges how fresh the well is after it. */
import { TransientError } from '../../src/core/base/errors.ts';
import { wholeDays } from '../../src/core/daily/coverage.ts';
import { type Freshness, freshnessNotice, freshnessOf, lastDayAfter } from '../../src/core/daily/freshness.ts';
import { type LookbackTier, tierText } from '../../src/core/daily/lookback.ts';
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import type { WindowReading } from '../../src/core/daily/reading.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { dayAt } from '../../src/core/time/production-day.ts';
import type { ChunkOfWork, JobContext } from '../../src/runs/job.ts';
import { expectedRows, type WindowSpec } from './plan.ts';
import type { ProfileInUse } from './profile.ts';
import type { RowReservation } from './row-budget.ts';
import type { DailyProductionParams, DailyProductionSettings } from './settings.ts';

interface ReadingContext extends JobContext {
  readonly profiles: ProfileInUse;
  readonly reservation: RowReservation;
}

/**
 * The last rows of a silent well, in front of its empty window: a page of three rows confirms the numbering of pages, and
 * one of fewer costs another request. They are outside the window, so that an answer without them removes nothing (G4).
 */
const daysToKnowPageBy = 3;

/** A record a day since 1900, and some more: no read of a well is refused below it. */
const leastMaxRows = 50_000;

export async function readWindow(
  { unit, target: uwi }: PlannedUnit,
  spec: WindowSpec,
  settings: DailyProductionSettings,
  { params, signal, read }: Pick<ChunkOfWork<DailyProductionParams>, 'params' | 'signal' | 'read'>,
  { service, profiles, reservation }: ReadingContext,
): Promise<WindowBatch> {
  const { fromMs, toMs, mode, reach, timeZone = settings.timeZone } = spec;
  const window = { fromMs, toMs };
  const { pageLimit, pageLimitGranted } = settings;
  const { profile } = profiles;
  const expected = { expectedRows: expectedRows(spec) };
  const onRows = (rows: number): Promise<void> => {
    read({ unit, rows, ...expected, isRead: false });
    return reservation.came(rows);
  };
  const daysBefore = reach === 'last-day' ? daysToKnowPageBy : undefined;
  const maxRows = Math.max(settings.rowsInMemory, leastMaxRows);
  const request = { uwi, window, timeZone, daysBefore, pageLimit, pageLimitGranted, profile, maxRows, onRows };
  const reading = await service.readDailyProduction(request, { signal }).catch(async (error: unknown) => {
    if (isUnprovenEnd(error)) await profiles.doubt({ uwi, timeZone }, profile, signal);
    throw error;
  });
  read({ unit, rows: reading.counts.read, ...expected, isRead: true });
  const learnt = await profiles.learn({ reading, profile, uwi, timeZone }, signal);
  const { rows, quarantined, isWithoutContent } = reading;
  const freshness = freshnessAfter(reading, spec, settings, dayAt(params.nowMs, timeZone));
  return {
    unit,
    uwi,
    window,
    mode,
    isVerified: true,
    readDays: wholeDays(window, timeZone, params.nowMs),
    rows,
    quarantined,
    counts: {
      ...reading.counts,
      requests: reading.counts.requests + learnt.requests,
      ...(isStale(freshness) ? { stale: 1 } : {}),
    },
    isWithoutContent,
    notices: [
      ...reading.notices,
      ...learnt.notices,
      ...noticesOf(spec, timeZone),
      ...freshnessNotice(freshness, settings.staleAfterDays),
    ],
  };
}

/** A page behind the first was a 404, which the profile does not have of this service. */
function isUnprovenEnd(error: unknown): boolean {
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

function noticesOf({ lookback, unknownTimeZone }: WindowSpec, timeZone: string): readonly string[] {
  return [...lookbackNotice(lookback), ...zoneNotice(unknownTimeZone, timeZone)];
}

/** The default lookback needs no notice; a deeper one explains a longer run. */
function lookbackNotice(lookback: LookbackTier | undefined): readonly string[] {
  return lookback?.on === undefined ? [] : [`read again below the watermark: ${tierText(lookback)}`];
}

function zoneNotice(unknown: string | undefined, taken: string): readonly string[] {
  return unknown === undefined ? [] : [`${JSON.stringify(unknown)} is no time zone: ${taken} was taken for {targets}`];
}
