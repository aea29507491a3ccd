/** The days of one well, as checks read them: a value a day, by columns, with NaN for null. */
import { measureFields } from '../daily/row.ts';

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
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((days[middle] ?? 0) < day) low = middle + 1;
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
