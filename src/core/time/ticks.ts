/**
 * The ticks of a schedule: the instants at which its cron is due in its zone. They are a set that does not depend on when
 * anybody asks, so that no restart in the hour of a change of the clocks loses or doubles a run (docs/operating.md):
 *
 * - an hour field that is not every hour names times of a day: each is due once a day, also where the clocks skip it (then
 *   as much later as they skip) or show it twice (then the first time);
 * - every hour is every hour that passes: 23 or 25 times on the days of a change.
 */
import type { ProductionCalendar } from './production-day.ts';
import { DAY_MS, HOUR_MS } from './window.ts';

const minuteMs = 60_000;
const quarterMs = 15 * minuteMs;

/** The values of a cron of five fields, each in ascending order. */
export interface CronFields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: readonly number[];
  /** 1 to 12. */
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly daysOfWeek: readonly number[];
  /** Whether the days of the month, or of the week, are all: of two that are restricted, one is enough. */
  readonly isEveryDayOfMonth: boolean;
  readonly isEveryDayOfWeek: boolean;
}

/** The ticks of one schedule; instants are milliseconds since 1970. */
export interface Ticks {
  /** The first tick after an instant; undefined if there is none within ten years. */
  next(afterMs: number): number | undefined;
  /** The last tick in (afterMs, upToMs]. */
  latest(afterMs: number, upToMs: number): number | undefined;
}

/** A 29 February may be eight years away. */
const farthestDays = 3_660;

export function ticksOf(fields: CronFields, calendar: ProductionCalendar): Ticks {
  const ofDay = (day: number): readonly number[] => ticksOfDay(fields, calendar, day);
  return {
    next(afterMs) {
      const first = dayOf(calendar, afterMs) - 1;
      for (let day = first; day < first + farthestDays; day += 1) {
        const tick = ofDay(day).find((each) => each > afterMs);
        if (tick !== undefined) return tick;
      }
      return undefined;
    },
    latest(afterMs, upToMs) {
      const oldest = dayOf(calendar, afterMs) - 1;
      for (let day = dayOf(calendar, upToMs) + 1; day >= oldest; day -= 1) {
        const tick = ofDay(day).findLast((each) => each <= upToMs);
        if (tick !== undefined) return tick > afterMs ? tick : undefined;
      }
      return undefined;
    },
  };
}

/** A tick that the clocks skip may be an hour into the next day, so callers look at a day more on both sides. */
function ticksOfDay(fields: CronFields, calendar: ProductionCalendar, day: number): readonly number[] {
  if (!isDayOf(fields, day)) return [];
  return fields.hours.length === 24 ? everyHour(fields, calendar, day) : timesOfDay(fields, calendar, day);
}

function isDayOf(
  { daysOfMonth, months, daysOfWeek, isEveryDayOfMonth, isEveryDayOfWeek }: CronFields,
  day: number,
): boolean {
  const date = new Date(day * DAY_MS);
  if (!months.includes(date.getUTCMonth() + 1)) return false;
  const isInMonth = daysOfMonth.includes(date.getUTCDate());
  const isInWeek = daysOfWeek.includes(date.getUTCDay());
  return isEveryDayOfMonth || isEveryDayOfWeek ? isInMonth && isInWeek : isInMonth || isInWeek;
}

function timesOfDay({ hours, minutes }: CronFields, calendar: ProductionCalendar, day: number): readonly number[] {
  const localTimes = hours.flatMap((hour) => minutes.map((minute) => hour * HOUR_MS + minute * minuteMs));
  const instants = localTimes.map((timeMs) => calendar.instantOfLocal(day * DAY_MS + timeMs));
  // A time that was skipped may be due together with a later one.
  return [...new Set(instants)].toSorted((one, other) => one - other);
}

/** By quarters of an hour, since no zone changes its clocks at another minute. */
function everyHour({ minutes }: CronFields, calendar: ProductionCalendar, day: number): readonly number[] {
  const ticks: number[] = [];
  const endMs = calendar.instantOfLocal((day + 1) * DAY_MS);
  for (let fromMs = calendar.instantOfLocal(day * DAY_MS); fromMs < endMs; fromMs += quarterMs) {
    const minuteOfHour = Math.floor(calendar.localOf(fromMs) / minuteMs) % 60;
    const due = minutes.filter((minute) => minute >= minuteOfHour && minute < minuteOfHour + 15);
    ticks.push(...due.map((minute) => fromMs + (minute - minuteOfHour) * minuteMs));
  }
  return ticks;
}

function dayOf(calendar: ProductionCalendar, instantMs: number): number {
  return Math.floor(calendar.localOf(instantMs) / DAY_MS);
}

/** Whether a schedule is due, and what becomes of a tick. */
export const catchUps = ['latest', 'none'] as const;

/** `latest`: of the ticks that nobody took in time, the last one is run, late. `none`: it is left out. */
type CatchUp = (typeof catchUps)[number];

/** A tick that is taken within this time is not late: a worker may have been busy, or restarted. */
const inTimeMs = 5 * 60_000;

export interface DueTick {
  readonly dueMs: number;
  /** Whether it has to be left out. */
  readonly isMissed: boolean;
}

/** The last tick after `sinceMs` that nobody has taken although it was to be, milliseconds since 1970. */
export function overdueTick(ticks: Ticks, { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number }) {
  return ticks.latest(sinceMs, nowMs - inTimeMs);
}

/** The last tick after `sinceMs`, if one is due; those before it have been overtaken. */
export function dueTick(
  ticks: Ticks,
  { sinceMs, nowMs, catchUp }: { readonly sinceMs: number; readonly nowMs: number; readonly catchUp: CatchUp },
): DueTick | undefined {
  const dueMs = ticks.latest(sinceMs, nowMs);
  if (dueMs === undefined) return undefined;
  return { dueMs, isMissed: catchUp === 'none' && nowMs - dueMs > inTimeMs };
}
