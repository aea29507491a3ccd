/** The rows of a well as its days: of two records of a day one is the day's. */
import type { RowColumns } from '../daily/row-columns.ts';
import { measureFields, xidBytes } from '../daily/row.ts';
import { type CheckedField, checkedFields, codeField, type WellDays } from './well-days.ts';
import { DAY_MS, HOUR_MS } from '../time/window.ts';
import { type Check, reachDays } from './check.ts';

/** Rows in any order, each with its values. */
export interface CheckedRows {
  readonly length: number;
  readonly days: Int32Array;
  readonly instantsMs: Float64Array;
  readonly values: WellDays['values'];
  readonly codes: WellDays['codes'];
}

/**
 * `isAfter`: whether of two rows of one day the first is the later record, which is the one that is checked. Rows that come a
 * day each and in order are taken as they are.
 */
export function daysOfRows(rows: CheckedRows, isAfter: (row: number, other: number) => boolean): WellDays {
  const { length, days, instantsMs, values, codes } = rows;
  // In the order of the other one: optimised code takes objects of one shape, and is compiled again for another.
  if (isInOrder(rows)) return { length, days, instantsMs, records: undefined, values, codes };
  const order = Array.from({ length }, (_, row) => row).toSorted(
    (left, right) => (days[left] ?? 0) - (days[right] ?? 0) || (isAfter(left, right) ? 1 : -1),
  );
  const isLast = order.map((row, at) => days[row] !== days[order[at + 1] ?? -1]);
  const kept = Uint32Array.from(order.filter((_, at) => isLast[at] === true));
  const records = new Uint32Array(kept.length);
  let at = 0;
  for (const last of isLast) {
    records[at] = (records[at] ?? 0) + 1;
    if (last) at += 1;
  }
  const pick = <Values extends Float64Array | Int32Array>(from: Values, to: Values): Values => {
    for (const [index, row] of kept.entries()) to[index] = from[row] ?? 0;
    return to;
  };
  return {
    length: kept.length,
    days: pick(days, new Int32Array(kept.length)),
    instantsMs: pick(instantsMs, new Float64Array(kept.length)),
    records: records.some((count) => count > 1) ? records : undefined,
    values: valuesBy((field) => {
      const of = values[field];
      return of === undefined ? undefined : pick(of, new Float64Array(kept.length));
    }),
    codes: codes === undefined ? undefined : Array.from(kept, (row) => codes[row] ?? null),
  };
}

function isInOrder({ days, length }: CheckedRows): boolean {
  for (let row = 1; row < length; row += 1) if ((days[row] ?? 0) <= (days[row - 1] ?? 0)) return false;
  return true;
}

export function valuesBy(valuesOf: (field: CheckedField) => Float64Array | undefined): WellDays['values'] {
  return Object.fromEntries(checkedFields.map((field) => [field, valuesOf(field)])) as WellDays['values'];
}

const positions = new Map(measureFields.map(({ name }, position) => [name, position]));

/** The days of a well of which nothing is stored but what was read. Values without nulls are views of those that were read. */
export function daysOfReadings(readings: readonly RowColumns[]): WellDays {
  const [first] = readings;
  // The views of the measures are made each time that they are read.
  const rows = first !== undefined && readings.length === 1 ? viewOf(first) : joined(readings);
  return daysOfRows(
    {
      length: rows.length,
      days: rows.days,
      instantsMs: rows.instantsMs,
      values: valuesBy((field) => doublesOf(rows, field)),
      codes: codesOf(rows),
    },
    (row, other) => compareXids(rows.xids, row, other) > 0,
  );
}

type Read = Pick<RowColumns, 'length' | 'xids' | 'days' | 'instantsMs' | 'measures'>;

function viewOf({ length, xids, days, instantsMs, measures }: RowColumns): Read {
  return { length, xids, days, instantsMs, measures };
}

function joined(readings: readonly RowColumns[]): Read {
  const length = readings.reduce((sum, reading) => sum + reading.length, 0);
  const xids = new Uint8Array(length * xidBytes);
  const days = new Int32Array(length);
  const instantsMs = new Float64Array(length);
  let at = 0;
  for (const reading of readings) {
    xids.set(reading.xids.subarray(0, reading.length * xidBytes), at * xidBytes);
    days.set(reading.days.subarray(0, reading.length), at);
    instantsMs.set(reading.instantsMs.subarray(0, reading.length), at);
    at += reading.length;
  }
  const measures = measureFields.map((field, position): RowColumns['measures'][number] => {
    const columns = readings.map((reading) => reading.measures[position]);
    if (field.kind === 'string') {
      return { kind: 'string', values: columns.flatMap((column) => (column?.kind === 'string' ? column.values : [])) };
    }
    const values = new Float64Array(length);
    const nulls = new Uint8Array(length);
    let from = 0;
    for (const [index, column] of columns.entries()) {
      if (column !== undefined && column.kind !== 'string') {
        values.set(column.values, from);
        if (column.nulls !== undefined) nulls.set(column.nulls, from);
      }
      from += readings[index]?.length ?? 0;
    }
    return { kind: 'double', values, nulls };
  });
  return { length, xids, days, instantsMs, measures };
}

/** Undefined for a column of nulls alone. */
function doublesOf({ measures, length }: Read, field: CheckedField): Float64Array | undefined {
  const column = measures[positions.get(field) ?? -1];
  if (column?.kind !== 'double') throw new Error(`${field} is no column of doubles`);
  const { values, nulls } = column;
  if (nulls === undefined) return values;
  if (!nulls.includes(0)) return undefined;
  const known = new Float64Array(length);
  for (let row = 0; row < length; row += 1) known[row] = nulls[row] === 1 ? NaN : (values[row] ?? 0);
  return known;
}

function codesOf({ measures }: Read): WellDays['codes'] {
  const column = measures[positions.get(codeField) ?? -1];
  if (column?.kind !== 'string') throw new Error(`${codeField} is no column of texts`);
  return column.values.some((code) => code !== null) ? column.values : undefined;
}

function compareXids(xids: Uint8Array, row: number, other: number): number {
  return Buffer.compare(
    xids.subarray(row * xidBytes, (row + 1) * xidBytes),
    xids.subarray(other * xidBytes, (other + 1) * xidBytes),
  );
}

// Days of two records or more, days that have not come, and a change of the hour to which a service dates its records.

export const dayIdentity: Check = ({ days, today }, { from, to }, _settings, add) => {
  // Most records have the hour of the one before.
  let offsetBeforeMs = NaN;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    const records = days.records?.[index] ?? 1;
    if (records > 1) add(day, 'record', records, 1);
    if (day > today) add(day, 'date', day - today, 0);
    const offsetMs = (days.instantsMs[index] ?? 0) - day * DAY_MS;
    if (offsetMs !== offsetBeforeMs) {
      const before = hourBeforeChange(days, index);
      if (before !== undefined) add(day, 'date', hourOf(days, index), before);
    }
    offsetBeforeMs = offsetMs;
  }
};

/** The hour of the record before; undefined without one, where clocks changed, and where the hour is back after one odd day. */
function hourBeforeChange(days: WellDays, index: number): number | undefined {
  const hour = hourOf(days, index);
  const before = hourBefore(days, index, 1);
  if (before === undefined || isClockChange(hour - before)) return undefined;
  const earlier = hourBefore(days, index, 2);
  return earlier === undefined || !isClockChange(hour - earlier) ? before : undefined;
}

/** Hours from midnight UTC of the day to the instant of its record. */
function hourOf({ days, instantsMs }: WellDays, index: number): number {
  return ((instantsMs[index] ?? 0) - (days[index] ?? 0) * DAY_MS) / HOUR_MS;
}

function hourBefore(days: WellDays, index: number, rows: number): number | undefined {
  const at = index - rows;
  return at >= 0 && (days.days[at] ?? 0) >= (days.days[index] ?? 0) - reachDays ? hourOf(days, at) : undefined;
}

/** Clocks change by an hour in most zones, and by half an hour in one; a fixed local time moves so against UTC. */
function isClockChange(hours: number): boolean {
  return Math.abs(hours) <= 1;
}
