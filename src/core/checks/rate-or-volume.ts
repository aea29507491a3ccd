/**
 * Rates of days that were down in part. A rate of the day is the volume by 24 hours, one of the hours on the volume by those
 * (IHS Harmony, PlanningSpace): one of the two, of one well, for good. A sum over both is wrong.
 */
import { type Check, type CheckSettings, reachDays, type Span } from './check.ts';
import {
  columnOfField,
  nextFrom,
  type PartialDay,
  type ReadPartial,
  SortedWindow,
  valueAt,
  type WellDays,
} from './well-days.ts';

/** Partial days before by which the habit of a well is known, and how many of them have to agree. */
const habitDays = 5;
const habitAgrees = 4;
const fewestOfHabit = 3;

/** A change of habit, until the well has the other one. */
export const rateOrVolume: Check = ({ partials, history }, _span, _settings, add) => {
  const first = partials[0]?.day ?? 0;
  const known: PartialDay[] = history.partials.filter(({ day }) => day < first).slice(-habitDays);
  for (const each of partials) {
    const habit = habitOf(known);
    if (habit !== undefined && habit !== each.isOperated) {
      add(each.day, each.field, each.rate, habit ? each.median : each.median * each.share);
    }
    known.push(each);
    if (known.length > habitDays) known.shift();
  }
};

function habitOf(known: readonly PartialDay[]): boolean | undefined {
  if (known.length < fewestOfHabit) return undefined;
  const operated = known.filter(({ isOperated }) => isOperated).length;
  const most = Math.min(habitAgrees, known.length);
  if (operated >= most) return true;
  return known.length - operated >= most ? false : undefined;
}

/** The partial days of a span whose rate is near one of the two. */
export function readPartials(days: WellDays, { from, to }: Span, settings: CheckSettings): readonly ReadPartial[] {
  const { downtimeHours } = days.values;
  const { fromHours, medianDays } = settings.partial;
  const found: ReadPartial[] = [];
  if (downtimeHours === undefined) return found;
  const window = new SortedWindow(medianDays);
  for (let index = from; ; index += 1) {
    index = nextFrom(downtimeHours, index, to, fromHours);
    if (index >= to) return found;
    const hours = downtimeHours[index] ?? 0;
    if (hours >= 24) continue;
    const read = readPartial(days, index, 1 - hours / 24, window, settings);
    if (read !== undefined) found.push(read);
  }
}

const rates = ['oilRate', 'gasRate', 'waterRate'] as const;

/** By the first of oil, gas and water that the well has. */
function readPartial(
  days: WellDays,
  index: number,
  share: number,
  window: SortedWindow,
  { partial, fullFlowHours, fewestDays }: CheckSettings,
): ReadPartial | undefined {
  for (const rate of rates) {
    const values = days.values[rate];
    if (values === undefined) continue;
    takeFullBefore(window, days, values, index, partial.medianDays, fullFlowHours);
    const { median } = window;
    if (window.count < fewestDays || !(median > 0)) continue;
    const value = values[index] ?? 0;
    const isNear = (expected: number): boolean => Math.abs(value / expected - 1) <= partial.tolerance;
    const isOperated = isNear(median);
    if (isOperated === isNear(median * share)) return undefined;
    return { day: days.days[index] ?? 0, isOperated, field: columnOfField[rate], rate: value, median, share };
  }
  return undefined;
}

/** Puts the values of the last days of full flow before a day into the window: as many, and as late, as a finding may rest on. */
export function takeFullBefore(
  window: SortedWindow,
  { days, values: { downtimeHours } }: WellDays,
  values: Float64Array,
  index: number,
  most: number,
  fullFlowHours: number,
): void {
  const first = (days[index] ?? 0) - reachDays;
  window.clear();
  for (let at = index - 1; at >= 0 && (days[at] ?? 0) >= first && window.count < most; at -= 1) {
    if (!(valueAt(downtimeHours, at) > fullFlowHours) && !Number.isNaN(values[at])) window.add(values[at] ?? 0);
  }
}
