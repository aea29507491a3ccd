/** The fields of a daily production row (docs/interface.md section 2.1), and what differs between two versions of one. */
import { columnOf } from '../base/text.ts';

export type FieldKind = 'double' | 'int32' | 'string' | 'boolean';

interface MeasureField {
  /** Exact name at the service. */
  readonly name: string;
  /** Column in the warehouse: the name in snake_case (docs/design.md section 7). */
  readonly column: string;
  readonly kind: FieldKind;
  /**
   * A required field is never null, but for those that an operator names ({@link nullableFields}). When it is absent it
   * takes its documented default 0, and the row counts as defaulted.
   */
  readonly required: boolean;
}

/** A record as it came, parsed. */
export type RawRecord = Readonly<Record<string, unknown>>;

function field(name: string, kind: FieldKind = 'double', required = false): MeasureField {
  return { name, column: columnOf(name), kind, required };
}

/**
 * Every field of DailyProduction except `xid` and `date`, in the order of docs/interface.md section 2.1, which names no
 * units.
 */
export const measureFields: readonly MeasureField[] = [
  field('oilRate', 'double', true),
  field('gasRate', 'double', true),
  field('waterRate', 'double', true),
  field('tubingPressure', 'double', true),
  field('casingPressure', 'double', true),
  field('choke', 'int32'),
  field('gaugePressure'),
  field('wellheadTemperature'),
  field('gaugeTemperature'),
  field('linePressure'),
  field('gasLiftInjectionRate'),
  field('espFrequency'),
  field('espIntakePressure'),
  field('espAmps'),
  field('espVolts'),
  field('espDischargePressure'),
  field('espMotorTemperature'),
  field('espVibration'),
  field('srpStrokesPerMin'),
  field('srpIntakePressure'),
  field('srpFluidLoad'),
  field('srpFillage'),
  field('downtimeHours'),
  field('downtimeCode', 'string'),
  field('waterInjectionRate'),
  field('gasInjectionRate'),
  field('isAnnularFlow', 'boolean'),
  field('isDualFlow', 'boolean'),
  field('pcpSpeed'),
  field('pcpTorque'),
  field('pcpIntakePressure'),
  field('pcpDischargePressure'),
];

/**
 * Required fields that an operator may let be null (`export.nullable`): a well without a gauge has no pressure. Rates are none
 * of them: a sum over a null rate is silently too small.
 */
export const nullableFields = ['tubingPressure', 'casingPressure'] as const;

/** The required fields in which null stands for an unknown value. */
export type NullableFields = ReadonlySet<string>;

export const noneNullable: NullableFields = new Set();

export type Measure = number | string | boolean | null;

/** One checked row, on its way into the columns of its window (row-columns.ts). */
export interface DailyProductionRow {
  /** Record identifier at the service: a UUID in lower case. */
  readonly xid: string;
  /** Instant of `date`, milliseconds since 1970-01-01T00:00Z. */
  readonly instantMs: number;
  /** Calendar day of the instant in the configured zone: days since 1970-01-01. */
  readonly day: number;
  /** One value for each of {@link measureFields}, in that order. */
  readonly measures: readonly Measure[];
  /** Fields that the interface does not name, as one JSON object; null when there are none. */
  readonly extras: string | null;
}

/** A record that breaks the contract of the interface. */
export interface QuarantinedRecord {
  /** The record as JSON text, unchanged: its first 65,536 characters. */
  readonly raw: string;
  /** Every fault, each with the name of its field. */
  readonly reason: string;
  /** xid and production day (YYYY-MM-DD) of the record; null when they cannot be read. */
  readonly xid: string | null;
  readonly day: string | null;
  /** As far as they are numbers, in the unit of the service. */
  readonly rates: Rates;
}

/** Rates of a day; null where one is not known. */
export interface Rates {
  readonly oil: number | null;
  readonly gas: number | null;
  readonly water: number | null;
}

// Record identifiers: UUIDs as text and as bytes.

/** Bytes of an xid, in the order in which it is written. */
export const xidBytes = 16;

/** Characters of an xid as text. */
export const xidChars = 36;
const hyphenCode = 45;
const hyphens: readonly number[] = [8, 13, 18, 23];

/** Where the two digits of each byte begin in the text. */
const digitsOfByte = Uint8Array.from(
  Array.from({ length: xidChars }, (_, position) => position)
    .filter((position) => !hyphens.includes(position))
    .filter((_, digit) => digit % 2 === 0),
);

const noDigit = 0xff;
/** Value of a hexadecimal digit, by its character code. */
const digitValues = new Uint8Array(128).fill(noDigit);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  digitValues[digit.charCodeAt(0)] = value;
  digitValues[digit.toUpperCase().charCodeAt(0)] = value;
}

const textBytes = Buffer.alloc(xidChars);

/** Writes the bytes of a UUID, in either case, to `bytes` from `offset` on. False for other text: some may be written. */
export function readXid(text: string, bytes: Uint8Array, offset: number): boolean {
  const isAsLong = text.length === xidChars && textBytes.write(text) === xidChars;
  return isAsLong && readXidBytes(textBytes, 0, bytes, offset);
}

/** As {@link readXid}, of the text in ASCII that begins at `start` in `text`. */
export function readXidBytes(text: Uint8Array, start: number, bytes: Uint8Array, offset: number): boolean {
  for (const position of hyphens) {
    if (text[start + position] !== hyphenCode) return false;
  }
  for (let byte = 0; byte < xidBytes; byte += 1) {
    const at = start + (digitsOfByte[byte] ?? 0);
    const high = digitValues[text[at] ?? 0] ?? noDigit;
    const low = digitValues[text[at + 1] ?? 0] ?? noDigit;
    if (high === noDigit || low === noDigit) return false;
    bytes[offset + byte] = high * 16 + low;
  }
  return true;
}

/** The xid of a row as text in lower case. */
export function xidText(xids: Uint8Array, row: number): string {
  const digits = Array.from(xids.subarray(row * xidBytes, (row + 1) * xidBytes), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// The fields that differ between two versions of a row, with old and new values (docs/design.md section 4.1).

/** A row as the warehouse held it during some period. */
export interface RowVersion {
  readonly xid: string;
  /** Instant of the row, ISO 8601 text. */
  readonly date: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  /** One value for each of `measureFields`, in that order. */
  readonly measures: readonly Measure[];
  readonly extras: string | null;
}

/**
 * `updated`: the record has other values. `replaced`: the record has a new xid, and may have other values too.
 * `removed`: the service no longer has the record.
 */
export type Change = 'updated' | 'replaced' | 'removed';

/** A superseded version of a row, and the version that replaced it. */
export interface RestatedVersion {
  readonly uwi: string;
  readonly change: Change;
  readonly runId: string;
  /** When the run noticed the change, ISO 8601 text. */
  readonly noticedAt: string;
  readonly old: RowVersion;
  /** Undefined when the row was removed. */
  readonly next: RowVersion | undefined;
}

/** One restated field of one row. */
export interface Restatement {
  /** Production day of the old version, YYYY-MM-DD. */
  readonly day: string;
  readonly uwi: string;
  readonly change: Change;
  /** Column of daily_production; null when the whole row was removed. */
  readonly field: string | null;
  readonly old: Measure;
  readonly new: Measure;
  readonly runId: string;
  readonly noticedAt: string;
}

type Field = readonly [name: string, of: (version: RowVersion) => Measure];

/** Every column in which two versions may differ, in the order of the table. */
const fields: readonly Field[] = [
  ['xid', ({ xid }) => xid],
  ['date', ({ date }) => date],
  ['production_day', ({ day }) => day],
  ...measureFields.map(({ column }, position): Field => [column, ({ measures }) => measures[position] ?? null]),
  ['extras', ({ extras }) => extras],
];

/**
 * One restatement for each field that differs, in the order of the table; a single one, without a field, for a removed
 * row.
 */
export function restatementsOf({ uwi, change, runId, noticedAt, old, next }: RestatedVersion): readonly Restatement[] {
  const where = { day: old.day, uwi, change };
  const when = { runId, noticedAt };
  if (next === undefined) return [{ ...where, field: null, old: null, new: null, ...when }];
  return fields.flatMap(([name, of]) =>
    of(old) === of(next) ? [] : [{ ...where, field: name, old: of(old), new: of(next), ...when }],
  );
}
