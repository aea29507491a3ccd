/**
 * The window that an incremental run reads of a well (docs/design.md section 4.1). It begins with the production day that
 * lies by the lookback below the watermark, or below the last row where that is older; or earlier, at a recent hole. A field
 * that delivers late so has its corrections, and a well that was silent and then delivers, in any order, loses nothing.
 */
import { counted } from '../base/text.ts';
import { dayAt, dayNumber, dayText } from '../time/production-day.ts';
import { DAY_MS, daysIn, type Window } from '../time/window.ts';
import { type DayInterval, subtractDays, windowOfDays } from './coverage.ts';
import { verifiedWithinDays } from './reading.ts';
import { incrementalWindow } from './watermark.ts';

/** Days that each have a row and no quarantined record. */
export interface CleanDays extends DayInterval {
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
  readonly cleanDays: readonly CleanDays[];
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
 * What makes a window begin where it does: the start of history, the lookback below the watermark (also when another begins
 * less than a day earlier) or below the last row of the well, or a hole.
 */
export const reaches = ['history', 'lookback', 'last-day', 'hole'] as const;
type Reach = (typeof reaches)[number];

interface DueWindow extends Window {
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
  const byWatermark = (rules.isVerified ? verifiedUpTo(well, watermarkMs) : watermarkMs) - lookbackMs;
  const byLastDay = beginOf(lastDay + 1, timeZone) - lookbackMs;
  const hole = oldestHole(well, rules);
  const byHole = hole === undefined ? nowMs : beginOf(hole, timeZone);
  const wantedMs = Math.min(byWatermark, byLastDay, byHole);
  const window = incrementalWindow({ wantedMs, historyFromMs, nowMs, timeZone });
  const reach = wantedMs >= byWatermark - DAY_MS ? 'lookback' : wantedMs === byLastDay ? 'last-day' : 'hole';
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
  const holes = subtractDays(recent, well.cleanDays).map(({ fromDay }) => fromDay);
  // The request is wider on both sides.
  const others = newDays(well.watermarkMs ?? nowMs, nowMs) + 2;
  const wanted = [...holes, ...held].toSorted((left, right) => left - right);
  return wanted.find((day) => rowsSince(day, well.cleanDays) + others <= pageRows);
}

function rowsSince(day: number, cleanDays: readonly CleanDays[]): number {
  let sum = 0;
  for (const { fromDay, toDay, rows } of cleanDays) {
    const share = Math.min(1, Math.max(0, toDay - Math.max(day, fromDay)) / (toDay - fromDay));
    sum += Math.ceil(rows * share);
  }
  return sum;
}

/** Rows seen in the window, and one for each new day. Below the known days, one for each day up to the last row. */
function expectedRows(window: Window, well: KnownWell, { nowMs, timeZone }: WindowRules): number {
  const { watermarkMs = nowMs, lastDay = 0, cleanDays } = well;
  const firstDay = dayAt(window.fromMs, timeZone) ?? lastDay;
  const unseenTo = Math.min(cleanDays[0]?.fromDay ?? lastDay + 1, lastDay + 1);
  const unseen = Math.min(longestExpectedDays, Math.max(0, unseenTo - firstDay));
  return unseen + rowsSince(firstDay, cleanDays) + newDays(watermarkMs, nowMs);
}

/**
 * Lookback of a well: how far below the watermark an incremental run reads again. Late corrections become rarer with
 * age, so deeper tiers run on fewer days (docs/design.md section 4.1).
 */
export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

/** A day of the week, or the first day of a month. */
export const tierDays = [...weekdays, 'first of month'] as const;
export type TierDay = (typeof tierDays)[number];

export interface LookbackTier {
  /** Days below the watermark; `all` reads from the start of history. */
  readonly days: number | 'all';
  /** Day on which the tier is due; undefined means every run. */
  readonly on?: TierDay | undefined;
}

/**
 * The deepest tier due for a well; undefined when none is. A tier with a day is due when such a day has begun in
 * (`lastDay`, `today`], where `lastDay` is the day of the well's last read. Both are YYYY-MM-DD in the configured zone.
 * So a tier runs once a well, on the first successful run from its day on: Monday makes up for a Sunday without a run,
 * and a second run on a Sunday does not read 90 days again.
 */
export function lookbackDue(tiers: readonly LookbackTier[], lastDay: string, today: string): LookbackTier | undefined {
  const due = tiers.filter(({ on }) => on === undefined || hasBegun(on, dayNumber(lastDay), dayNumber(today)));
  return due.toSorted((left, right) => depthOf(right) - depthOf(left))[0];
}

function depthOf({ days }: LookbackTier): number {
  return days === 'all' ? Number.POSITIVE_INFINITY : days;
}

/** Whether a day of the kind `on` lies in (lastDay, today]. Every kind occurs at least once in 31 days. */
function hasBegun(on: TierDay, lastDay: number, today: number): boolean {
  for (let day = today; day > Math.max(lastDay, today - 31); day -= 1) {
    if (matchesDay(on, day)) return true;
  }
  return false;
}

/** 1970-01-01 was a Thursday. */
function matchesDay(on: TierDay, day: number): boolean {
  if (on === 'first of month') return dayText(day).endsWith('-01');
  return weekdays[(((day + 4) % 7) + 7) % 7] === on;
}

/** The tier as plans and reports print it: `90 days, on sunday`. */
export function tierText({ days, on }: LookbackTier): string {
  const depth = days === 'all' ? 'everything' : counted(days, 'day');
  return on === undefined ? depth : `${depth}, on ${on === 'first of month' ? 'the first of the month' : on}`;
}

// What may end the read of a window: a verified end, or one that the service's profile alone shows (decision 12). An
// unverified read takes nothing from the warehouse (G4), so what it may miss is rows that came late. The next verified
// read, within a week, reaches over the windows of the unverified ones.

/**
 * `proof`: a verified end alone. `word`: one that the service's profile shows as well. `word-if-silent`: that too, as long
 * as no record of the window came that is newer than the last row of the well.
 */
export const readEnds = ['proof', 'word', 'word-if-silent'] as const;
type ReadEnd = (typeof readEnds)[number];

/**
 * What may end the read of a window of a well that is not due for a verified one. Rows that an unverified read brings
 * move the last row of the well. Below it only the lookback and the holes of the last days are read again: a window that
 * reaches further, or that is expected on more than one page, is verified as soon as a newer record comes.
 */
export function endOfUndue(
  { reach, ...window }: DueWindow,
  { nowMs, holeDays, pageRows }: Pick<WindowRules, 'nowMs' | 'holeDays' | 'pageRows'>,
): ReadEnd {
  if (reach === 'lookback' || reach === 'hole') return 'word';
  const isReadAgain = window.fromMs >= nowMs - holeDays * DAY_MS && daysIn(window) + 2 <= pageRows;
  return isReadAgain ? 'word' : 'word-if-silent';
}
