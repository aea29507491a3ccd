/**
 * Decides what a raw record of daily production is: a checked row, or one that breaks the contract and is quarantined
 * with the reason (DESIGN.md section 3). Driven by the fields of core/daily-production.ts; the documented truth is the
 * schema in service/contract.ts, and a property test holds the two together.
 */
import {
  measureFields,
  type DailyProductionRow,
  type FieldKind,
  type Measure,
  type QuarantinedRecord,
} from './daily-production.ts';
import { instantOfDateTime, type ProductionCalendar } from './production-day.ts';

export type CheckedRecord =
  | {
      readonly kind: 'row';
      readonly row: DailyProductionRow;
      /** Whether an absent required number took its documented default 0. */
      readonly defaulted: boolean;
      /** Names of the fields that the interface does not name: those in `row.extras`. */
      readonly extraFields: readonly string[];
    }
  | {
      readonly kind: 'quarantined';
      readonly record: QuarantinedRecord;
      /** The instant of its date, where that could be read. */
      readonly instantMs: number | undefined;
    };

/** A record as it stands in the answer that it came with: what its value may have lost is still there. */
export interface RecordText {
  whole(): string;
  member(name: string): string;
}

const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const positions: ReadonlyMap<string, number> = new Map(measureFields.map((field, position) => [field.name, position]));
/** What a field is worth that does not come: an optional one nothing, a required one its documented default. */
const absentMeasures: readonly Measure[] = measureFields.map((field) => (field.required ? 0 : null));
const requiredCount = measureFields.filter((field) => field.required).length;
const longestShownValue = 60;

/**
 * Checks one record as it came out of JSON. Absent optional = null; an absent required number = 0; null or a value of
 * another type where none may be = quarantined, and so is an int32 out of range or a date that does not exist. A date
 * without an offset is taken in the calendar's zone. What is quarantined is kept as it came, and so is an extra field.
 */
export function checkRecord(raw: unknown, calendar: ProductionCalendar, text: RecordText): CheckedRecord {
  if (!isRecord(raw)) return quarantine(text, [`the record is ${shown(raw)}, not an object`], {});
  const { measures, requiredSeen, extraFields, faults } = readMeasures(raw);
  const { xid, date } = raw;
  const id = typeof xid === 'string' && uuidPattern.test(xid) ? xid.toLowerCase() : undefined;
  const instantMs = typeof date === 'string' ? instantOfDateTime(date, calendar) : undefined;
  const day = instantMs === undefined ? undefined : calendar.dayOf(instantMs);
  if (day === undefined) faults.unshift(`date is ${shown(date)}, not a date-time`);
  if (id === undefined) faults.unshift(`xid is ${shown(xid)}, not a uuid`);
  if (faults.length > 0 || id === undefined || instantMs === undefined || day === undefined) {
    return quarantine(text, faults, { xid: id, instantMs, day });
  }
  const extras = extraFields.length === 0 ? null : jsonOf(raw, extraFields, text);
  const row = { xid: id, instantMs, day, measures, extras };
  return { kind: 'row', row, defaulted: requiredSeen < requiredCount, extraFields };
}

/** One pass over the fields that came rather than over those that may come: measured, a quarter of the time. */
function readMeasures(raw: Readonly<Record<string, unknown>>) {
  const measures = absentMeasures.slice();
  const extraFields: string[] = [];
  const faults: string[] = [];
  let requiredSeen = 0;
  for (const name in raw) {
    const position = positions.get(name);
    const field = position === undefined ? undefined : measureFields[position];
    if (position === undefined || field === undefined) {
      if (name !== 'xid' && name !== 'date') extraFields.push(name);
      continue;
    }
    const value = raw[name];
    if (field.required) requiredSeen += 1;
    if (isOfKind(value, field.kind)) measures[position] = value;
    else if (value !== null || field.required) faults.push(`${name} is ${shown(value)}, not ${wanted[field.kind]}`);
  }
  return { measures, requiredSeen, extraFields, faults };
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

const wanted: Readonly<Record<FieldKind, string>> = {
  double: 'a number',
  int32: 'a whole number of 32 bits',
  string: 'a text',
  boolean: 'true or false',
};

/** A field whose number has more digits than a double keeps stands in its own text. */
function jsonOf(raw: Readonly<Record<string, unknown>>, names: readonly string[], text: RecordText): string {
  const members = names.map((name) => {
    const value = raw[name];
    return `${JSON.stringify(name)}:${isExact(value) ? JSON.stringify(value) : text.member(name)}`;
  });
  return `{${members.join(',')}}`;
}

/** Decimal digits that every double gives back as they were. */
const exactDigits = 15;

function isExact(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && digitsOf(value) <= exactDigits;
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
}

function digitsOf(value: number): number {
  return String(value).replace(/e.*$/, '').replaceAll(/\D/g, '').length;
}

function quarantine(
  text: RecordText,
  faults: readonly string[],
  read: {
    readonly xid?: string | undefined;
    readonly instantMs?: number | undefined;
    readonly day?: string | undefined;
  },
): CheckedRecord {
  const { xid = null, day = null, instantMs } = read;
  return { kind: 'quarantined', record: { raw: text.whole(), reason: faults.join('; '), xid, day }, instantMs };
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > longestShownValue ? `${text.slice(0, longestShownValue)}…` : text;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
