/**
 * Values far from those of the days around (a Hampel filter; Saputelli and Carvajal, Intelligent Digital Oil and Gas Fields,
 * p. 84): rates, the gas-oil ratio and the water cut, of settled days among such days. A lasting change is none: a day is judged
 * once the next settled one is known, since three of four that stand out on their first morning do not on the next.
 */
import {
  type Check,
  type CheckSettings,
  columnOfField,
  deviationOfMad,
  indexOfDay,
  isFullFlow,
  isProducing,
  reachDays,
  SortedWindow,
  type Span,
  valueAt,
  type WellDays,
} from './check.ts';

type Add = Parameters<Check>[3];

/** A change of the water by less of the liquid is none: a dry well makes twice the water from one day to the next. */
const leastOfLiquid = 0.01;

export const jump: Check = ({ days }, span, settings, add) => {
  const settled = settledDays(days, span, settings);
  if (settled.length <= settings.fewestDays) return;
  const finder = new JumpFinder(days, settled, span, settings);
  const { oilRate, gasRate, waterRate } = days.values;
  const leastOfDay = (index: number): number => leastOfLiquid * (valueAt(oilRate, index) + valueAt(waterRate, index));
  if (oilRate !== undefined) finder.find(columnOfField.oilRate, { of: oilRate }, add);
  if (gasRate !== undefined) finder.find(columnOfField.gasRate, { of: gasRate }, add);
  if (waterRate !== undefined) finder.find(columnOfField.waterRate, { of: waterRate, leastOf: leastOfDay }, add);
  if (oilRate === undefined) return;
  if (gasRate !== undefined) finder.find('gas_oil_ratio', { of: gasRate, by: oilRate }, add);
  if (waterRate === undefined) return;
  finder.find('water_cut', { of: waterRate, by: oilRate, isOfSum: true, leastOf: () => leastOfLiquid }, add);
};

/**
 * Indices of the settled days in the span and around it: days of full flow after such days. A well that was down flows otherwise
 * for some days, which is no fault of the data.
 */
function settledDays(
  { days, length, values }: WellDays,
  { from, to }: Span,
  { fullFlowHours, jump: { settleDays } }: CheckSettings,
): Int32Array {
  const first = indexOfDay({ days, length }, (days[from] ?? 0) - reachOfWindow(settleDays));
  const end = indexOfDay({ days, length }, (days[to - 1] ?? 0) + reachOfWindow(settleDays) + 1);
  const settled = new Int32Array(end - first);
  let [count, flowed, dayBefore] = [0, 0, 0];
  for (let index = Math.max(0, first - settleDays); index < end; index += 1) {
    const day = days[index] ?? 0;
    const isNext = day === dayBefore + 1;
    dayBefore = day;
    flowed = isFullFlow(values, index, fullFlowHours) && isProducing(values, index) ? (isNext ? flowed : 0) + 1 : 0;
    if (flowed <= settleDays || index < first) continue;
    settled[count] = index;
    count += 1;
  }
  return settled.subarray(0, count);
}

/** Whether a day of the window is settled rests on days before it: together they lie within the reach. */
function reachOfWindow(settleDays: number): number {
  return reachDays - settleDays;
}

/** What is looked at: values as they are, or a ratio of them. */
interface Series {
  readonly of: Float64Array;
  /** By what the values are divided. */
  readonly by?: Float64Array;
  /** By the sum of both instead. */
  readonly isOfSum?: boolean;
  /** What a difference on the day of an index has to exceed beside its share of the median. */
  readonly leastOf?: (index: number) => number;
}

/** Goes through the settled days of one series after the other. */
class JumpFinder {
  readonly #days: WellDays;
  readonly #settled: Int32Array;
  readonly #span: Span;
  readonly #settings: CheckSettings;
  readonly #reach: number;
  readonly #window: SortedWindow;
  /** Of the series, on the settled days on which it is known: the index and number of the day, and the value. */
  readonly #indices: Int32Array;
  readonly #dayNumbers: Int32Array;
  readonly #values: Float64Array;
  #count = 0;
  /** The window of the value that is judged: its first, and before the end behind its last. */
  #from = 0;
  #end = 0;

  constructor(days: WellDays, settled: Int32Array, span: Span, settings: CheckSettings) {
    this.#days = days;
    this.#settled = settled;
    this.#span = span;
    this.#settings = settings;
    this.#reach = reachOfWindow(settings.jump.settleDays);
    this.#window = new SortedWindow(2 * settings.jump.days + 1);
    this.#indices = new Int32Array(settled.length);
    this.#dayNumbers = new Int32Array(settled.length);
    this.#values = new Float64Array(settled.length);
  }

  find(field: string, series: Series, add: Add): void {
    this.#fill(series);
    for (let at = 0; ; at += 1) {
      at = this.#nextExtreme(at);
      if (at >= this.#count - 1) return;
      const index = this.#indices[at] ?? 0;
      if (index < this.#span.from || index >= this.#span.to) continue;
      const day = this.#dayNumbers[at] ?? 0;
      if ((this.#dayNumbers[at + 1] ?? 0) - day > this.#reach) continue;
      const second = this.#secondOf(at);
      if (Number.isNaN(second) || !this.#mayBeFar(at, second)) continue;
      const median = this.#medianIfFar(at, second, series.leastOf?.(index) ?? 0);
      if (median !== undefined) add(day, field, this.#values[at] ?? 0, median);
    }
  }

  /** Takes the values that are known. A ratio without oil, or of a negative rate, is none. */
  #fill({ of, by, isOfSum = false }: Series): void {
    const [indices, dayNumbers, values, settled] = [this.#indices, this.#dayNumbers, this.#values, this.#settled];
    const { days } = this.#days;
    let count = 0;
    for (let at = 0; at < settled.length; at += 1) {
      const index = settled[at] ?? 0;
      const part = of[index] ?? NaN;
      let value = part;
      if (by !== undefined) {
        const whole = isOfSum ? (by[index] ?? NaN) + part : (by[index] ?? NaN);
        const ratio = part / whole;
        value = whole > 0 && part >= 0 && ratio < Infinity ? ratio : NaN;
      }
      if (Number.isNaN(value)) continue;
      indices[count] = index;
      dayNumbers[count] = days[index] ?? 0;
      values[count] = value;
      count += 1;
    }
    this.#count = count;
  }

  /**
   * The position of the next value, from `at` on, that is far above or far below its neighbours (that after it alone, where none is
   * near before); that of the last value without one. A well that comes to flow otherwise goes through what lies between: most
   * days are no extreme.
   */
  #nextExtreme(at: number): number {
    const [values, dayNumbers] = [this.#values, this.#dayNumbers];
    const { leastShare } = this.#settings.jump;
    const [higher, lower] = [1 + leastShare, Math.max(0, 1 - leastShare)];
    const last = this.#count - 1;
    for (let next = at; next < last; next += 1) {
      const value = values[next] ?? 0;
      const after = values[next + 1] ?? 0;
      const isPeak = value > after * higher;
      // What is negative is another check's.
      if (value < 0 || (!isPeak && value >= after * lower)) continue;
      if (next === 0) return next;
      const before = values[next - 1] ?? 0;
      if (isPeak ? value > before * higher : value < before * lower) return next;
      if ((dayNumbers[next] ?? 0) - (dayNumbers[next - 1] ?? 0) > this.#reach) return next;
    }
    return last;
  }

  /** The largest of the other values of the window, or the smallest; NaN where that at `at` is not beyond all of them. */
  #secondOf(at: number): number {
    const [values, dayNumbers, reach] = [this.#values, this.#dayNumbers, this.#reach];
    const { days: each } = this.#settings.jump;
    const [first, last] = [Math.max(0, at - each), Math.min(this.#count - 1, at + each)];
    const value = values[at] ?? 0;
    const isPeak = value > (values[at + 1] ?? 0);
    const day = dayNumbers[at] ?? 0;
    let second = isPeak ? -Infinity : Infinity;
    for (let other = at - 1; other >= first && day - (dayNumbers[other] ?? 0) <= reach; other -= 1) {
      const it = values[other] ?? 0;
      if (isPeak ? it >= value : it <= value) return NaN;
      second = isPeak ? Math.max(second, it) : Math.min(second, it);
    }
    for (let other = at + 1; other <= last && (dayNumbers[other] ?? 0) - day <= reach; other += 1) {
      const it = values[other] ?? 0;
      if (isPeak ? it >= value : it <= value) return NaN;
      second = isPeak ? Math.max(second, it) : Math.min(second, it);
    }
    return second;
  }

  /**
   * Takes the window of a value. False where it has too few days, or where its median cannot be near enough to the second on that
   * side: of values that scatter these are most, and need no sorting.
   */
  #mayBeFar(at: number, second: number): boolean {
    const values = this.#values;
    const {
      fewestDays,
      jump: { deviations },
    } = this.#settings;
    this.#takeWindow(at);
    const [from, end] = [this.#from, this.#end];
    const value = values[at] ?? 0;
    const bound = (deviations * second - value) / (deviations - 1);
    const isPeak = value > second;
    let count = 0;
    for (let other = from; other < end; other += 1) {
      const it = values[other] ?? 0;
      if (isPeak ? it >= bound : it <= bound) count += 1;
    }
    return end - from > fewestDays && 2 * count >= end - from;
  }

  /** The median of the window that {@link #mayBeFar} took, if the value is far from it, and from the second on its side. */
  #medianIfFar(at: number, second: number, least: number): number | undefined {
    const [values, window] = [this.#values, this.#window];
    const value = values[at] ?? 0;
    const { deviations, leastShare } = this.#settings.jump;
    window.clear();
    for (let other = this.#from; other < this.#end; other += 1) window.add(values[other] ?? 0);
    const { median } = window;
    const away = Math.abs(value - median);
    if (!(median > 0) || away <= leastShare * median || away <= least) return undefined;
    // Where a second day on that side is about as far, the values scatter so.
    if (away <= deviations * Math.abs(second - median)) return undefined;
    return away > deviations * deviationOfMad * window.deviation(median) ? median : undefined;
  }

  #takeWindow(at: number): void {
    const { days: each } = this.#settings.jump;
    const dayNumbers = this.#dayNumbers;
    const day = dayNumbers[at] ?? 0;
    this.#from = Math.max(0, at - each);
    this.#end = Math.min(this.#count, at + each + 1);
    while (day - (dayNumbers[this.#from] ?? 0) > this.#reach) this.#from += 1;
    while ((dayNumbers[this.#end - 1] ?? 0) - day > this.#reach) this.#end -= 1;
  }
}
