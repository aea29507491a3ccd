/**
 * Holds: rows that the service no longer has stay in the warehouse until a person releases them (G4,
 * docs/decisions/0025-a-hold-stands-until-it-is-released.md). A hold is of one well and one calendar month of production
 * days. It keeps how many rows are missing and between which days, never which rows.
 */
import { UsageError } from '../base/errors.ts';
import { DAY_MS } from '../time/window.ts';
import { type DayInterval, subtractDays } from './coverage.ts';

/** Rows of a month: their number, and their first and last production day as day numbers. */
export interface MonthRows {
  readonly rows: number;
  readonly firstDay: number;
  readonly lastDay: number;
}

/** A hold that stands. */
export interface HeldMonth extends MonthRows {
  /** The first day of the month, as a day number. */
  readonly month: number;
  /** The rows that a person was shown and released, and the run that lets them go; undefined while nobody released it. */
  readonly release: (MonthRows & { readonly runId: string }) | undefined;
}

/** Stored rows of one month that the read of a window lacks. At least one of both is there. */
export interface LeavingMonth {
  readonly month: number;
  /** Those of the days that this run releases. */
  readonly released: MonthRows | undefined;
  readonly others: MonthRows | undefined;
}

/** What a month was before rows leave it. */
export interface MonthBefore {
  /** Rows that the warehouse has of it. */
  readonly stored: number;
  /** Rows that left it unapproved within {@link lossesCountForDays}, and are still gone. */
  readonly lost: number;
}

/** Unapproved losses count towards the guard of their month for so many days: three rows a night are no small loss. */
export const lossesCountForDays = 31;

/** The rows that a read of a window lacks. */
interface LeavingWindow {
  /** Rows that the warehouse has inside the window. */
  readonly stored: number;
  /** Distinct months. */
  readonly leaving: readonly LeavingMonth[];
  /** The answer had no content: every row stays unless it is released. */
  readonly isWithoutContent?: true | undefined;
}

/** What becomes of the rows that a read lacks. */
export interface LeavingVerdict {
  readonly removed: number;
  /** The rows that stay, by month; a month of which none stays is absent. */
  readonly held: ReadonlyArray<MonthRows & { readonly month: number }>;
  /** The days of which no row leaves. They hold all rows that stay, and none that is removed. */
  readonly heldDays: readonly DayInterval[];
}

export const nothingLeaves: LeavingVerdict = { removed: 0, held: [], heldDays: [] };

/** The days of a month, from its first day on. */
export function daysOfMonth(month: number): DayInterval {
  const first = new Date(month * DAY_MS);
  const toDay = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1) / DAY_MS;
  return { fromDay: month, toDay };
}

/**
 * Whether the guard holds all rows that leave the window: they are more than it allows. Rows of months that are held
 * already do not count.
 */
export function isWindowHeld(
  { stored, leaving, isWithoutContent }: LeavingWindow,
  holds: ReadonlyMap<number, HeldMonth>,
  guard: ShrinkGuard,
): boolean {
  const rows = rowsOf(leaving, (month) => !holds.has(month));
  return exceeds(stored, rows, isWithoutContent ? { ...guard, maxShare: 0, maxRows: 0 } : guard);
}

/**
 * Decides for each month of a window. A month that is held loses the rows that this run releases and no other; where more
 * rows are missing of the released days than were shown, it loses none. Other months are held by the guard, all of them as
 * rows of their window or each as a month: `before` tells what it was, with what other windows take from it counted as lost.
 */
export function decideLeaving(
  window: LeavingWindow,
  holds: ReadonlyMap<number, HeldMonth>,
  before: (month: number) => MonthBefore,
  { guard, runId }: { readonly guard: ShrinkGuard; readonly runId: string },
): LeavingVerdict {
  const rows = rowsOf(window.leaving);
  if (rows === 0 || guard.allow) return { ...nothingLeaves, removed: rows };
  const isHeldAsWindow = isWindowHeld(window, holds, guard);
  const held: Array<MonthRows & { readonly month: number }> = [];
  const heldDays: DayInterval[] = [];
  const keep = (month: number, kept: MonthRows | undefined, days: readonly DayInterval[]): void => {
    if (kept === undefined) return;
    held.push({ month, ...kept });
    heldDays.push(...days);
  };
  for (const each of window.leaving) {
    const { month, released, others } = each;
    const whole = daysOfMonth(month);
    const hold = holds.get(month);
    if (hold === undefined) {
      if (isHeldAsWindow || isMonthHeld(each, before(month), guard)) keep(month, allOf(each), [whole]);
    } else if (hold.release?.runId === runId && (released?.rows ?? 0) <= hold.release.rows) {
      const shown = { fromDay: hold.release.firstDay, toDay: hold.release.lastDay + 1 };
      keep(month, others, subtractDays(whole, [shown]));
    } else keep(month, allOf(each), [whole]);
  }
  return { removed: rows - held.reduce((sum, kept) => sum + kept.rows, 0), held, heldDays };
}

function isMonthHeld(leaving: LeavingMonth, { stored, lost }: MonthBefore, guard: ShrinkGuard): boolean {
  return exceeds(stored + lost, rowsOf([leaving]) + lost, guard);
}

/**
 * Missing rows that no hold has: of months without a hold, or that this run releases; and of a month with one, what is missing
 * beyond it, which has to be read for sure before it is held as well.
 */
export function mayLeave(
  leaving: readonly LeavingMonth[],
  holds: ReadonlyMap<number, HeldMonth>,
  { guard, runId }: { readonly guard: ShrinkGuard; readonly runId: string },
): number {
  return leaving.reduce((sum, each) => {
    const hold = holds.get(each.month);
    const isLetGo = guard.allow || hold === undefined || hold.release?.runId === runId;
    return sum + (isLetGo ? rowsOf([each]) : rowsBeyond(hold, allOf(each)));
  }, 0);
}

/** Rows that are missing beside those of a hold: at least so many. */
function rowsBeyond(hold: MonthRows, missing: MonthRows | undefined): number {
  if (missing === undefined) return 0;
  const isOutside = missing.firstDay < hold.firstDay || missing.lastDay > hold.lastDay;
  return Math.max(missing.rows - hold.rows, isOutside ? 1 : 0);
}

/** Rows that the read of a window lacks, of the months that count. */
export function rowsOf(leaving: readonly LeavingMonth[], counts: (month: number) => boolean = () => true): number {
  return leaving
    .filter(({ month }) => counts(month))
    .reduce((sum, { released, others }) => sum + (released?.rows ?? 0) + (others?.rows ?? 0), 0);
}

function allOf({ released, others }: LeavingMonth): MonthRows | undefined {
  if (released === undefined || others === undefined) return released ?? others;
  return union(released, others, released.rows + others.rows);
}

function union(one: MonthRows, other: MonthRows, rows: number): MonthRows {
  return {
    rows,
    firstDay: Math.min(one.firstDay, other.firstDay),
    lastDay: Math.max(one.lastDay, other.lastDay),
  };
}

/** What a read of a window saw of one month. */
export interface MonthSeen {
  /** The rows that stay; undefined if none is missing, or none of them stays. */
  readonly held: MonthRows | undefined;
  /** Missing rows that were removed. */
  readonly removed: number;
  /** Whole days that the read covers. */
  readonly days: DayInterval | undefined;
  readonly isVerified: boolean;
}

/** A hold after a read; `isNew` if it begins with this read. */
export interface HoldAfter extends HeldMonth {
  readonly isNew: boolean;
}

/**
 * The hold of a month after a read of a window; undefined if none stands. A hold ends when a read over all of its days
 * brings the rows back, or when they are removed. A read over a part of its days shows no more than that part, and an
 * unverified one shows only what came. What a release leaves behind is held again, as a new hold.
 */
export function holdAfter(
  month: number,
  hold: HoldAfter | undefined,
  { held, removed, days, isVerified }: MonthSeen,
  runId: string,
): HoldAfter | undefined {
  if (hold === undefined || (held !== undefined && hold.release?.runId === runId)) {
    return held && { month, ...held, release: undefined, isNew: true };
  }
  // Begun by another window of this merge, which shares no row with this one.
  if (hold.isNew) return held === undefined ? hold : { ...hold, ...union(hold, held, hold.rows + held.rows) };
  const isWhole = days !== undefined && days.fromDay <= hold.firstDay && hold.lastDay < days.toDay;
  if (held === undefined) {
    if (isWhole) return undefined;
    const rows = hold.rows - removed;
    return rows > 0 ? { ...hold, rows } : undefined;
  }
  if (!isVerified) return hold;
  // All that was missing is back, and other days are missing: nobody was shown those.
  const isOther = held.firstDay > hold.lastDay || held.lastDay < hold.firstDay;
  if (isWhole && isOther) return { month, ...held, release: undefined, isNew: true };
  const beyond = Math.max(0, rowsBeyond(hold, held));
  return { ...hold, ...(isWhole ? held : union(hold, held, hold.rows + beyond)) };
}

/** The limit on the rows that leave the warehouse without a person's leave (G4, docs/design.md section 4.1). */
export interface ShrinkGuard {
  /** Share of the rows, 0 to 1. */
  readonly maxShare: number;
  /** Up to this many rows may always be removed. */
  readonly maxRows: number;
  /** The operator lets every row of the request go. */
  readonly allow: boolean;
}

/** Whether `leaving` of `stored` rows are more than both limits allow. */
export function exceeds(stored: number, leaving: number, guard: ShrinkGuard): boolean {
  return !guard.allow && leaving > guard.maxRows && leaving > stored * guard.maxShare;
}

// Rows that stay although the service no longer has them, as an operator sees them (G4).

/** A hold that stands. */
export interface HeldPart {
  readonly target: string;
  /** YYYY-MM; null, like the days, for definitions. */
  readonly month: string | null;
  readonly rows: number;
  /** YYYY-MM-DD. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  /** The run that began it. */
  readonly runId: string;
}

export interface HeldRows {
  /** Distinct. */
  readonly targets: number;
  readonly rows: number;
  /** Number of holds. */
  readonly holds: number;
  /** The first holds, by target and month. */
  readonly parts: readonly HeldPart[];
}

/** Held rows are not released as they are now: 409 of the HTTP API, wrong use of a command. Nothing was released. */
export class ReleaseConflictError extends UsageError {
  override readonly name = 'ReleaseConflictError';
  override readonly code: string;

  constructor(
    code: 'run-not-ended' | 'nothing-held' | 'not-confirmed' | 'release-under-way',
    ...rest: ConstructorParameters<typeof UsageError>
  ) {
    super(...rest);
    this.code = code;
  }
}
