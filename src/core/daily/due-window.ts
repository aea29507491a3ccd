/**
 * The window that an incremental run reads of a well (docs/design.md section 4.1). It begins with the production day that
 * lies below the watermark by the lookback, or earlier: with the day after the last row, or at a recent hole. A well that
 * was silent and then delivers late, in any order, so loses nothing, and an empty window costs no more requests than a
 * short one.
 */
import { dayAt } from '../time/production-day.ts';
import { DAY_MS, daysIn, type Window } from '../time/window.ts';
import { type DayInterval, subtractDays, windowOfDays } from './coverage.ts';
import { verifiedWithinDays } from './verified-read.ts';
import { incrementalWindow } from './watermark.ts';

/** Days that each have a row and no quarantined record. */
export interface SoundDays extends DayInterval {
  /** Stored rows of these days. */
  readonly rows: number;
}

/** What the warehouse knows of a well. Days are day numbers in the zone of the well. */
export interface KnownWell {
  /** Undefined for a well that no incremental run has read. */
  readonly watermarkMs: number | undefined;
  /** Up to when verified reads have shown it; undefined if that is not known. */
  readonly verifiedAtMs: number | undefined;
  /** Last day with a row; undefined for a well without a row. */
  readonly lastDay: number | undefined;
  /** From some day before every hole on, disjoint and in order. */
  readonly soundDays: readonly SoundDays[];
  /** The first missing day of each hold, in order. */
  readonly heldFromDays: readonly number[];
}

export interface WindowRules {
  /** Infinity: from the start of history. */
  readonly lookbackMs: number;
  readonly historyFromMs: number;
  readonly nowMs: number;
  readonly timeZone: string;
  /** Days before today in which a hole is read again. */
  readonly holeDays: number;
  /** Rows of one page. A hole whose window would hold more is left to a backfill: it would cost another request. */
  readonly pageRows: number;
  /**
   * Whether the read has to be verified. Its window then reaches over the windows of the unverified reads since the last
   * verified one, and the days of recent holds: rows that those missed, or that are back, come with it.
   */
  readonly isVerified: boolean;
}

/**
 * What makes a window begin where it does: the start of history, the lookback (also when another begins less than a day
 * earlier), the last row of the well, or a hole.
 */
export const reaches = ['history', 'lookback', 'last-day', 'hole'] as const;
export type Reach = (typeof reaches)[number];

export interface DueWindow extends Window {
  readonly reach: Reach;
  /** Estimate of its rows. */
  readonly rows: number;
}

/** A window from the start of history says little about the number of its rows: it counts as ten years of days. */
const longestExpectedDays = 3_650;

/** Estimate of the rows of a window when nothing is known of its well: one for each day. */
export function rowsByDays(window: Window): number {
  return Math.min(daysIn(window), longestExpectedDays);
}

/** Never empty, ends now, and never begins before history. */
export function dueWindow(well: KnownWell, rules: WindowRules): DueWindow {
  const { watermarkMs, lastDay } = well;
  if (watermarkMs === undefined || lastDay === undefined) return wholeHistory(watermarkMs, rules);
  const { lookbackMs, timeZone, historyFromMs, nowMs } = rules;
  const byLookback = (rules.isVerified ? verifiedUpTo(well, watermarkMs) : watermarkMs) - lookbackMs;
  const byLastDay = beginOf(lastDay + 1, timeZone);
  const hole = oldestHole(well, rules);
  const byHole = hole === undefined ? nowMs : beginOf(hole, timeZone);
  const wantedMs = Math.min(byLookback, byLastDay, byHole);
  const window = incrementalWindow({ wantedMs, historyFromMs, nowMs, timeZone });
  const reach = wantedMs >= byLookback - DAY_MS ? 'lookback' : wantedMs === byLastDay ? 'last-day' : 'hole';
  return { ...window, reach, rows: expectedRows(window, well, rules) };
}

/** Begins a day below: the day in which the last verified read ended was not over, so that it has not been shown whole. */
function verifiedUpTo({ verifiedAtMs = Number.POSITIVE_INFINITY }: KnownWell, watermarkMs: number): number {
  return Math.min(watermarkMs, verifiedAtMs - DAY_MS);
}

/** Days before today in which a hole is read again; a verified read takes those that unverified ones have read. */
function holeDaysOf({ holeDays, isVerified }: WindowRules): number {
  return holeDays > 0 && isVerified ? holeDays + verifiedWithinDays : holeDays;
}

/**
 * A well without a row is read from the start at every run, whatever its watermark: an early empty answer says nothing
 * about its history.
 */
function wholeHistory(watermarkMs: number | undefined, { historyFromMs, nowMs, timeZone }: WindowRules): DueWindow {
  const window = incrementalWindow({ wantedMs: historyFromMs, historyFromMs, nowMs, timeZone });
  const rows = watermarkMs === undefined ? rowsByDays(window) : newDays(watermarkMs, nowMs);
  return { ...window, reach: 'history', rows };
}

/** The first instant of a day, milliseconds since 1970. */
function beginOf(day: number, timeZone: string): number {
  return windowOfDays({ fromDay: day, toDay: day + 1 }, timeZone).fromMs;
}

/** Days since the watermark, each of which may bring a row. */
function newDays(watermarkMs: number, nowMs: number): number {
  return daysIn({ fromMs: Math.min(watermarkMs, nowMs), toMs: nowMs });
}

/**
 * The oldest recent day that is missing or quarantined, or held where the read is verified, such that the rows since then
 * are expected on one page.
 */
function oldestHole(well: KnownWell, rules: WindowRules): number | undefined {
  const { nowMs, timeZone, pageRows } = rules;
  const today = dayAt(nowMs, timeZone);
  if (today === undefined) return undefined;
  const recent = { fromDay: today - holeDaysOf(rules), toDay: today };
  const held = rules.isVerified ? well.heldFromDays.filter((day) => day >= recent.fromDay && day < today) : [];
  const holes = subtractDays(recent, well.soundDays).map(({ fromDay }) => fromDay);
  // The request is wider on both sides.
  const others = newDays(well.watermarkMs ?? nowMs, nowMs) + 2;
  const wanted = [...holes, ...held].toSorted((left, right) => left - right);
  return wanted.find((day) => rowsSince(day, well.soundDays) + others <= pageRows);
}

function rowsSince(day: number, soundDays: readonly SoundDays[]): number {
  let sum = 0;
  for (const { fromDay, toDay, rows } of soundDays) {
    const share = Math.min(1, Math.max(0, toDay - Math.max(day, fromDay)) / (toDay - fromDay));
    sum += Math.ceil(rows * share);
  }
  return sum;
}

/** Rows seen in the window, and one for each new day. Below the known days, one for each day up to the last row. */
function expectedRows(window: Window, well: KnownWell, { nowMs, timeZone }: WindowRules): number {
  const { watermarkMs = nowMs, lastDay = 0, soundDays } = well;
  const firstDay = dayAt(window.fromMs, timeZone) ?? lastDay;
  const unseenTo = Math.min(soundDays[0]?.fromDay ?? lastDay + 1, lastDay + 1);
  const unseen = Math.min(longestExpectedDays, Math.max(0, unseenTo - firstDay));
  return unseen + rowsSince(firstDay, soundDays) + newDays(watermarkMs, nowMs);
}
