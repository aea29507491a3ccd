/**
 * What a check is given: settings, the days of a well, the hours of each, what is known beside its rows and of its past; and
 * medians. Pure.
 */
import { dayText, instantOfDay, isTimeZone } from '../time/production-day.ts';
import { HOUR_MS } from '../time/window.ts';
import type { Severity } from '../alerts/kinds.ts';
import { measureFields } from '../daily/row.ts';

/** What the record of the well says (`wells.typeField` and others); what it does not say is undefined. */
export interface WellFacts {
  readonly type?: 'producer' | 'injector' | undefined;
  readonly isIdle?: boolean | undefined;
  readonly lift?: 'gas-lift' | 'esp' | undefined;
  /** The zone of the well's days, where it has one of its own. */
  readonly timeZone?: string | undefined;
  /** The day from which on this was known: what the well was before, nobody says. */
  readonly fromDay: number;
}

export interface CheckedWell {
  /** In a check they reach `reachDays` farther than the days that are evaluated, on both sides, as far as there are rows. */
  readonly days: WellDays;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
  /** Of the days that are evaluated, and of `reachDays` before. */
  readonly partials: readonly ReadPartial[];
  readonly judged: JudgedDays;
  /** Day number: later days are in the future. */
  readonly today: number;
  readonly hoursOf: HoursOfDay;
}

/** Indices of the days that are evaluated: from `from` on, before `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Day numbers, both of them included. */
export interface DayRange {
  readonly fromDay: number;
  readonly toDay: number;
}

/** The days of which it is judged whether they are jumps. */
export interface JudgedDays {
  readonly fromDay: number;
  /** Indices of them and of the days around by which they are judged. */
  readonly settled: Int32Array;
}

/** Adds what it finds in the span. */
export type Check = (
  well: CheckedWell,
  span: Span,
  settings: CheckSettings,
  add: (day: number, field: string, value: number, expected: number | null) => void,
) => void;

// The hours of a day: 23 and 25 where clocks change.

export type HoursOfDay = (day: number) => number;

const usualHours = 24;

/** In a zone, where days are midnight to midnight. */
export function hoursOfDays(timeZone: string): HoursOfDay {
  if (timeZone === 'UTC') return () => usualHours;
  return (day) => {
    const [from, to] = [instantOfDay(dayText(day), timeZone), instantOfDay(dayText(day + 1), timeZone)];
    // Behind the year 9999 there is no day.
    return from === undefined || to === undefined ? usualHours : (to - from) / HOUR_MS;
  };
}

// What the record of a well says of it, out of its own words.

/** The texts of a record, as they came; null where it has none. */
export interface WellTexts {
  readonly type: string | null;
  readonly status: string | null;
  readonly lift: string | null;
  readonly timeZone: string | null;
  /** Day number of the day on which the record came to say so. */
  readonly fromDay: number;
}

/**
 * Words are those of the vendor's documentation (PRODUCER, INJECTOR; ACTIVE, INACTIVE, ABANDONED), whatever their case and
 * their hyphens; of another word nothing is known.
 */
export function factsOf({ type, status, lift, timeZone, fromDay }: WellTexts): WellFacts {
  const kind = plain(type);
  return {
    type: kind.startsWith('PROD') ? 'producer' : kind.includes('INJ') ? 'injector' : undefined,
    isIdle: ['INACTIVE', 'ABANDONED'].includes(plain(status)),
    lift: liftOf(plain(lift)),
    timeZone: timeZone !== null && isTimeZone(timeZone) ? timeZone : undefined,
    fromDay,
  };
}

function liftOf(lift: string): WellFacts['lift'] {
  if (lift.includes('ESP') || lift.includes('SUBMERSIBLE')) return 'esp';
  return lift.includes('GASLIFT') ? 'gas-lift' : undefined;
}

function plain(word: string | null): string {
  return (word ?? '').toUpperCase().replaceAll(/[^A-Z]/g, '');
}

// The checks by name, and their numbers (`checks` of the configuration).

/** In the order of docs/production-data.md. Stored in `check_result`: a name never changes. */
export const checkNames = [
  'maybe-missing-zero',
  'hours-out-of-bounds',
  'production-while-down',
  'downtime-reason',
  'rate-or-volume',
  'negative',
  'stale-repeat',
  'jump',
  'excluded-stream',
  'day-identity',
  'unit-slip',
] as const;
export type CheckName = (typeof checkNames)[number];

/**
 * A finding of a day rests on rows at most so many days before and after it: what changes a row changes no finding farther
 * away. No number of the settings reaches farther.
 */
export const reachDays = 30;

/** The days before one, by which a well or a gauge is known. */
export const daysBefore = { before: reachDays, after: -1 } as const;

export interface CheckSettings {
  /** The checks that are made. */
  readonly names: readonly CheckName[];
  /** `info` where none is named. */
  readonly severity: Readonly<Partial<Record<CheckName, Severity>>>;
  /** Whose days may have 23 or 25 hours, where a well has no zone of its own. */
  readonly timeZone: string;
  /** A day with up to so many hours of downtime is one of full flow. */
  readonly fullFlowHours: number;
  /** By which hours may exceed their bounds: they are rounded. */
  readonly hoursTolerance: number;
  /** psig. */
  readonly leastPressure: number;
  /** Rows of the 30 days before by which a well or gauge is known. */
  readonly fewestDays: number;
  readonly partial: {
    /** Days with so many hours of downtime tell whether rates are of the day or of the hours on. */
    readonly fromHours: number;
    /** Full-flow days of which the median is taken. */
    readonly medianDays: number;
    /** How near a rate has to be, as a share. */
    readonly tolerance: number;
  };
  readonly repeatDays: number;
  readonly jump: {
    /** Full-flow days before and after, each. */
    readonly days: number;
    /** Days of full flow before one that may be a jump. */
    readonly settleDays: number;
    /** In units of 1.4826 x MAD, the standard deviation of a normal distribution. */
    readonly deviations: number;
    /** Of the median, as a share: what differs by less is no jump, however even the days around are. */
    readonly leastShare: number;
  };
  readonly unitSlip: {
    readonly days: number;
    readonly tolerance: number;
    readonly factors: readonly number[];
  };
}

export function severityOf({ severity }: Pick<CheckSettings, 'severity'>, check: CheckName): Severity {
  return severity[check] ?? 'info';
}

// The days of one well, as checks read them: a value a day, by columns, with NaN for null.

/** What checks read of a row, by the name of the service. */
export const checkedFields = [
  'oilRate',
  'gasRate',
  'waterRate',
  'tubingPressure',
  'casingPressure',
  'gaugePressure',
  'linePressure',
  'gasLiftInjectionRate',
  'espFrequency',
  'waterInjectionRate',
  'gasInjectionRate',
  'downtimeHours',
] as const;
export type CheckedField = (typeof checkedFields)[number];

export const codeField = 'downtimeCode';

/** The column of a field in daily_production, by which findings name it. */
export const columnOfField = Object.fromEntries(measureFields.map(({ name, column }) => [name, column])) as Readonly<
  Record<CheckedField | typeof codeField, string>
>;

/** Under a field whose values are all null stands undefined. */
type Values = Readonly<Record<CheckedField, Float64Array | undefined>>;

export interface WellDays {
  readonly length: number;
  /** Days since 1970-01-01, each once, ascending. */
  readonly days: Int32Array;
  /** Of `date`, milliseconds since 1970. */
  readonly instantsMs: Float64Array;
  /** Records of each day; undefined where each has one. */
  readonly records: Uint32Array | undefined;
  readonly values: Values;
  /** Reasons of downtime; undefined where all are null. */
  readonly codes: ReadonlyArray<string | null> | undefined;
}

/** The index of the first day that is not before `day`. */
export function indexOfDay({ days, length }: Pick<WellDays, 'days' | 'length'>, day: number): number {
  return firstNotBelow(days, day, 0, length);
}

/** The index of the first of ascending values, from `from` on and before `to`, that is not below a bound; `to` without one. */
export function firstNotBelow(values: Int32Array | Float64Array, bound: number, from: number, to: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** NaN for a value that is not known. */
export function valueAt(values: Float64Array | undefined, index: number): number {
  return values?.[index] ?? NaN;
}

/** The index of the next value below `bound`, from `from` on; `to` without one. */
export function nextBelow(values: Float64Array, from: number, to: number, bound: number): number {
  for (let index = from; index < to; index += 1) if ((values[index] ?? 0) < bound) return index;
  return to;
}

/** The index of the next value of `bound` or above, from `from` on; `to` without one. */
export function nextFrom(values: Float64Array, from: number, to: number, bound: number): number {
  for (let index = from; index < to; index += 1) if ((values[index] ?? 0) >= bound) return index;
  return to;
}

/** Whether oil, gas or water came. */
export function isProducing({ oilRate, gasRate, waterRate }: Values, index: number): boolean {
  return valueAt(oilRate, index) > 0 || valueAt(gasRate, index) > 0 || valueAt(waterRate, index) > 0;
}

/** A day without a number of hours counts as one of full flow. */
export function isFullFlow({ downtimeHours }: Values, index: number, fullFlowHours: number): boolean {
  return !(valueAt(downtimeHours, index) > fullFlowHours);
}

/** Days that are counted beside a day: from so many before it to so many after it; -1 leaves out the day itself. */
interface Reach {
  readonly before: number;
  readonly after: number;
}

/** By row, what `propertyOf` gives. */
export function propertiesOf({ length }: Pick<WellDays, 'length'>, propertyOf: (index: number) => number): Uint8Array {
  const properties = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) properties[index] = propertyOf(index);
  return properties;
}

/** How many of the rows around a day have a property, for one day after another. */
export class DaysAround {
  readonly #days: Int32Array;
  readonly #length: number;
  readonly #reach: Reach;
  readonly #properties: Uint8Array;
  readonly #counts: Int32Array;
  #from = 0;
  #to = 0;

  /** `properties`: by row the number of its property, below `count`. */
  constructor(
    { days, length }: Pick<WellDays, 'days' | 'length'>,
    reach: Reach,
    properties: Uint8Array,
    count: number,
  ) {
    this.#days = days;
    this.#length = length;
    this.#reach = reach;
    this.#properties = properties;
    this.#counts = new Int32Array(count);
  }

  /** The counts by property, until the next call. `index` is never below that of the call before. */
  at(index: number): Int32Array {
    const day = this.#days[index] ?? 0;
    const [first, last] = [day - this.#reach.before, day + this.#reach.after];
    if (this.#to === 0 || (this.#days[this.#to - 1] ?? 0) < first) {
      this.#counts.fill(0);
      this.#from = indexOfDay({ days: this.#days, length: this.#length }, first);
      this.#to = this.#from;
    }
    for (; this.#to < this.#length && (this.#days[this.#to] ?? 0) <= last; this.#to += 1) this.#count(this.#to, 1);
    for (; (this.#days[this.#from] ?? first) < first; this.#from += 1) this.#count(this.#from, -1);
    return this.#counts;
  }

  #count(index: number, by: number): void {
    const property = this.#properties[index] ?? 0;
    this.#counts[property] = (this.#counts[property] ?? 0) + by;
  }
}

// Medians that no value can break: sums of the largest doubles exceed what a double holds.

/** The standard deviation of a normal distribution, by its MAD. */
export const deviationOfMad = 1.4826;

/** Of the first `count` values, ascending; NaN without one. */
function medianOfSorted(sorted: Float64Array, count: number): number {
  const upper = sorted[count >> 1] ?? NaN;
  if (count === 0) return NaN;
  return count % 2 === 1 ? upper : (sorted[(count >> 1) - 1] ?? NaN) / 2 + upper / 2;
}

/**
 * The median of the distances of the first `count` values, ascending, from their median: the half of them that is nearest
 * lies in one piece around it.
 */
function deviationOfSorted(sorted: Float64Array, count: number, median: number): number {
  let above = 0;
  while (above < count && (sorted[above] ?? 0) < median) above += 1;
  let below = above - 1;
  let [last, before] = [NaN, NaN];
  for (let taken = 0; taken <= count >> 1; taken += 1) {
    const down = below >= 0 ? median - (sorted[below] ?? 0) : Infinity;
    const up = above < count ? (sorted[above] ?? 0) - median : Infinity;
    before = last;
    if (down < up) {
      last = down;
      below -= 1;
    } else {
      last = up;
      above += 1;
    }
  }
  return count % 2 === 1 ? last : before / 2 + last / 2;
}

/** A few values in order. */
export class SortedWindow {
  readonly sorted: Float64Array;
  count = 0;

  constructor(capacity: number) {
    this.sorted = new Float64Array(capacity);
  }

  add(value: number): void {
    const { sorted } = this;
    let at = this.count;
    for (; at > 0 && (sorted[at - 1] ?? 0) > value; at -= 1) sorted[at] = sorted[at - 1] ?? 0;
    sorted[at] = value;
    this.count += 1;
  }

  clear(): void {
    this.count = 0;
  }

  get median(): number {
    return medianOfSorted(this.sorted, this.count);
  }

  /** MAD: the median distance from the median. */
  deviation(median: number): number {
    return deviationOfSorted(this.sorted, this.count, median);
  }
}

// What a check needs of a well's past beyond the rows around a day: one small row a well, `check_history`. It is kept by the
// commits, and grows with no number of days.

/** A day of which the rate told whether it is one of the day or of the hours on. */
export interface PartialDay {
  readonly day: number;
  readonly isOperated: boolean;
}

export interface ReadPartial extends PartialDay {
  /** The column of the rate. */
  readonly field: string;
  readonly rate: number;
  /** Of the days of full flow before. */
  readonly median: number;
  /** The hours on by 24. */
  readonly share: number;
}

export interface CheckHistory {
  /** The codes of downtime, each with the first day that had it. */
  readonly codes: ReadonlyMap<string, number>;
  /** The last day of the rows by which the codes became known: those up to it are no news. Undefined without a code. */
  readonly codesKnownTo: number | undefined;
  /** Ascending. */
  readonly partials: readonly PartialDay[];
}

export const noHistory: CheckHistory = { codes: new Map(), codesKnownTo: undefined, partials: [] };

/** A well with more writes free text, of which each is new. */
const mostCodes = 64;
/** Characters of a code by which it is known. */
const codeChars = 64;
const mostPartials = 40;

export function codeText(code: string | null | undefined): string {
  return code?.trim().slice(0, codeChars) ?? '';
}

/** Whether a first day with a code says anything: of free text it does not. */
export function isCodeList({ codes }: CheckHistory): boolean {
  return codes.size < mostCodes;
}

/** The history with the codes of these days; the same one where nothing is new. */
export function withCodes(history: CheckHistory, { codes: column, days, length }: WellDays): CheckHistory {
  if (column === undefined) return history;
  let codes: Map<string, number> | undefined;
  let last: string | null = null;
  for (let index = 0; index < length; index += 1) {
    const code = column[index] ?? null;
    // Most days have none, or that of the day before.
    if (code === null || code === last) continue;
    last = code;
    const text = codeText(code);
    const day = days[index] ?? 0;
    const first = (codes ?? history.codes).get(text);
    if (text === '' || (first !== undefined && first <= day)) continue;
    if (first === undefined && (codes ?? history.codes).size >= mostCodes) continue;
    codes ??= new Map(history.codes);
    codes.set(text, day);
  }
  if (codes === undefined) return history;
  return { ...history, codes, codesKnownTo: history.codesKnownTo ?? days[length - 1] };
}

/** The history with these partial days in the place of those from `fromDay` to `toDay`, both of them included. */
export function withPartials(
  history: CheckHistory,
  { fromDay, toDay }: { readonly fromDay: number; readonly toDay: number },
  found: readonly PartialDay[],
): CheckHistory {
  const known = history.partials;
  if (found.length === 0 && known.length === 0) return history;
  let first = 0;
  while (first < known.length && (known[first]?.day ?? 0) < fromDay) first += 1;
  let end = first;
  while (end < known.length && (known[end]?.day ?? 0) <= toDay) end += 1;
  if (end - first === found.length && found.every((each, at) => isSamePartial(each, known[first + at]))) return history;
  // Of the thousands that a first load may find.
  const partials = [...known.slice(0, first), ...found.slice(-mostPartials), ...known.slice(end)].slice(-mostPartials);
  const isSame = partials.length === known.length && partials.every((each, at) => isSamePartial(each, known[at]));
  return isSame ? history : { ...history, partials };
}

function isSamePartial({ day, isOperated }: PartialDay, other: PartialDay | undefined): boolean {
  return other?.day === day && other.isOperated === isOperated;
}
