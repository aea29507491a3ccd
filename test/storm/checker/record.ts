/** What the warehouse should have of a record that the service sent, by docs/interface.md and docs/production-data.md. */
import type { RecordBody, TableRow } from '../evidence.ts';
import { dayMs, isSame, microsOf, objectOf } from './tables.ts';

type Kind = 'double' | 'int32' | 'string' | 'boolean';

/** Fields that are never null, and 0 where they are absent ("Null, zero and units"). */
const requiredFields: readonly string[] = ['oilRate', 'gasRate', 'waterRate', 'tubingPressure', 'casingPressure'];

const optionalDoubles =
  'gaugePressure wellheadTemperature gaugeTemperature linePressure gasLiftInjectionRate espFrequency espIntakePressure espAmps espVolts espDischargePressure espMotorTemperature espVibration srpStrokesPerMin srpIntakePressure srpFluidLoad srpFillage downtimeHours waterInjectionRate gasInjectionRate pcpSpeed pcpTorque pcpIntakePressure pcpDischargePressure';

const doubles = [...requiredFields, ...optionalDoubles.split(' ')];

/** Every field of a record beside `xid` and `date`, with its kind. */
export const fields: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...doubles.map((name) => [name, 'double'] as const),
  ['choke', 'int32'],
  ['downtimeCode', 'string'],
  ['isAnnularFlow', 'boolean'],
  ['isDualFlow', 'boolean'],
]);

/** A field in snake_case. */
export function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A record as a row: its values by column, with `date` in milliseconds since 1970 and `extras` as an object or null. */
export interface GoodRecord {
  readonly xid: string;
  readonly dateMs: number;
  readonly values: ReadonlyMap<string, unknown>;
  readonly extras: Readonly<Record<string, unknown>> | null;
}

export interface JudgedRecord {
  /** Undefined for a record that broke the contract. */
  readonly good: GoodRecord | undefined;
  /** In lower case; undefined where it cannot be read. */
  readonly xid: string | undefined;
  /** Undefined where it cannot be read, or lies in the future. */
  readonly dateMs: number | undefined;
  readonly isFuture: boolean;
}

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/**
 * Judges a record that was read at `nowMs` ("Quarantine"): what has no xid or date, null or another type where none may be,
 * text that cannot be stored, or a day after tomorrow is no row.
 */
export function judgeRecord(body: RecordBody, nowMs: number): JudgedRecord {
  const { xid: sent, date } = body;
  const xid = typeof sent === 'string' && uuid.test(sent) ? sent.toLowerCase() : undefined;
  const found = typeof date === 'string' ? instantOf(date) : undefined;
  const isFuture = found !== undefined && Math.floor(found / dayMs) > Math.floor(nowMs / dayMs) + 1;
  const dateMs = isFuture ? undefined : found;
  const isWhole = xid !== undefined && dateMs !== undefined && Object.entries(body).every(isAllowed);
  if (!isWhole) return { good: undefined, xid, dateMs, isFuture };
  const values = new Map([...fields.keys()].map((name) => [columnOf(name), valueOf(body, name)] as const));
  const unknown = Object.entries(body).filter(([name]) => !fields.has(name) && name !== 'xid' && name !== 'date');
  const extras = unknown.length === 0 ? null : Object.fromEntries(unknown);
  return { good: { xid, dateMs, values, extras }, xid, dateMs, isFuture };
}

function valueOf(body: RecordBody, name: string): unknown {
  return body[name] ?? (requiredFields.includes(name) ? 0 : null);
}

function isAllowed([name, value]: readonly [string, unknown]): boolean {
  const kind = fields.get(name);
  if (kind === undefined) return isStorable(name) && isStorableIn(value);
  if (value === null) return !requiredFields.includes(name);
  switch (kind) {
    case 'double':
      return typeof value === 'number' && Number.isFinite(value);
    case 'int32':
      return Number.isInteger(value) && Math.abs(Number(value) + 0.5) < 2 ** 31;
    case 'string':
      return typeof value === 'string' && isStorable(value);
    case 'boolean':
      return typeof value === 'boolean';
  }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function isStorableIn(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableIn(member));
}

const dateTime = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(?:\.(\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** Milliseconds since 1970; one without an offset is in UTC, the zone of a storm. Undefined for a date that does not exist. */
function instantOf(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) return undefined;
  const [, day = '', minute = '', second = ':00', fraction = '', offset = 'Z'] = match;
  const localMs = Date.parse(`${day}T${minute}${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`);
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(day)) return undefined;
  if (offset === 'Z') return localMs;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''));
  return localMs - (offset.startsWith('-') ? -1 : 1) * minutes * 60_000;
}

/** The columns in which a row of the warehouse differs from a record. */
export function differencesOf(row: TableRow, { dateMs, values, extras }: GoodRecord): readonly string[] {
  const stored = row['extras'];
  const hasExtras = stored !== null && stored !== undefined;
  const isSameExtras = extras === null ? !hasExtras : hasExtras && isSame(objectOf(stored), extras);
  return [
    ...(microsOf(row, 'date') === dateMs * 1_000 ? [] : ['date']),
    ...[...values].filter(([column, value]) => (row[column] ?? null) !== value).map(([column]) => column),
    ...(isSameExtras ? [] : ['extras']),
  ];
}
