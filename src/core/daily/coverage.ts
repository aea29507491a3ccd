/** Intervals of days: those that a read covers, those still to read, and the state of each (docs/design.md section 4.1). */
import { dayNumber, dayText, instantOfDay, productionCalendar } from '../time/production-day.ts';
import type { Window } from '../time/window.ts';

/** Half-open interval [fromDay, toDay) of day numbers: days since 1970-01-01. */
export interface DayInterval {
  readonly fromDay: number;
  readonly toDay: number;
}

/**
 * The days of `timeZone` that lie in `window` from their first instant to their last. Excludes a day that the window
 * cuts, and a day that was not over at `readAtMs`, since more rows of it may come. Undefined when no day is left.
 */
export function wholeDays(window: Window, timeZone: string, readAtMs: number): DayInterval | undefined {
  const calendar = productionCalendar(timeZone);
  const [first, end] = [calendar.dayOf(window.fromMs), calendar.dayOf(Math.min(window.toMs, readAtMs))];
  if (first === undefined || end === undefined) return undefined;
  const isCut = instantOfDay(first, timeZone) !== window.fromMs;
  const interval = { fromDay: dayNumber(first) + (isCut ? 1 : 0), toDay: dayNumber(end) };
  return interval.fromDay < interval.toDay ? interval : undefined;
}

/** The same days as disjoint intervals in order. Joins intervals that lie `apartDays` days or fewer apart. */
export function mergeDays(intervals: readonly DayInterval[], apartDays = 0): readonly DayInterval[] {
  const merged: DayInterval[] = [];
  for (const next of intervals.toSorted((left, right) => left.fromDay - right.fromDay)) {
    const last = merged.at(-1);
    if (next.toDay <= next.fromDay) continue;
    if (last === undefined || next.fromDay - last.toDay > apartDays) merged.push(next);
    else merged[merged.length - 1] = { fromDay: last.fromDay, toDay: Math.max(last.toDay, next.toDay) };
  }
  return merged;
}

/** The days of `whole` that are in none of `parts`, as disjoint intervals in order. */
export function subtractDays(whole: DayInterval, parts: readonly DayInterval[]): readonly DayInterval[] {
  const left: DayInterval[] = [];
  let { fromDay } = whole;
  for (const part of mergeDays(parts)) {
    if (part.fromDay > fromDay) left.push({ fromDay, toDay: Math.min(part.fromDay, whole.toDay) });
    fromDay = Math.max(fromDay, part.toDay);
  }
  left.push({ fromDay, toDay: whole.toDay });
  return left.filter((interval) => interval.fromDay < interval.toDay);
}

/**
 * Gaps this close are read as one window: rereading 30 known days, about a page, costs less than the requests of
 * another window.
 */
const joinedApartDays = 30;

/** A few disjoint intervals that cover every unknown day of `asked`. Each begins and ends with an unknown day. */
export function gapsToRead(asked: DayInterval, known: readonly DayInterval[]): readonly DayInterval[] {
  return mergeDays(subtractDays(asked, known), joinedApartDays);
}

/**
 * The window from the first instant of `fromDay` to the first instant of `toDay` in `timeZone`. Throws RangeError for a
 * day outside the years 1 to 9999.
 */
export function windowOfDays({ fromDay, toDay }: DayInterval, timeZone: string): Window {
  return { fromMs: firstInstant(fromDay, timeZone), toMs: firstInstant(toDay, timeZone) };
}

function firstInstant(day: number, timeZone: string): number {
  const instantMs = instantOfDay(dayText(day), timeZone);
  if (instantMs === undefined) throw new RangeError(`there is no day ${dayText(day)} in ${timeZone}`);
  return instantMs;
}

/** Counts of days by status. `asked` is the sum of the four others. */
export interface CoverageCounts {
  readonly asked: number;
  /** The warehouse has a row of the day, and no quarantined record. */
  readonly present: number;
  /** The service sent a record of the day that breaks the contract; an earlier row of it may be stored. */
  readonly quarantined: number;
  /** A verified read returned no record of the day. */
  readonly missing: number;
  readonly neverRead: number;
}

export interface WellCoverage extends CoverageCounts {
  readonly uwi: string;
  /** First and last day with a row or a quarantined record, YYYY-MM-DD; null when there is none. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** Missing days after the last day: the well was shut in, or stopped reporting. */
  readonly missingAfterLast: number;
}

/** Days that need attention: quarantined, never read, or missing before the last day. */
export function holesOf(
  well: Pick<WellCoverage, 'neverRead' | 'quarantined' | 'missing' | 'missingAfterLast'>,
): number {
  return well.neverRead + well.quarantined + well.missing - well.missingAfterLast;
}

// The days of one well to today, each in the one state that says most of it, and the gaps among them. Pure.

/**
 * `held`: its row stays although the service no longer has it. `restated`: its row was once another one. `undecided`: reads
 * that were not verified found nothing; the next verified read decides. `quarantined-kept`: its record is in quarantine, and
 * an earlier row stays and counts.
 */
export type DayState =
  | 'present'
  | 'restated'
  | 'held'
  | 'quarantined'
  | 'quarantined-kept'
  | 'missing'
  | 'undecided'
  | 'never-read';

/** In the order in which one state hides another on the same day: the later one is the state of the day. */
const statesByWeight: readonly DayState[] = [
  'never-read',
  'undecided',
  'missing',
  'present',
  'restated',
  'held',
  'quarantined',
  'quarantined-kept',
];

export interface DayStretch extends DayInterval {
  readonly state: DayState;
}

/** What is known of the days of a well, as intervals of day numbers, in order. */
export interface KnownDays {
  readonly read: readonly DayInterval[];
  readonly present: readonly DayInterval[];
  readonly quarantined: readonly DayInterval[];
  readonly held: readonly DayInterval[];
  /** Day numbers. */
  readonly restated: readonly number[];
  /** Up to which day, exclusive, unverified reads have come; undefined for a well without a watermark. */
  readonly askedTo: number | undefined;
}

/** From the first known day to `today`, which is not over and is left out. Empty for a well without a known day. */
export function dayStretches(known: KnownDays, today: number): readonly DayStretch[] {
  const stored = [known.present, known.quarantined].filter((days) => days.length > 0);
  if (stored.length === 0) return [];
  const first = Math.min(...stored.map((days) => days[0]?.fromDay ?? today));
  const behindLast = Math.max(...stored.map((days) => days.at(-1)?.toDay ?? first));
  const end = Math.max(today, behindLast);
  const states = new Uint8Array(end - first);
  const fill = ({ fromDay, toDay }: DayInterval, state: DayState, onlyOver?: DayState, upTo?: DayState): void => {
    const weight = statesByWeight.indexOf(state);
    const over = onlyOver === undefined ? 0 : statesByWeight.indexOf(onlyOver);
    const most = upTo === undefined ? statesByWeight.length : statesByWeight.indexOf(upTo);
    for (let day = Math.max(fromDay, first); day < Math.min(toDay, end); day += 1) {
      const index = day - first;
      const before = states[index] ?? 0;
      if (before >= over && before <= most) states[index] = weight;
    }
  };
  const readTo = Math.max(behindLast, known.read.at(-1)?.toDay ?? first);
  if (known.askedTo !== undefined) fill({ fromDay: readTo, toDay: known.askedTo }, 'undecided');
  for (const each of known.read) fill(each, 'missing');
  for (const each of known.present) fill(each, 'present');
  // Of a day without a row, neither says anything.
  for (const day of known.restated) fill({ fromDay: day, toDay: day + 1 }, 'restated', 'present');
  for (const each of known.held) fill(each, 'held', 'present');
  for (const each of known.quarantined) fill(each, 'quarantined-kept', 'present');
  for (const each of known.quarantined) fill(each, 'quarantined', undefined, 'missing');
  return runsOf(states, first);
}

function runsOf(states: Uint8Array, first: number): readonly DayStretch[] {
  const stretches: DayStretch[] = [];
  let from = 0;
  for (let index = 1; index <= states.length; index += 1) {
    if (index < states.length && states[index] === states[from]) continue;
    const state = statesByWeight[states[from] ?? 0] ?? 'never-read';
    stretches.push({ fromDay: first + from, toDay: first + index, state });
    from = index;
  }
  return stretches;
}

export type DayCounts = Readonly<Record<DayState, number>>;

export function dayCounts(stretches: readonly DayStretch[]): DayCounts {
  const counts = Object.fromEntries(statesByWeight.map((state) => [state, 0])) as Record<DayState, number>;
  for (const { state, fromDay, toDay } of stretches) counts[state] += toDay - fromDay;
  return counts;
}

/** Days in a row without a row and without a quarantined record. */
export interface DayGap extends DayInterval {
  /** Those of them that no read has covered. */
  readonly neverRead: number;
  /** Those of which only reads that were not verified found nothing. */
  readonly undecided: number;
  /** Whether it lasts to today. */
  readonly isOpen: boolean;
}

const isGap = ({ state }: DayStretch): boolean =>
  state === 'missing' || state === 'undecided' || state === 'never-read';

/** The latest first. Their days are the missing, undecided and never read ones of the stretches. */
export function gapsOf(stretches: readonly DayStretch[]): readonly DayGap[] {
  const gaps: DayGap[] = [];
  const end = stretches.at(-1)?.toDay;
  for (const stretch of stretches.filter(isGap)) {
    const { fromDay, toDay, state } = stretch;
    const last = gaps.at(-1);
    const daysIf = (other: DayState): number => (state === other ? toDay - fromDay : 0);
    const [neverRead, undecided] = [daysIf('never-read'), daysIf('undecided')];
    const isOpen = toDay === end;
    if (last?.toDay === fromDay) {
      const sum = { neverRead: last.neverRead + neverRead, undecided: last.undecided + undecided };
      gaps[gaps.length - 1] = { fromDay: last.fromDay, toDay, ...sum, isOpen };
    } else gaps.push({ fromDay, toDay, neverRead, undecided, isOpen });
  }
  return gaps.toReversed();
}
