/**
 * Values far from those of the days around (a Hampel filter; Saputelli and Carvajal, Intelligent Digital Oil and Gas Fields,
 * p. 84): rates, the gas-oil ratio and the water cut, of settled days among such days. A lasting change is none: a day is judged
 * once the next settled one is known, since three of four that stand out on their first morning do not on the next.
 */
import {
  type Check,
  type CheckSettings,
  columnOfField,
  type DayRange,
  deviationOfMad,
  indexOfDay,
  type JudgedDays,
  reachDays,
  SortedWindow,
  type Span,
  valueAt,
  type WellDays,
} from './check.ts';

type Add = Parameters<Check>[3];

/** A change of the water by less of the liquid is none: a dry well makes twice the water from one day to the next. */
const leastOfLiquid = 0.01;

export const jump: Check = ({ days, judged: { settled } }, span, settings, add) => {
  if (settled.length <= settings.fewestDays || isEven(days, settled, settings)) return;
  const finder = finders.get(settings) ?? new JumpFinder(settings);
  finders.set(settings, finder);
  finder.take(days.days, settled, span);
  for (const series of seriesOf(days)) finder.find(series, add);
  // The rows of a batch lie behind them.
  finder.take(nothing32, nothing32, { from: 0, to: 0 });
};

/** By settings: most wells of a morning have a few days each, for which new arrays took longer than the search. */
const finders = new WeakMap<CheckSettings, JumpFinder>();

/**
 * Whether no rate differs from that of the settled day before by more than the root of what a jump differs by: then no ratio of
 * two of them does by more. So it is in most mornings of most wells.
 */
function isEven({ values }: WellDays, settled: Int32Array, { jump: { leastShare } }: CheckSettings): boolean {
  const most = Math.sqrt(1 + leastShare);
  return [values.oilRate, values.gasRate, values.waterRate].every((rates) => {
    if (rates === undefined) return true;
    let before = rates[settled[0] ?? 0] ?? NaN;
    for (const index of settled) {
      const rate = rates[index] ?? NaN;
      // False for what is no number, and for what is negative.
      if (!(rate <= before * most && before <= rate * most)) return false;
      before = rate;
    }
    return true;
  });
}

/**
 * What may be judged otherwise where rows of these days have changed. Of the days before them it is those whose window may reach
 * them: a window ends with the `jump.days` days after its own on which the values are known.
 */
export function judgedDays(days: WellDays, { fromDay, toDay }: DayRange, settings: CheckSettings): JudgedDays {
  const { settleDays, days: each } = settings.jump;
  const reach = reachOfWindow(settleDays);
  const endDay = toDay + reachDays + reach;
  // Most wells flow on most days: those of so many before are enough.
  const nearDay = fromDay - 3 * each;
  if ((days.days[0] ?? nearDay) < nearDay) {
    const settled = settledDays(days, nearDay, endDay, settings);
    let known = 0;
    let judgedFrom = fromDay;
    for (let at = settledBefore(days, settled, fromDay) - 1; at >= 0; at -= 1) {
      const index = settled[at] ?? 0;
      if (!areAllKnown(days.values, index)) continue;
      known += 1;
      if (known === each) judgedFrom = days.days[index] ?? 0;
      if (known === 2 * each) return { fromDay: judgedFrom, settled: settled.subarray(at) };
    }
  }
  const judgedFrom = fromDay - reachDays;
  return { fromDay: judgedFrom, settled: settledDays(days, judgedFrom - reach, endDay, settings) };
}

/** Whether the rates of a day and all their ratios are known. A day without oil counts as one that is not: more are judged then. */
function areAllKnown({ oilRate, gasRate, waterRate }: WellDays['values'], index: number): boolean {
  const oil = valueAt(oilRate, index);
  if (!(oil > 0)) return false;
  if (gasRate !== undefined && !(valueAt(gasRate, index) >= 0 && valueAt(gasRate, index) / oil < Infinity))
    return false;
  return waterRate === undefined || valueAt(waterRate, index) >= 0;
}

/** The number of settled days before a day. */
function settledBefore({ days }: WellDays, settled: Int32Array, day: number): number {
  let count = settled.length;
  while (count > 0 && (days[settled[count - 1] ?? 0] ?? 0) >= day) count -= 1;
  return count;
}

/**
 * Indices of the settled days from one day to another, both of them included: days of full flow after such days. A well that was
 * down flows otherwise for some days, which is no fault of the data.
 */
function settledDays(
  { days, length, values }: WellDays,
  fromDay: number,
  toDay: number,
  { fullFlowHours, jump: { settleDays } }: CheckSettings,
): Int32Array {
  const first = indexOfDay({ days, length }, fromDay);
  const end = indexOfDay({ days, length }, toDay + 1);
  const settled = new Int32Array(end - first);
  const { oilRate = nothing, gasRate = nothing, waterRate = nothing, downtimeHours = nothing } = values;
  let [count, flowed, dayBefore] = [0, 0, 0];
  for (let index = Math.max(0, first - settleDays); index < end; index += 1) {
    const day = days[index] ?? 0;
    // Written out: it is all that is looked at of most days.
    const isProducing = (oilRate[index] ?? 0) > 0 || (gasRate[index] ?? 0) > 0 || (waterRate[index] ?? 0) > 0;
    const isFlowing = isProducing && !((downtimeHours[index] ?? 0) > fullFlowHours);
    flowed = isFlowing ? (day === dayBefore + 1 ? flowed : 0) + 1 : 0;
    dayBefore = day;
    if (flowed <= settleDays || index < first) continue;
    settled[count] = index;
    count += 1;
  }
  return settled.subarray(0, count);
}

const nothing = new Float64Array(0);
const nothing32: Int32Array = new Int32Array(0);

/** Whether a day of the window is settled rests on days before it: together they lie within the reach. */
function reachOfWindow(settleDays: number): number {
  return reachDays - settleDays;
}

/** What is looked at: values as they are, or a ratio of them. */
interface Series {
  readonly field: string;
  readonly of: Float64Array;
  /** By what the values are divided. */
  readonly by: Float64Array | undefined;
  /** By the sum of both instead. */
  readonly isOfSum: boolean;
  /** What a difference on the day of an index has to exceed beside its share of the median. */
  readonly leastOf: (index: number) => number;
}

function seriesOf({ values: { oilRate, gasRate, waterRate } }: WellDays): readonly Series[] {
  const series: Series[] = [];
  const add = (field: string, of: Float64Array, leastOf: Series['leastOf'], by?: Float64Array, isOfSum = false): void =>
    void series.push({ field, of, by, isOfSum, leastOf });
  const none = (): number => 0;
  if (oilRate !== undefined) add(columnOfField.oilRate, oilRate, none);
  if (gasRate !== undefined) add(columnOfField.gasRate, gasRate, none);
  const leastOfDay = (index: number): number => leastOfLiquid * (valueAt(oilRate, index) + valueAt(waterRate, index));
  if (waterRate !== undefined) add(columnOfField.waterRate, waterRate, leastOfDay);
  if (oilRate !== undefined && gasRate !== undefined) add('gas_oil_ratio', gasRate, none, oilRate);
  if (oilRate !== undefined && waterRate !== undefined) add('water_cut', waterRate, () => leastOfLiquid, oilRate, true);
  return series;
}

/** NaN where it is not known. A ratio without oil, or of a negative rate, is none. */
function valueOf({ of, by, isOfSum }: Series, index: number): number {
  const part = of[index] ?? NaN;
  if (by === undefined) return part;
  const whole = isOfSum ? (by[index] ?? NaN) + part : (by[index] ?? NaN);
  const ratio = part / whole;
  return whole > 0 && part >= 0 && ratio < Infinity ? ratio : NaN;
}

/** Goes through the settled days of one series of a well after the other. */
class JumpFinder {
  readonly #settings: CheckSettings;
  readonly #reach: number;
  readonly #window: SortedWindow;
  #days = nothing32;
  #settled = nothing32;
  #span: Span = { from: 0, to: 0 };
  /** Of the series, on the settled days on which it is known: the index and number of the day, and the value. */
  #indices = nothing32;
  #dayNumbers = nothing32;
  #values = nothing;
  #count = 0;
  /** The window of the value that is judged: its first, and before the end behind its last. */
  #from = 0;
  #end = 0;

  constructor(settings: CheckSettings) {
    this.#settings = settings;
    this.#reach = reachOfWindow(settings.jump.settleDays);
    this.#window = new SortedWindow(2 * settings.jump.days + 1);
  }

  /** Takes the next well: its days, the indices of those that are settled, and what may be judged. */
  take(days: Int32Array, settled: Int32Array, span: Span): void {
    this.#days = days;
    this.#settled = settled;
    this.#span = span;
    if (settled.length <= this.#indices.length) return;
    this.#indices = new Int32Array(settled.length);
    this.#dayNumbers = new Int32Array(settled.length);
    this.#values = new Float64Array(settled.length);
  }

  find(series: Series, add: Add): void {
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
      const median = this.#medianIfFar(at, second, series.leastOf(index));
      if (median !== undefined) add(day, series.field, this.#values[at] ?? 0, median);
    }
  }

  /** Takes the values that are known. */
  #fill(series: Series): void {
    const [indices, dayNumbers, values, settled] = [this.#indices, this.#dayNumbers, this.#values, this.#settled];
    const days = this.#days;
    let count = 0;
    for (let at = 0; at < settled.length; at += 1) {
      const index = settled[at] ?? 0;
      const value = valueOf(series, index);
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
