/**
 * Checks a raw record of daily production. The result is a row, or a quarantined record with the reason (docs/design.md
 * section 3). The fields come from row.ts; a property test keeps them equal to the schema in service/contract.ts.
 */
import { figure, isTooDeep, mostLevels, shortened } from '../base/text.ts';
import { dayText, instantOfDateTime, type ProductionCalendar } from '../time/production-day.ts';
import {
  type DailyProductionRow,
  type FieldKind,
  type Measure,
  measureFields,
  noneNullable,
  type NullableFields,
  type QuarantinedRecord,
  type Rates,
  type RawRecord,
} from './row.ts';

export type CheckedRecord =
  | {
      readonly kind: 'row';
      readonly row: DailyProductionRow;
      /** Whether an absent required number took its documented default 0. */
      readonly defaulted: boolean;
      /** Names of the fields in `row.extras`: those that the interface does not name. */
      readonly extraFields: readonly string[];
    }
  | {
      readonly kind: 'quarantined';
      readonly record: QuarantinedRecord;
      /** Instant of the record's date; undefined when it cannot be read, or lies in the future. */
      readonly instantMs: number | undefined;
    };

/** The JSON text of a record as the service sent it. It keeps digits that the parsed value may have lost. */
export interface RecordText {
  /** The first `mostChars` characters. */
  whole(mostChars: number): string;
  /** SHA-256 of all of it, in hex: two records may begin alike. */
  digest(): string;
  member(name: string): string;
}

/** Stands for a record that is too large to be parsed: it is quarantined for `reason`. `xid` and `date` are parsed. */
export class UnreadRecord {
  readonly reason: string;
  readonly xid: unknown;
  readonly date: unknown;

  constructor(reason: string, xid: unknown, date: unknown) {
    this.reason = reason;
    this.xid = xid;
    this.date = date;
  }
}

/** Bounds of what one row, or one quarantined record, takes in memory and in the warehouse (G8). */
export const mostTextChars = 65_536;
const mostExtraFields = 1_000;

const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const positions: ReadonlyMap<string, number> = new Map(measureFields.map((field, position) => [field.name, position]));
/** Values of absent fields: null for an optional one, the documented default for a required one. */
const absentMeasures: readonly Measure[] = measureFields.map((field) => (field.required ? 0 : null));
const requiredCount = measureFields.filter((field) => field.required).length;
const longestShownValue = 60;

/**
 * The last day that a record may have at a time: tomorrow in the calendar's zone, so that neither a clock that is late nor
 * the zone of the service matters. A production day that lies after it is a slip of who typed it.
 */
export function latestDayAt(nowMs: number, calendar: ProductionCalendar): number {
  const today = calendar.dayNumberOf(nowMs);
  return today === undefined ? Infinity : today + 1;
}

/** What a record is held to beside the contract. */
export interface RecordRules {
  /** The last day that a record may have, a day number; any if omitted. */
  readonly latestDay?: number | undefined;
  /** Required fields in which null is no fault; none if omitted. */
  readonly nullable?: NullableFields | undefined;
}

/**
 * Checks one parsed JSON record. An absent optional field is null; an absent required number is 0. The record is
 * quarantined for null or another type where the field does not allow it (a `nullable` one allows null), for an int32 out of
 * range, for a date that does not exist, for one whose day lies after `latestDay` (such a record has no place in time), for
 * text that is not Unicode, for more than 64 levels of arrays and objects, for more than 1,000 extra fields, and for a text
 * or extra fields of more than 65,536 characters. A date without an offset is in the calendar's zone. Quarantined records
 * and extra fields keep their original text, a quarantined record its first 65,536 characters:
 * the reason then has the digest of the whole.
 */
export function checkRecord(
  raw: unknown,
  calendar: ProductionCalendar,
  text: RecordText,
  { latestDay = Infinity, nullable = noneNullable }: RecordRules = {},
): CheckedRecord {
  if (!isRecord(raw)) return quarantine(text, [`the record is ${shown(raw)}, not an object`], noRates, {});
  const { measures, requiredSeen, extraFields, faults } =
    raw instanceof UnreadRecord ? unread(raw) : readMeasures(raw, nullable);
  const { xid, date } = raw;
  const id = typeof xid === 'string' && uuidPattern.test(xid) ? xid.toLowerCase() : undefined;
  const dated = typeof date === 'string' ? dateOf(date, calendar, latestDay) : 'no-date';
  if (dated === 'no-date') faults.unshift(`date is ${shown(date)}, not a date-time`);
  if (dated === 'future') faults.unshift(`date is ${shown(date)}, dated in the future: after ${dayText(latestDay)}`);
  const { instantMs, day } = typeof dated === 'string' ? nowhere : dated;
  if (id === undefined) faults.unshift(`xid is ${shown(xid)}, not a uuid`);
  if (faults.length > 0 || id === undefined || instantMs === undefined || day === undefined) {
    return quarantine(text, faults, ratesOf(raw), { xid: id, instantMs, day });
  }
  const extras = extraFields.length === 0 ? null : jsonOf(raw, extraFields, text);
  if (extras !== null && extras.length > mostTextChars) {
    return quarantine(text, [`its extra fields take ${tooLong(extras)}`], ratesOf(raw), { xid: id, instantMs, day });
  }
  const row = { xid: id, instantMs, day, measures, extras };
  return { kind: 'row', row, defaulted: requiredSeen < requiredCount, extraFields };
}

const nowhere = { instantMs: undefined, day: undefined };

function dateOf(date: string, calendar: ProductionCalendar, latestDay: number) {
  const instantMs = instantOfDateTime(date, calendar);
  const day = instantMs === undefined ? undefined : calendar.dayNumberOf(instantMs);
  if (instantMs === undefined || day === undefined) return 'no-date';
  return day > latestDay ? 'future' : { instantMs, day };
}

/** One pass over the fields present, not over all known fields: measured, a quarter of the time. */
function readMeasures(raw: RawRecord, nullable: NullableFields) {
  const measures = absentMeasures.slice();
  const extraFields: string[] = [];
  const faults: string[] = [];
  let requiredSeen = 0;
  for (const name in raw) {
    const position = positions.get(name);
    const field = position === undefined ? undefined : measureFields[position];
    if (position === undefined || field === undefined) {
      if (name === 'xid' || name === 'date') continue;
      extraFields.push(name);
      const fault = faultOfExtra(name, raw[name]);
      if (fault !== undefined) faults.push(fault);
      continue;
    }
    const value = raw[name];
    if (field.required) requiredSeen += 1;
    if (typeof value === 'string' && !isStorableText(value)) faults.push(`${name} ${faultOfText(value)}`);
    else if (typeof value === 'string' && value.length > mostTextChars) faults.push(`${name} has ${tooLong(value)}`);
    else if (isOfKind(value, field.kind)) measures[position] = value;
    else if (value === null && nullable.has(name)) measures[position] = null;
    else if (value !== null || field.required) faults.push(`${name} is ${shown(value)}, not ${wanted[field.kind]}`);
  }
  if (extraFields.length > mostExtraFields) {
    faults.push(`it has ${figure(extraFields.length)} extra fields, more than ${figure(mostExtraFields)}`);
  }
  return { measures, requiredSeen, extraFields, faults };
}

function unread({ reason }: UnreadRecord): ReturnType<typeof readMeasures> {
  return { measures: [...absentMeasures], requiredSeen: requiredCount, extraFields: [], faults: [reason] };
}

function tooLong({ length }: string): string {
  return `${figure(length)} characters, more than ${figure(mostTextChars)}`;
}

const notUnicode = 'is text that is not Unicode: bytes that are not UTF-8, or half a surrogate pair';

const hasNul = 'has the character U+0000, which a warehouse in PostgreSQL cannot hold';

/** Whether every warehouse holds a text as it is: a record must not depend on which one it meets. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Of a text that is not storable. */
function faultOfText(text: string): string {
  return text.isWellFormed() ? hasNul : notUnicode;
}

/** Undefined for a field that can be stored as it is. */
function faultOfExtra(name: string, value: unknown): string | undefined {
  if (!isStorableText(name)) return `the name of the field ${shown(name)} ${faultOfText(name)}`;
  if (isTooDeep(value, mostLevels - 1)) return `${name} is nested more than ${mostLevels} levels deep`;
  const text = unstorableIn(value);
  return text === undefined ? undefined : `${name} ${faultOfText(text)}`;
}

/** The first text in a value, of a name or a member, that is not storable. For a value that is not too deep. */
function unstorableIn(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = isStorableText(name) ? unstorableIn(member) : name;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOfKind(value: unknown, kind: FieldKind): value is number | string | boolean {
  switch (kind) {
    case 'double':
      return Number.isFinite(value);
    case 'int32':
      return typeof value === 'number' && (value | 0) === value;
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
  }
}

/** What a value of a field is to be, in words. */
const wanted: Readonly<Record<FieldKind, string>> = {
  double: 'a number',
  int32: 'a whole number of 32 bits',
  string: 'a text',
  boolean: 'true or false',
};

/**
 * The named fields as a JSON object. A value with a number that a double does not keep is copied from the original text.
 */
function jsonOf(raw: RawRecord, names: readonly string[], text: RecordText): string {
  const members = names.map((name) => `${JSON.stringify(name)}:${jsonOfMember(raw[name], () => text.member(name))}`);
  return `{${members.join(',')}}`;
}

function jsonOfMember(value: unknown, original: () => string): string {
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null)) return JSON.stringify(value);
  const text = original();
  return numbersIn(text).every(isExact) ? JSON.stringify(value) : text;
}

/** The numbers of a JSON text, as they stand there. */
function numbersIn(text: string): readonly string[] {
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][-+.\dEe]*/g) ?? [];
  return tokens.filter((token) => !token.startsWith('"'));
}

/** Decimal digits that survive a round trip through a double, and the least number of which they do. */
const exactDigits = 15;
const leastNormal = 2 ** -1_022;

/** Looks at the digits as they were sent: 0.1 followed by 28 zeros and a 1 is another number than the double 0.1. */
function isExact(text: string): boolean {
  const [digits = ''] = text.replaceAll(/[-.]/g, '').split(/e/i);
  const significant = digits.replace(/^0+/, '').replace(/0+$/, '').length;
  // JSON.stringify drops the sign of -0.
  if (significant === 0) return !text.startsWith('-');
  const size = Math.abs(Number(text));
  return significant <= exactDigits && size >= leastNormal && size < Infinity;
}

/** Whether a quarantined record keeps no more than the start of its text. */
export function isCut(raw: string): boolean {
  return raw.length >= mostTextChars;
}

/** Stands before the digest of a whole record and a bracket, which end the reason of a quarantined record that is cut. */
export const digestLead = '(SHA-256 of all: ';

function cutShort(text: RecordText): string {
  return `only its first ${figure(mostTextChars)} characters are kept ${digestLead}${text.digest()})`;
}

const noRates: Rates = { oil: null, gas: null, water: null };

/** What a record in quarantine would add to production. One that is too large to be parsed has none that is known. */
function ratesOf(raw: RawRecord | UnreadRecord): Rates {
  if (raw instanceof UnreadRecord) return noRates;
  const of = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);
  return { oil: of(raw['oilRate']), gas: of(raw['gasRate']), water: of(raw['waterRate']) };
}

function quarantine(
  text: RecordText,
  faults: readonly string[],
  rates: Rates,
  read: {
    readonly xid?: string | undefined;
    readonly instantMs?: number | undefined;
    readonly day?: number | undefined;
  },
): CheckedRecord {
  const { xid = null, instantMs } = read;
  const day = read.day === undefined ? null : dayText(read.day);
  const raw = text.whole(mostTextChars);
  const reason = [...faults, ...(isCut(raw) ? [cutShort(text)] : [])].join('; ');
  return { kind: 'quarantined', record: { raw, reason, xid, day, rates }, instantMs };
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  if (isTooDeep(value)) return `a value nested more than ${mostLevels} levels deep`;
  return shortened(typeof value === 'number' ? String(value) : JSON.stringify(value), longestShownValue);
}

function isRecord(value: unknown): value is RawRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// What is wrong with a quarantined record, without the values that it has: the same for all that are wrong alike. Pure.

const kinds = [...Object.values(wanted), 'a uuid', 'a date-time', 'an object'].join('|');

/** `oilRate is "12 x", not a number`. That one is null or absent is a fault of its own. */
const valued = new RegExp(
  ` is (?!(?:null|absent), ).*?, (not (?:${kinds})|dated in the future)(?:: after [-\\d]+)?(?=; |$)`,
  'g',
);
const sized = /\d[\d,]*(?= (?:characters|bytes|extra fields)\b)/g;
const namedField = /the name of the field .*? (?=is text that|has the character)/g;

/** The cause of a reason that `checkRecord` gave: its fields and their faults. */
export function causeOfReason(reason: string): string {
  const kept = reason.lastIndexOf('; only its first ');
  const faults = kept >= 0 && reason.includes(digestLead, kept) ? reason.slice(0, kept) : reason;
  return faults
    .replaceAll(valued, ' is $1')
    .replaceAll(sized, 'so many')
    .replaceAll(namedField, 'the name of a field ');
}
