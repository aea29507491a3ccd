/**
 * Values far from those of the days around (a Hampel filter; Saputelli and Carvajal, Intelligent Digital Oil and Gas Fields,
 * p. 84): rates, the gas-oil ratio and the water cut, of settled days among such days. A lasting change is none: a day is judged
 * once the next settled one is known, since three of four that stand out on their first morning do not on the next.
 */
import type { Check, Span } from './checked-well.ts';
import { deviationOfMad, SortedWindow } from './numbers.ts';
import { type CheckSettings, reachDays } from './settings.ts';
import { columnOfField, indexOfDay, isFullFlow, isProducing, valueAt, type WellDays } from './well-days.ts';

type Add = Parameters<Check>[3];

/** A change of the water by less of the liquid is none: a dry well makes twice the water from one day to the next. */
const leastOfLiquid = 0.01;

export const jump: Check = ({ days }, span, settings, add) => {
  const settled = settledDays(days, span, settings);
  if (settled.length <= settings.fewestDays) return;
  const found = new JumpFinder(days, span, settings, add);
  const { oilRate, gasRate, waterRate } = days.values;
  const leastOfDay = (index: number): number => leastOfLiquid * (valueAt(oilRate, index) + valueAt(waterRate, index));
  if (oilRate !== undefined) found.find(columnOfField.oilRate, settled, oilRate);
  if (gasRate !== undefined) found.find(columnOfField.gasRate, settled, gasRate);
  if (waterRate !== undefined) found.find(columnOfField.waterRate, settled, waterRate, { leastOf: leastOfDay });
  if (oilRate === undefined) return;
  if (gasRate !== undefined) found.find('gas_oil_ratio', settled, gasRate, { by: oilRate });
  if (waterRate === undefined) return;
  found.find('water_cut', settled, waterRate, { by: oilRate, isOfSum: true, leastOf: () => leastOfLiquid });
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
  let [count, flowed] = [0, 0];
  for (let index = Math.max(0, first - settleDays); index < end; index += 1) {
    if (index > 0 && (days[index] ?? 0) - (days[index - 1] ?? 0) !== 1) flowed = 0;
    flowed = isFullFlow(values, index, fullFlowHours) && isProducing(values, index) ? flowed + 1 : 0;
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

interface Ratio {
  /** By what the values are divided; without it they are taken as they are. */
  readonly by?: Float64Array;
  /** By the sum of both instead. */
  readonly isOfSum?: boolean;
  /** What a difference on the day of an index has to exceed beside its share of the median. */
  readonly leastOf?: (index: number) => number;
}

/** Goes through the days of one series after the other. */
class JumpFinder {
  readonly #add: Add;
  readonly #days: Int32Array;
  readonly #span: Span;
  readonly #settings: CheckSettings;
  readonly #window: SortedWindow;
  /** By value of the series, the index of its day. */
  readonly #indices: Int32Array;
  readonly #values: Float64Array;
  #count = 0;
  /** The window of the value that is judged: its first, and before the end behind its last. */
  #from = 0;
  #end = 0;

  constructor({ days, length }: WellDays, span: Span, settings: CheckSettings, add: Add) {
    this.#add = add;
    this.#days = days;
    this.#span = span;
    this.#settings = settings;
    this.#window = new SortedWindow(2 * settings.jump.days + 1);
    this.#indices = new Int32Array(length);
    this.#values = new Float64Array(length);
  }

  find(field: string, settled: Int32Array, from: Float64Array, { by, isOfSum = false, leastOf }: Ratio = {}): void {
    if (by === undefined) this.#fill(settled, from);
    else this.#fillRatios(settled, from, by, isOfSum);
    const indices = this.#indices;
    const values = this.#values;
    const { leastShare, settleDays } = this.#settings.jump;
    const reach = reachOfWindow(settleDays);
    const [higher, lower] = [1 + leastShare, Math.max(0, 1 - leastShare)];
    let after = values[0] ?? 0;
    for (let at = 0; at < this.#count - 1; at += 1) {
      const value = after;
      after = values[at + 1] ?? 0;
      // A well that comes to flow otherwise goes through what lies between: most days are no extreme, and done with here.
      if (value <= after * higher && value >= after * lower) continue;
      // What is negative is another check's.
      if (value < 0) continue;
      const index = indices[at] ?? 0;
      if (index < this.#span.from || index >= this.#span.to) continue;
      const day = this.#dayOf(at);
      if (this.#dayOf(at + 1) - day > reach) continue;
      const before = at > 0 && day - this.#dayOf(at - 1) <= reach ? (values[at - 1] ?? 0) : after;
      const isPeak = value > Math.max(before, after) * higher;
      if (!isPeak && value >= Math.min(before, after) * lower) continue;
      this.#takeWindow(at, reach);
      const second = this.#secondOf(at, isPeak);
      if (Number.isNaN(second)) continue;
      const median = this.#medianIfFar(at, second, leastOf?.(index) ?? 0);
      if (median !== undefined) this.#add(day, field, value, median);
    }
  }

  #dayOf(at: number): number {
    return this.#days[this.#indices[at] ?? 0] ?? 0;
  }

  /** Keeps the values that are known, of settled days. */
  #fill(settled: Int32Array, from: Float64Array): void {
    const indices = this.#indices;
    const values = this.#values;
    let count = 0;
    for (let at = 0; at < settled.length; at += 1) {
      const index = settled[at] ?? 0;
      const value = from[index] ?? NaN;
      if (Number.isNaN(value)) continue;
      indices[count] = index;
      values[count] = value;
      count += 1;
    }
    this.#count = count;
  }

  /** Values without a ratio are left out: without oil, or of a negative rate. */
  #fillRatios(settled: Int32Array, from: Float64Array, by: Float64Array, isOfSum: boolean): void {
    const indices = this.#indices;
    const values = this.#values;
    let count = 0;
    for (let at = 0; at < settled.length; at += 1) {
      const index = settled[at] ?? 0;
      const part = from[index] ?? NaN;
      const of = isOfSum ? (by[index] ?? NaN) + part : (by[index] ?? NaN);
      const value = part / of;
      if (!(of > 0 && part >= 0 && value < Infinity)) continue;
      indices[count] = index;
      values[count] = value;
      count += 1;
    }
    this.#count = count;
  }

  /** The largest of the other values of the window, or the smallest; NaN where that at `at` is not beyond all of them. */
  #secondOf(at: number, isPeak: boolean): number {
    const values = this.#values;
    const value = values[at] ?? 0;
    let second = isPeak ? -Infinity : Infinity;
    for (let other = at - 1; other >= this.#from; other -= 1) {
      const it = values[other] ?? 0;
      if (isPeak ? it >= value : it <= value) return NaN;
      second = isPeak ? Math.max(second, it) : Math.min(second, it);
    }
    for (let other = at + 1; other < this.#end; other += 1) {
      const it = values[other] ?? 0;
      if (isPeak ? it >= value : it <= value) return NaN;
      second = isPeak ? Math.max(second, it) : Math.min(second, it);
    }
    return second;
  }

  /** The median of the values around that at `at`, if this one is far from it, and from the second on its side. */
  #medianIfFar(at: number, second: number, least: number): number | undefined {
    const window = this.#window;
    const {
      jump: { leastShare, deviations },
      fewestDays,
    } = this.#settings;
    if (this.#end - this.#from <= fewestDays) return undefined;
    const value = this.#values[at] ?? 0;
    if (!this.#isMedianBeyond((deviations * second - value) / (deviations - 1), value > second)) return undefined;
    window.clear();
    for (let other = this.#from; other < this.#end; other += 1) window.add(this.#values[other] ?? 0);
    const { median } = window;
    const away = Math.abs(value - median);
    if (!(median > 0) || away <= leastShare * median || away <= least) return undefined;
    // Where a second day on that side is about as far, the values scatter so.
    if (away <= deviations * Math.abs(second - median)) return undefined;
    return away > deviations * deviationOfMad * window.deviation(median) ? median : undefined;
  }

  /** Whether half of the values are so high, or so low, that the second day on that side may not be far: few are that scatter. */
  #isMedianBeyond(bound: number, isAbove: boolean): boolean {
    let count = 0;
    for (let at = this.#from; at < this.#end; at += 1) {
      const it = this.#values[at] ?? 0;
      if (isAbove ? it >= bound : it <= bound) count += 1;
    }
    return 2 * count >= this.#end - this.#from;
  }

  #takeWindow(at: number, reach: number): void {
    const { days: each } = this.#settings.jump;
    const day = this.#dayOf(at);
    this.#from = Math.max(0, at - each);
    this.#end = Math.min(this.#count, at + each + 1);
    while (this.#dayOf(this.#from) < day - reach) this.#from += 1;
    while (this.#dayOf(this.#end - 1) > day + reach) this.#end -= 1;
  }
}
