/**
 * Conversion of instants to calendar days, and of local dates and date-times to instants, in an IANA time zone. Correct
 * across every change of a zone's offset, and fast enough to run for every row of an export.
 */
import { UsageError } from '../base/errors.ts';
import { DAY_MS } from './window.ts';

/** Instants outside [0001-01-02, 9999-12-31) UTC do not have a four-digit year in every zone. */
const datable = { fromMs: Date.parse('0001-01-02T00:00:00Z'), toMs: Date.parse('9999-12-31T00:00:00Z') };

/** No zone changed its offset before 1800, and Intl counts days before 1582 in the Julian calendar. */
const earliestLookUpMs = Date.UTC(1800, 0, 1);

/** Cached offsets per zone, in days: three times what a history from 1900 needs. */
const maxKnownDays = 150_000;

/** The calendar of one zone. Instants are milliseconds since 1970-01-01T00:00Z. */
export interface ProductionCalendar {
  readonly timeZone: string;
  /** Number of the calendar day of an instant; undefined outside the years 1 to 9999. */
  dayNumberOf(instantMs: number): number | undefined;
  /** The same day as text, YYYY-MM-DD. */
  dayOf(instantMs: number): string | undefined;
  /**
   * Instant of a local wall-clock time, given as if it were UTC. A time that occurs twice is the first one. A time that
   * the clocks skip takes the offset from before the skip, so midnight of a day is always its first instant.
   */
  instantOfLocal(localMs: number): number;
  /** The local wall-clock time of an instant, given as if it were UTC. */
  localOf(instantMs: number): number;
}

/** One calendar for each zone: creating its formatter takes longer than a thousand look-ups. */
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

/** Number of the calendar day of an instant in a zone; undefined outside the years 1 to 9999. */
export function dayAt(instantMs: number, timeZone: string): number | undefined {
  return productionCalendar(timeZone).dayNumberOf(instantMs);
}

/** The days that a read of [fromMs, toMs) touches, `toDay` exclusive: its last one may end at an instant of a day. */
export function daysOfSpan(
  { fromMs, toMs }: Readonly<Record<'fromMs' | 'toMs', number>>,
  timeZone: string,
): { readonly fromDay: number; readonly toDay: number } | undefined {
  const [fromDay, lastDay] = [dayAt(fromMs, timeZone), dayAt(Math.max(fromMs, toMs - 1), timeZone)];
  return fromDay === undefined || lastDay === undefined ? undefined : { fromDay, toDay: lastDay + 1 };
}

/** The first instant of `day` in a zone; undefined when `day` is not a calendar day of the form YYYY-MM-DD. */
export function instantOfDay(day: string, timeZone: string): number | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? instantOfDateTime(`${day}T00:00:00`, productionCalendar(timeZone)) : undefined;
}

/** The first instant of the day of an instant in a zone; the instant itself outside the years 1 to 9999. */
export function beginOfDayAt(instantMs: number, timeZone: string): number {
  const day = productionCalendar(timeZone).dayOf(instantMs);
  return (day === undefined ? undefined : instantOfDay(day, timeZone)) ?? instantMs;
}

const dateTimePattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * The instant of an ISO 8601 date-time, milliseconds. With an offset it follows RFC 3339, but `+0100` and `+01` are
 * offsets too, as services write them; without one it is in the calendar's zone. Fractions of a second count to the
 * millisecond. Undefined when the text is not a date-time, names a date that does not exist (2024-02-30), or lies outside
 * the years 1 to 9999.
 */
export function instantOfDateTime(text: string, calendar: ProductionCalendar): number | undefined {
  return instantOfUtcText(text) ?? instantByPattern(text, calendar);
}

function instantByPattern(text: string, calendar: ProductionCalendar): number | undefined {
  const match = dateTimePattern.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', offset] = match;
  // RFC 3339 requires seconds. A time without seconds is accepted only without an offset.
  if (second === undefined && offset !== undefined) return undefined;
  const dayMs = calendarDayMs(Number(year), Number(month), Number(day));
  const timeMs = timeOfDayMs(Number(hour), Number(minute), Number(second ?? 0), fraction);
  if (dayMs === undefined || timeMs === undefined) return undefined;
  const instantMs = applyOffset(dayMs + timeMs, offset, calendar);
  return instantMs !== undefined && isDatable(instantMs) ? instantMs : undefined;
}

const mostUtcChars = 24;
const utcBytes = new Uint8Array(mostUtcChars);

function instantOfUtcText(text: string): number | undefined {
  if (text.length > mostUtcChars) return undefined;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > capitalZ) return undefined;
    utcBytes[index] = code;
  }
  return instantOfUtcBytes(utcBytes, 0, text.length);
}

/**
 * The instant of the most usual forms, `2024-02-01T00:00:00Z` and `2024-02-01T00:00:00.000Z`, at a tenth of the cost of
 * the pattern. `length`: of the text in ASCII that begins at `from`. Undefined for any other text.
 */
export function instantOfUtcBytes(bytes: Uint8Array, from: number, length: number): number | undefined {
  if (!hasUtcMarks(bytes, from, length)) return undefined;
  const year = pairAt(bytes, from) * 100 + pairAt(bytes, from + 2);
  const month = pairAt(bytes, from + 5);
  const day = pairAt(bytes, from + 8);
  const hour = pairAt(bytes, from + 11);
  const minute = pairAt(bytes, from + 14);
  const second = pairAt(bytes, from + 17);
  const milliseconds = length === mostUtcChars ? pairAt(bytes, from + 20) * 10 + digitAt(bytes, from + 22) : 0;
  // Date.UTC reads the years 0 to 99 as 1900 to 1999, and days that do not exist as later ones.
  if (year < 100 || day < 1 || day > (shortestMonths[month] ?? 0)) return undefined;
  if ((hour | minute | second | milliseconds) < 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  const instantMs = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
  return isDatable(instantMs) ? instantMs : undefined;
}

const [hyphen, period, colon, capitalT, capitalZ] = [45, 46, 58, 84, 90];

function hasUtcMarks(bytes: Uint8Array, from: number, length: number): boolean {
  return (
    (length === 20 ? bytes[from + 19] === capitalZ : length === mostUtcChars && hasMilliseconds(bytes, from)) &&
    bytes[from + 4] === hyphen &&
    bytes[from + 7] === hyphen &&
    bytes[from + 10] === capitalT &&
    bytes[from + 13] === colon &&
    bytes[from + 16] === colon
  );
}

function hasMilliseconds(bytes: Uint8Array, from: number): boolean {
  return bytes[from + 19] === period && bytes[from + 23] === capitalZ;
}

/** Days of each month in a year that is not a leap year: a 29 February is left to the pattern. */
const shortestMonths: readonly number[] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** So far below zero that every number with it is. */
const noDigit = -1_000_000;

function digitAt(bytes: Uint8Array, index: number): number {
  const digit = (bytes[index] ?? 0) - 48;
  return digit >= 0 && digit <= 9 ? digit : noDigit;
}

function pairAt(bytes: Uint8Array, index: number): number {
  return digitAt(bytes, index) * 10 + digitAt(bytes, index + 1);
}

function applyOffset(localMs: number, offset: string | undefined, calendar: ProductionCalendar): number | undefined {
  if (offset === 'Z') return localMs;
  if (offset === undefined) return calendar.instantOfLocal(localMs);
  const awayMs = timeOfDayMs(Number(offset.slice(1, 3)), Number(offset.slice(3).replace(':', '')), 0, '');
  if (awayMs === undefined) return undefined;
  return offset.startsWith('-') ? localMs + awayMs : localMs - awayMs;
}

function calendarDayMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const dayMs = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? dayMs : undefined;
}

function timeOfDayMs(hour: number, minute: number, second: number, fraction: string): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return ((hour * 60 + minute) * 60 + second) * 1_000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function calendarOf(timeZone: string, offsetMs: (instantMs: number) => number): ProductionCalendar {
  const dayNumberOf = (instantMs: number): number | undefined =>
    isDatable(instantMs) ? Math.floor((instantMs + offsetMs(instantMs)) / DAY_MS) : undefined;
  return {
    timeZone,
    dayNumberOf,
    dayOf: (instantMs) => {
      const day = dayNumberOf(instantMs);
      return day === undefined ? undefined : dayText(day);
    },
    localOf: (instantMs) => instantMs + offsetMs(instantMs),
    instantOfLocal: (localMs) => {
      // No zone changes its offset twice within two days, so these are the offsets on both sides of any nearby change.
      const before = localMs - offsetMs(localMs - DAY_MS);
      const after = localMs - offsetMs(localMs + DAY_MS);
      const candidates = [before, after].filter((instantMs) => instantMs + offsetMs(instantMs) === localMs);
      return candidates.length === 0 ? before : Math.min(...candidates);
    },
  };
}

/**
 * The offset of a zone at an instant, milliseconds. Looks up both ends of the instant's UTC day and caches the result;
 * looks up the instant itself only on the few days when the two differ.
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

// Calendar days as numbers: days since 1970-01-01.

/** Days from 1970-01-01 to `day` (YYYY-MM-DD). */
export function dayNumber(day: string): number {
  return Math.round(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
}

/** The day `number` days after 1970-01-01, YYYY-MM-DD. */
export function dayText(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

/**
 * The instant for a text: a day of the zone, or an ISO date-time. Throws UsageError that refers to the input as `name`.
 */
export function namedInstant(name: string, text: string, timeZone: string): number {
  const instantMs = instantOfDay(text, timeZone) ?? instantOfDateTime(text, productionCalendar(timeZone));
  if (instantMs !== undefined) return instantMs;
  throw new UsageError(`${name} ${JSON.stringify(text)} is not a day or a date-time`, {
    hint: 'Write a day of the calendar as 2024-03-31, or an ISO date-time as 2024-03-31T06:00:00Z.',
  });
}
