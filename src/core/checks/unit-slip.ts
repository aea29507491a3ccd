/**
 * A lasting shift of a value by the ratio of two units, as between m3 and bbl (6.29), m3 and ft3 (35.3), bar and psi (14.5), or
 * m and ft (0.3048), either way. It is found once days after it are known, on its first day.
 */
import type { Check } from './checked-well.ts';
import { deviationOfMad, SortedWindow } from './numbers.ts';
import { type CheckSettings, reachDays } from './settings.ts';
import { takeFullBefore } from './rate-or-volume.ts';
import { type CheckedField, columnOfField, isFullFlow, valueAt, type WellDays } from './well-days.ts';

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
  const { downtimeHours } = days.values;
  const { fullFlowHours } = settings;
  const slips = new Slips(settings);
  const { most } = slips;
  for (const field of fields) {
    const values = days.values[field];
    if (values === undefined) continue;
    for (let index = Math.max(1, from); index < to; index += 1) {
      const before = values[index - 1] ?? 0;
      const value = values[index] ?? 0;
      // Most days are near the day before, and done with so; many of the others are near no factor of it.
      if (!(value > 0) || (value < before * most && before < value * most)) continue;
      if (isFarAfter(days, values, index, fullFlowHours)) continue;
      const isFull = before > 0 && !(valueAt(downtimeHours, index - 1) > fullFlowHours);
      if (isFull && slips.factorOf(value / before) === 0) continue;
      const slip = slips.at(days, values, index);
      if (slip !== undefined) add(days.days[index] ?? 0, columnOfField[field], slip.after, slip.before);
    }
  }
};

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

class Slips {
  readonly #settings: CheckSettings;
  readonly #factors: Float64Array;
  readonly #before: SortedWindow;
  readonly #after: SortedWindow;
  /** Values of two days that differ by less than this factor are near no other one. */
  readonly most: number;

  constructor(settings: CheckSettings) {
    const { factors, days } = settings.unitSlip;
    this.#settings = settings;
    this.#factors = Float64Array.from(factors.flatMap((factor) => [factor, 1 / factor]));
    this.#before = new SortedWindow(settings.partial.medianDays);
    this.#after = new SortedWindow(days);
    this.most = Math.min(...factors.map((factor) => Math.max(factor, 1 / factor))) * (1 - leastNear);
  }

  /** The factor that a ratio is near to; 0 without one. */
  factorOf(ratio: number): number {
    for (let at = 0; at < this.#factors.length; at += 1) {
      const factor = this.#factors[at] ?? 0;
      if (ratio >= factor * (1 - leastNear) && ratio <= factor * (1 + leastNear)) return factor;
    }
    return 0;
  }

  /** The medians before and after a day from which on the value is in another unit. */
  at(
    days: WellDays,
    values: Float64Array,
    index: number,
  ): { readonly before: number; readonly after: number } | undefined {
    const { unitSlip: slip, partial, fullFlowHours, fewestDays } = this.#settings;
    const last = lastFullBefore(days, values, index, fullFlowHours);
    if (last === undefined || !isFullFlow(days.values, index, fullFlowHours)) return undefined;
    const factor = this.factorOf((values[index] ?? 0) / last);
    if (factor === 0) return undefined;
    const [before, after] = [this.#before, this.#after];
    after.clear();
    const end = (days.days[index] ?? 0) + reachDays;
    for (let at = index; at < days.length && (days.days[at] ?? 0) <= end && after.count < slip.days; at += 1) {
      if (!isFullFlow(days.values, at, fullFlowHours)) continue;
      if (!isNear((values[at] ?? 0) / factor, last, leastNear)) return undefined;
      after.add(values[at] ?? 0);
    }
    if (after.count < slip.days) return undefined;
    takeFullBefore(before, days, values, index, partial.medianDays, fullFlowHours);
    const { median } = before;
    const scatter = (deviationOfMad * before.deviation(median)) / median;
    if (before.count < fewestDays || !(scatter <= mostScatter)) return undefined;
    // The medians of a few days lie within twice the scatter of each other, not once.
    const tolerance = Math.max(slip.tolerance, Math.min(2 * scatter, mostTolerance));
    if (!isNear(after.median / factor, median, tolerance)) return undefined;
    return { before: before.median, after: after.median };
  }
}

/** False for what is no number. */
function isNear(value: number, expected: number, share: number): boolean {
  return Math.abs(value / expected - 1) <= share;
}

/** The value of the last day of full flow, where it is above 0. */
function lastFullBefore(
  { days, values: columns }: WellDays,
  values: Float64Array,
  index: number,
  fullFlowHours: number,
): number | undefined {
  const first = (days[index] ?? 0) - reachDays;
  for (let at = index - 1; at >= 0 && (days[at] ?? 0) >= first; at -= 1) {
    const value = values[at] ?? NaN;
    if (isFullFlow(columns, at, fullFlowHours) && !Number.isNaN(value)) return value > 0 ? value : undefined;
  }
  return undefined;
}
