/**
 * A lasting shift of a value by the ratio of two units, as between m3 and bbl (6.29), m3 and ft3 (35.3), bar and psi (14.5), or
 * m and ft (0.3048), either way. It is found once days after it are known, on its first day.
 */
import {
  type Check,
  type CheckedField,
  type CheckSettings,
  columnOfField,
  deviationOfMad,
  isFullFlow,
  reachDays,
  SortedWindow,
  valueAt,
  type WellDays,
} from './check.ts';
import { takeFullBefore } from './downtime.ts';

const fields: readonly CheckedField[] = [
  'oilRate',
  'gasRate',
  'waterRate',
  'tubingPressure',
  'casingPressure',
  'gaugePressure',
  'linePressure',
  'waterInjectionRate',
  'gasInjectionRate',
];

/** How near the first days have to be, each by itself: they scatter more than their median. */
const leastNear = 0.2;

/** A median of few days is as far from the next one as the days scatter: so much is allowed beside the configured share. */
const mostTolerance = 0.05;
/** What scatters more is in every unit at some time. As a share of the median. */
const mostScatter = 0.15;

/** By which factor two days that are both so near to the same value may differ. */
const farthest = (1 + leastNear) / (1 - leastNear);

export const unitSlip: Check = ({ days }, { from, to }, settings, add) => {
  const slips = slipsOf.get(settings) ?? new Slips(settings);
  slipsOf.set(settings, slips);
  const { most } = slips;
  for (const field of fields) {
    const values = days.values[field];
    if (values === undefined) continue;
    for (let index = Math.max(1, from); ; index += 1) {
      index = nextStep(values, index, to, most);
      if (index >= to) break;
      const slip = slips.at(days, values, index);
      if (slip !== undefined) add(days.days[index] ?? 0, columnOfField[field], slip.after, slip.before);
    }
  }
};

/** By settings: a morning has a few days of each well, for which new arrays took longer than the search. */
const slipsOf = new WeakMap<CheckSettings, Slips>();

/** Values of two days that differ by less than this factor are near no factor of the settings. */
function mostOfNear({ unitSlip: { factors } }: CheckSettings): number {
  let least = Infinity;
  for (const factor of factors) least = Math.min(least, Math.max(factor, 1 / factor));
  return least * (1 - leastNear);
}

/** The next day, from `index` on, whose value is `most` times that of the day before or more, or less; `end` without one. */
function nextStep(values: Float64Array, index: number, end: number, most: number): number {
  let before = values[index - 1] ?? 0;
  for (let next = index; next < end; next += 1) {
    const value = values[next] ?? 0;
    // Most days are near the day before, and done with so.
    if (value > 0 && !(value < before * most && before < value * most)) return next;
    before = value;
  }
  return end;
}

/** Days after a slip that are looked at before any is taken: of values that scatter, few go on for so long. */
const nextDays = 3;

/** Whether a day of full flow that comes soon has a value that is too far from that of the day to be in the same unit. */
function isFarAfter(
  { days, length, values: { downtimeHours } }: WellDays,
  values: Float64Array,
  index: number,
  fullFlowHours: number,
): boolean {
  const value = values[index] ?? 0;
  const end = Math.min(length - 1, index + nextDays);
  const lastDay = (days[index] ?? 0) + reachDays;
  for (let at = index + 1; at <= end; at += 1) {
    const next = values[at] ?? 0;
    if (!(next * farthest < value || next > value * farthest)) continue;
    if (!(valueAt(downtimeHours, at) > fullFlowHours) && (days[at] ?? 0) <= lastDay) return true;
  }
  return false;
}

interface Medians {
  readonly before: number;
  readonly after: number;
}

class Slips {
  /** As {@link mostOfNear}. */
  readonly most: number;
  readonly #settings: CheckSettings;
  readonly #factors: Float64Array;
  readonly #before: SortedWindow;
  readonly #after: SortedWindow;

  constructor(settings: CheckSettings) {
    const { factors, days } = settings.unitSlip;
    this.most = mostOfNear(settings);
    this.#settings = settings;
    this.#factors = Float64Array.from(factors.flatMap((factor) => [factor, 1 / factor]));
    this.#before = new SortedWindow(settings.partial.medianDays);
    this.#after = new SortedWindow(days);
  }

  /** The medians before and after a day from which on the value is in another unit. */
  at(days: WellDays, values: Float64Array, index: number): Medians | undefined {
    const { fullFlowHours } = this.#settings;
    if (!isFullFlow(days.values, index, fullFlowHours)) return undefined;
    if (isFarAfter(days, values, index, fullFlowHours)) return undefined;
    const last = lastFullBefore(days, values, index, fullFlowHours);
    const factor = this.#factorOf((values[index] ?? 0) / last);
    if (factor === 0 || !this.#lasts(days, values, index, last * factor)) return undefined;
    return this.#mediansAround(days, values, index, factor);
  }

  /** Whether the first days of full flow are near to a value; takes their values. */
  #lasts(wellDays: WellDays, values: Float64Array, index: number, expected: number): boolean {
    const { days, length, values: columns } = wellDays;
    const { unitSlip: slip, fullFlowHours } = this.#settings;
    const after = this.#after;
    after.clear();
    const end = (days[index] ?? 0) + reachDays;
    for (let at = index; at < length && (days[at] ?? 0) <= end && after.count < slip.days; at += 1) {
      if (!isFullFlow(columns, at, fullFlowHours)) continue;
      if (!isNear(values[at] ?? 0, expected, leastNear)) return false;
      after.add(values[at] ?? 0);
    }
    return after.count === slip.days;
  }

  /** `factor`: by which the values of the day and after it, which are taken, differ from those before it. */
  #mediansAround(days: WellDays, values: Float64Array, index: number, factor: number): Medians | undefined {
    const { unitSlip: slip, partial, fullFlowHours, fewestDays } = this.#settings;
    const [before, after] = [this.#before, this.#after];
    takeFullBefore(before, days, values, index, partial.medianDays, fullFlowHours);
    const { median } = before;
    const scatter = (deviationOfMad * before.deviation(median)) / median;
    if (before.count < fewestDays || !(scatter <= mostScatter)) return undefined;
    // The medians of a few days lie within twice the scatter of each other, not once.
    const tolerance = Math.max(slip.tolerance, Math.min(2 * scatter, mostTolerance));
    if (!isNear(after.median / factor, median, tolerance)) return undefined;
    return { before: before.median, after: after.median };
  }

  /** The factor that a ratio is near to; 0 without one. */
  #factorOf(ratio: number): number {
    for (let at = 0; at < this.#factors.length; at += 1) {
      const factor = this.#factors[at] ?? 0;
      if (ratio >= factor * (1 - leastNear) && ratio <= factor * (1 + leastNear)) return factor;
    }
    return 0;
  }
}

/** False for what is no number. */
function isNear(value: number, expected: number, share: number): boolean {
  return Math.abs(value / expected - 1) <= share;
}

/** The value of the last day of full flow, where it is above 0; NaN otherwise. */
function lastFullBefore(
  { days, values: columns }: WellDays,
  values: Float64Array,
  index: number,
  fullFlowHours: number,
): number {
  const first = (days[index] ?? 0) - reachDays;
  for (let at = index - 1; at >= 0 && (days[at] ?? 0) >= first; at -= 1) {
    const value = values[at] ?? NaN;
    if (isFullFlow(columns, at, fullFlowHours) && !Number.isNaN(value)) return value > 0 ? value : NaN;
  }
  return NaN;
}
