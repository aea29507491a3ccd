/** All checks of some days of a well, and what they find. */
import {
  type Check,
  type CheckedField,
  checkedFields,
  type CheckedWell,
  type CheckHistory,
  type CheckName,
  type CheckSettings,
  codeField,
  type DayRange,
  indexOfDay,
  type JudgedDays,
  reachDays,
  type Span,
  type WellDays,
  withCodes,
  withPartials,
} from './check.ts';
import { downtimeReason, hoursOutOfBounds, productionWhileDown, rateOrVolume, readPartials } from './downtime.ts';
import { dayIdentity, excludedStream, maybeMissingZero, negative, staleRepeat } from './suspect-values.ts';
import { judgedDays, jump } from './jump.ts';
import { unitSlip } from './unit-slip.ts';
import type { RowColumns } from '../daily/row-columns.ts';
import { measureFields, xidBytes } from '../daily/row.ts';

const checks: Readonly<Record<CheckName, Check>> = {
  'maybe-missing-zero': maybeMissingZero,
  'hours-out-of-bounds': hoursOutOfBounds,
  'production-while-down': productionWhileDown,
  'downtime-reason': downtimeReason,
  'rate-or-volume': rateOrVolume,
  negative,
  'stale-repeat': staleRepeat,
  jump,
  'excluded-stream': excludedStream,
  'day-identity': dayIdentity,
  'unit-slip': unitSlip,
};

/**
 * Of checks whose findings rest on no later day than so many after their own, and on nothing beside rows: the days before a
 * changed one that are evaluated again. Of the others it is all that may rest on it, and so findings go there that what is known
 * beside the rows no longer bears out: the record of the well, its codes, what day it is.
 */
const daysAhead: Readonly<Partial<Record<CheckName, (settings: CheckSettings) => number>>> = {
  'hours-out-of-bounds': () => 0,
  'rate-or-volume': () => 0,
  negative: () => 0,
  'stale-repeat': ({ repeatDays }) => repeatDays,
};

/** The days whose rows the findings rest on that may change where rows of these days have. */
export function readDays({ fromDay, toDay }: DayRange): DayRange {
  return { fromDay: fromDay - 2 * reachDays, toDay: toDay + 2 * reachDays };
}

export interface Evaluated {
  /** In the order of the checks, and of days within each. */
  readonly findings: readonly Finding[];
  /** The days that a check evaluated: what it found of them before may no longer hold. */
  readonly rangeOf: (check: CheckName) => DayRange;
  /** The same one as before where nothing is new. */
  readonly history: CheckHistory;
}

/**
 * The findings that may change where rows of the days of `touched` have; `well.days` are those of {@link readDays}, as far as they
 * have rows. Never throws, whatever the numbers are.
 */
export function evaluate(
  { days, facts, history: known, today, hoursOf }: Omit<CheckedWell, 'partials' | 'judged'>,
  touched: DayRange,
  settings: CheckSettings,
): Evaluated {
  const history = withCodes(known, days);
  const has = (name: CheckName): boolean => settings.names.includes(name);
  const judged = has('jump') ? judgedDays(days, touched, settings) : notJudged;
  const rangeOf = rangesOf(touched, judged.fromDay, settings);
  const own: Span = { from: indexOfDay(days, touched.fromDay), to: indexOfDay(days, touched.toDay + reachDays + 1) };
  const spanFrom = (fromDay: number): Span => {
    return fromDay === touched.fromDay ? own : { from: indexOfDay(days, fromDay), to: own.to };
  };
  // Of days before as well: they tell the habit of a well of which the history says nothing there.
  const partialDays = { fromDay: touched.fromDay - reachDays, toDay: touched.toDay + reachDays };
  const partials = has('rate-or-volume') ? readPartials(days, spanFrom(partialDays.fromDay), settings) : [];
  const given: CheckedWell = { days, facts, history, partials, judged, today, hoursOf };
  const findings = new Findings();
  for (const name of settings.names) {
    const span = spanFrom(rangeOf(name).fromDay);
    if (span.from >= span.to) continue;
    findings.begin(name);
    checks[name](given, span, settings, findings.add);
  }
  return { findings: findings.list, rangeOf, history: withPartials(history, partialDays, partials) };
}

const notJudged: JudgedDays = { fromDay: 0, settled: new Int32Array(0) };

/** A function of its own: it lives on, and the rows of the well do not. A check that is not made has no findings around the days. */
function rangesOf({ fromDay, toDay }: DayRange, judgedFromDay: number, settings: CheckSettings): Evaluated['rangeOf'] {
  return (check) => {
    const isMade = settings.names.includes(check);
    const range = { fromDay: fromDay - reachDays, toDay: toDay + reachDays };
    if (!isMade) return range;
    if (check === 'jump') return { ...range, fromDay: judgedFromDay };
    return { ...range, fromDay: fromDay - (daysAhead[check]?.(settings) ?? reachDays) };
  };
}

// What checks find.

/** Of one day; a check has one a day. */
export interface Finding {
  readonly check: CheckName;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** The column of daily_production, or `gas_oil_ratio`, `water_cut` or `record`. */
  readonly field: string;
  /** Null where no number says it. */
  readonly value: number | null;
  /** What the value should be, or its bound; null where that is not known. */
  readonly expected: number | null;
}

/** Of a check the first finding of a day counts. */
class Findings {
  readonly list: Finding[] = [];
  #check: CheckName = 'negative';
  #days: Set<number> | undefined;

  begin(check: CheckName): void {
    this.#check = check;
    this.#days = undefined;
  }

  readonly add = (day: number, field: string, value: number, expected: number | null): void => {
    this.#days ??= new Set();
    if (this.#days.has(day)) return;
    this.#days.add(day);
    this.list.push({
      check: this.#check,
      day,
      field,
      value: finiteOf(value),
      expected: expected && finiteOf(expected),
    });
  };
}

/** -0 is 0, and what is no number is not known. */
function finiteOf(value: number): number | null {
  return Number.isFinite(value) ? value + 0 : null;
}

// The rows of a well as its days: of two records of a day one is the day's.

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

/** `valuesOf` is also given the position of the field among those that are checked. */
export function valuesBy(
  valuesOf: (field: CheckedField, position: number) => Float64Array | undefined,
): WellDays['values'] {
  const values: Partial<Record<CheckedField, Float64Array | undefined>> = {};
  for (const [position, field] of checkedFields.entries()) values[field] = valuesOf(field, position);
  return values as WellDays['values'];
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
