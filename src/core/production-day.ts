/**
 * Decides which calendar day an instant falls on, and which instant a local date or date-time names, in a zone of the
 * IANA database: right across DST and every other change of a zone's offset, and fast enough for every row of an export.
 */
import { UsageError } from './errors.ts';
import { DAY_MS } from './window.ts';

/** Instants before and after have no date of four-digit year in every zone: [0001-01-02, 9999-12-31) in UTC. */
const datable = { fromMs: Date.parse('0001-01-02T00:00:00Z'), toMs: Date.parse('9999-12-31T00:00:00Z') };

/** No zone had changed its offset before, and Intl counts the days before 1582 by the Julian calendar. */
const earliestLookUpMs = Date.UTC(1800, 0, 1);

/** Days whose offsets are remembered in one zone: three times what a history from 1900 needs. */
const maxKnownDays = 150_000;

/** The calendar of one zone. Days are YYYY-MM-DD, instants milliseconds since 1970-01-01T00:00Z. */
export interface ProductionCalendar {
  readonly timeZone: string;
  /** The calendar day of an instant; undefined outside the years 1 to 9999. */
  dayOf(instantMs: number): string | undefined;
  /**
   * The instant of a wall-clock reading, given as though it were UTC. One that occurs twice is the first; one that the
   * clocks skip is taken with the offset from before the skip, so that midnight of a day is the first instant of that day.
   */
  instantOfLocal(localMs: number): number;
}

/** Calendars are made once for each zone: making the formatter behind one takes longer than a thousand look-ups. */
const calendars = new Map<string, ProductionCalendar>();

/** The calendar of a zone. Throws UsageError for a name that the IANA database does not have. */
export function productionCalendar(timeZone: string): ProductionCalendar {
  const known = calendars.get(timeZone);
  if (known !== undefined) return known;
  const made = calendarOf(timeZone, timeZone === 'UTC' ? () => 0 : offsetsOf(timeZone));
  calendars.set(timeZone, made);
  return made;
}

/** Whether the IANA database has a zone of this name. */
export function isTimeZone(name: string): boolean {
  try {
    productionCalendar(name);
    return true;
  } catch {
    return false;
  }
}

/** The first instant of a day in a zone; undefined where `day` is not a calendar day written as YYYY-MM-DD. */
export function instantOfDay(day: string, timeZone: string): number | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? instantOfDateTime(`${day}T00:00:00`, productionCalendar(timeZone)) : undefined;
}

const dateTimePattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?$/;

/**
 * The instant of an ISO date-time with an offset (RFC 3339), or without one, which is then taken in the calendar's zone.
 * Fractions of a second count to the millisecond. Undefined where it is not one, or names a date that does not exist
 * (2024-02-30), or lies outside the years 1 to 9999.
 */
export function instantOfDateTime(text: string, calendar: ProductionCalendar): number | undefined {
  const match = dateTimePattern.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', offset] = match;
  // RFC 3339 leaves out the seconds never; the looser form is read only where no offset claims to follow it.
  if (second === undefined && offset !== undefined) return undefined;
  const dayMs = calendarDayMs(Number(year), Number(month), Number(day));
  const timeMs = timeOfDayMs(Number(hour), Number(minute), Number(second ?? 0), fraction);
  if (dayMs === undefined || timeMs === undefined) return undefined;
  const instantMs = applyOffset(dayMs + timeMs, offset, calendar);
  return instantMs !== undefined && isDatable(instantMs) ? instantMs : undefined;
}

function applyOffset(localMs: number, offset: string | undefined, calendar: ProductionCalendar): number | undefined {
  if (offset === 'Z') return localMs;
  if (offset === undefined) return calendar.instantOfLocal(localMs);
  const awayMs = timeOfDayMs(Number(offset.slice(1, 3)), Number(offset.slice(4)), 0, '');
  if (awayMs === undefined) return undefined;
  return offset.startsWith('-') ? localMs + awayMs : localMs - awayMs;
}

function calendarDayMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  // Date.UTC would take the years 0 to 99 for 1900 to 1999.
  const dayMs = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? dayMs : undefined;
}

function timeOfDayMs(hour: number, minute: number, second: number, fraction: string): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return ((hour * 60 + minute) * 60 + second) * 1_000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function calendarOf(timeZone: string, offsetMs: (instantMs: number) => number): ProductionCalendar {
  return {
    timeZone,
    dayOf: (instantMs) =>
      isDatable(instantMs) ? new Date(instantMs + offsetMs(instantMs)).toISOString().slice(0, 10) : undefined,
    instantOfLocal: (localMs) => {
      // No zone changes its offset twice within two days, so these are the offsets on both sides of any change near by.
      const before = localMs - offsetMs(localMs - DAY_MS);
      const after = localMs - offsetMs(localMs + DAY_MS);
      const readings = [before, after].filter((instantMs) => instantMs + offsetMs(instantMs) === localMs);
      return readings.length === 0 ? before : Math.min(...readings);
    },
  };
}

/**
 * The offset of a zone at an instant. It is looked up at both ends of the instant's UTC day and remembered; only on the
 * few days when it differs is the instant itself looked up.
 */
function offsetsOf(timeZone: string): (instantMs: number) => number {
  const lookUp = offsetLookUp(timeZone);
  const wholeDays = new Map<number, number | undefined>();
  const offsetOfWholeDay = (day: number): number | undefined => {
    if (wholeDays.has(day)) return wholeDays.get(day);
    const atStart = lookUp(day * DAY_MS);
    const steady = atStart === lookUp((day + 1) * DAY_MS) ? atStart : undefined;
    if (wholeDays.size >= maxKnownDays) wholeDays.clear();
    wholeDays.set(day, steady);
    return steady;
  };
  return (instantMs) => offsetOfWholeDay(Math.floor(instantMs / DAY_MS)) ?? lookUp(instantMs);
}

function offsetLookUp(timeZone: string): (instantMs: number) => number {
  const format = localTimeFormat(timeZone);
  return (anyInstantMs) => {
    const instantMs = Math.max(anyInstantMs, earliestLookUpMs);
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instantMs)) part[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part;
    const localMs = Date.UTC(year, month - 1, day, hour, minute, second);
    return localMs - Math.floor(instantMs / 1_000) * 1_000;
  };
}

function localTimeFormat(timeZone: string): Intl.DateTimeFormat {
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  try {
    return new Intl.DateTimeFormat('en-u-ca-iso8601-nu-latn', { ...date, ...time, timeZone });
  } catch (error) {
    throw new UsageError(`${timeZone} is not a time zone`, {
      hint: 'Name one of the IANA database, such as UTC or Europe/Oslo.',
      cause: error,
    });
  }
}

function isDatable(instantMs: number): boolean {
  return instantMs >= datable.fromMs && instantMs < datable.toMs;
}
