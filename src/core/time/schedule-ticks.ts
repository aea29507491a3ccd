/**
 * The ticks of a schedule: the instants at which its cron is due in its zone. They are a set that does not depend on when
 * anybody asks, so that no restart in the hour of a change of the clocks loses or doubles a run (docs/operating.md):
 *
 * - an hour field that is not every hour names times of a day: each is due once a day, also where the clocks skip it (then
 *   as much later as they skip) or show it twice (then the first time);
 * - every hour is every hour that passes: 23 or 25 times on the days of a change.
 */
import { listed } from '../base/text.ts';
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

// A cron in words: `every day at 02:15`, `every 30 minutes from 06:00 to 18:30, Monday to Friday`. Pure.

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

/** Times of a day that are named one by one. */
const mostTimes = 4;

export function cronWords(fields: CronFields): string {
  const days = daysText(fields);
  const { text, isOften } = timesText(fields);
  if (isOften) return days === 'every day' ? text : `${text}, ${days}`;
  return `${days} ${text}`;
}

function timesText({ hours, minutes }: CronFields): { readonly text: string; readonly isOften: boolean } {
  const stepMinutes = stepOf(minutes, 60);
  const isEveryHour = hours.length === 24;
  const [firstHour = 0] = hours;
  const lastHour = hours.at(-1) ?? 0;
  const [firstMinute = 0] = minutes;
  const lastMinute = minutes.at(-1) ?? 0;
  const isRange = hours.length > 1 && lastHour - firstHour === hours.length - 1;
  const span = ` from ${timeText(firstHour, firstMinute)} to ${timeText(lastHour, lastMinute)}`;
  if (isEveryHour || (isRange && hours.length * minutes.length > mostTimes)) {
    const where = isEveryHour ? '' : span;
    if (stepMinutes !== undefined) {
      return { text: `every ${stepMinutes === 1 ? 'minute' : `${stepMinutes} minutes`}${where}`, isOften: true };
    }
    const at = minutes.map((minute) => String(minute).padStart(2, '0'));
    const which = at.length === 1 && at[0] === '00' ? '' : ` at minute ${listed(at)}`;
    return { text: `every hour${which}${where}`, isOften: true };
  }
  const times = hours.flatMap((hour) => minutes.map((minute) => timeText(hour, minute)));
  if (times.length <= mostTimes) return { text: `at ${listed(times)}`, isOften: false };
  const hourStep = minutes.length === 1 ? stepOf(hours, 24) : undefined;
  if (hourStep !== undefined) {
    return { text: `every ${hourStep} hours from ${timeText(firstHour, firstMinute)}`, isOften: true };
  }
  return { text: `${times.length} times a day${span}`, isOften: true };
}

/** How far apart they are, from 0 on; undefined where they are not evenly so. */
function stepOf(values: readonly number[], whole: number): number | undefined {
  const step = whole / values.length;
  return values.length > 1 && values.every((value, index) => value === index * step) ? step : undefined;
}

function timeText(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}

function daysText({ daysOfMonth, months, daysOfWeek, isEveryDayOfMonth, isEveryDayOfWeek }: CronFields): string {
  const inMonths = months.length === 12 ? undefined : listed(months.map((month) => monthNames[month - 1] ?? ''));
  const ofMonth = `on day ${listed(daysOfMonth.map(String))} of ${inMonths ?? 'each month'}`;
  const ofWeek = weekText(daysOfWeek);
  const inThem = inMonths === undefined ? '' : ` in ${inMonths}`;
  if (isEveryDayOfMonth && isEveryDayOfWeek) return `every day${inThem}`;
  if (isEveryDayOfMonth) return `${ofWeek}${inThem}`;
  // Of two that are restricted, one is enough.
  return isEveryDayOfWeek ? ofMonth : `${ofMonth}, and ${ofWeek}${inThem}`;
}

function weekText(days: readonly number[]): string {
  const [first = 0] = days;
  const last = days.at(-1) ?? 0;
  if (days.length > 2 && last - first === days.length - 1) return `${weekdays[first] ?? ''} to ${weekdays[last] ?? ''}`;
  return `each ${listed(days.map((day) => weekdays[day] ?? ''))}`;
}
