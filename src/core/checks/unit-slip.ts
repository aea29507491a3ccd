/**
 * A lasting shift of a value by the ratio of two units, as between m3 and bbl (6.29), m3 and ft3 (35.3), bar and psi (14.5), or
 * m and ft (0.3048), either way. It is found once days after it are known, on its first day.
 */
import type { Check } from './checked-well.ts';
import { SortedWindow } from './numbers.ts';
import { type CheckSettings, reachDays } from './settings.ts';
import { takeFullBefore } from './rate-or-volume.ts';
import { type CheckedField, columnOfField, isFullFlow, type WellDays } from './well-days.ts';

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

export const unitSlip: Check = ({ days }, { from, to }, settings, add) => {
  const factors = settings.unitSlip.factors.flatMap((factor) => [factor, 1 / factor]);
  // Most days are within these of the day before, and done with so.
  const most = Math.min(...factors.filter((factor) => factor > 1)) * (1 - leastNear);
  const windows = {
    before: new SortedWindow(settings.partial.medianDays),
    after: new SortedWindow(settings.unitSlip.days),
  };
  for (const field of fields) {
    const values = days.values[field];
    if (values === undefined) continue;
    for (let index = Math.max(1, from); index < to; index += 1) {
      const ratio = (values[index] ?? 0) / (values[index - 1] ?? 0);
      // A day before that was down, or is not known, has no ratio.
      if (ratio < most && ratio * most > 1) continue;
      const slip = slipAt(days, values, index, factors, windows, settings);
      if (slip !== undefined) add(days.days[index] ?? 0, columnOfField[field], slip.after, slip.before);
    }
  }
};

/** The medians before and after a day from which on the value is in another unit. */
function slipAt(
  days: WellDays,
  values: Float64Array,
  index: number,
  factors: readonly number[],
  { before, after }: Readonly<Record<'before' | 'after', SortedWindow>>,
  { unitSlip: { days: lasting, tolerance }, partial, fullFlowHours, fewestDays }: CheckSettings,
): { readonly before: number; readonly after: number } | undefined {
  const last = lastFullBefore(days, values, index, fullFlowHours);
  if (last === undefined || !isFullFlow(days.values, index, fullFlowHours)) return undefined;
  const factor = factorOf((values[index] ?? 0) / last, factors);
  if (factor === 0) return undefined;
  after.clear();
  const end = (days.days[index] ?? 0) + reachDays;
  for (let at = index; at < days.length && (days.days[at] ?? 0) <= end && after.count < lasting; at += 1) {
    if (!isFullFlow(days.values, at, fullFlowHours)) continue;
    if (!isNear((values[at] ?? 0) / factor, last, leastNear)) return undefined;
    after.add(values[at] ?? 0);
  }
  if (after.count < lasting) return undefined;
  takeFullBefore(before, days, values, index, partial.medianDays, fullFlowHours);
  if (before.count < fewestDays || !isNear(after.median / factor, before.median, tolerance)) return undefined;
  return { before: before.median, after: after.median };
}

/** The factor that a ratio is near to; 0 without one. */
function factorOf(ratio: number, factors: readonly number[]): number {
  for (const factor of factors) if (isNear(ratio, factor, leastNear)) return factor;
  return 0;
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
