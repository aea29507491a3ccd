/**
 * Zeros that may be missing values: the service sends 0 for what it was not given (docs/production-data.md, Null, zero and
 * units). A well without a gauge always has 0, and a well that is shut in too: a 0 stands out only where other days have
 * another value.
 */
import type { Check, CheckedWell, Span } from './checked-well.ts';
import { type CheckSettings, daysBefore, reachDays } from './settings.ts';
import { columnOfField, DaysAround, isProducing, nextBelow, propertiesOf, valueAt } from './well-days.ts';

type Add = Parameters<Check>[3];

export const maybeMissingZero: Check = (well, span, settings, add) => {
  const { tubingPressure, casingPressure, oilRate } = well.days.values;
  const { from, to } = span;
  // Or less.
  const hasZero = (values: Float64Array | undefined): boolean =>
    values !== undefined && nextBelow(values, from, to, Number.MIN_VALUE) < to;
  if (hasZero(tubingPressure) || hasZero(casingPressure)) zeroPressures(well, span, settings, add);
  if (hasZero(oilRate)) zeroRates(well, span, settings, add);
};

/** Whether half of the rows or more have it, of enough rows. */
function isMost(having: number, others: number, fewest: number): boolean {
  return having + others >= fewest && having >= others;
}

/**
 * A gauge at 0 on a day that produces, and above it on most such days before. Where both are at 0, the days after count too: of
 * one gauge they may be the first that it was there.
 */
function zeroPressures({ days }: CheckedWell, { from, to }: Span, { fewestDays }: CheckSettings, add: Add): void {
  const { values } = days;
  const { tubingPressure: tubing, casingPressure: casing } = values;
  const kinds = propertiesOf(days, (index) => (isProducing(values, index) ? kindOf(tubing, casing, index) : 0));
  const before = new DaysAround(days, daysBefore, kinds, kindsOfDays);
  const around = new DaysAround(days, { before: reachDays, after: reachDays }, kinds, kindsOfDays);
  for (let index = from; index < to; index += 1) {
    const isTubingZero = tubing?.[index] === 0;
    const isCasingZero = casing?.[index] === 0;
    if (!(isTubingZero || isCasingZero) || kinds[index] === 0) continue;
    const day = days.days[index] ?? 0;
    const counts = before.at(index);
    const neither = counts[neitherAbove] ?? 0;
    const tubingOnly = counts[tubingAbove] ?? 0;
    const casingOnly = counts[casingAbove] ?? 0;
    const both = counts[bothAbove] ?? 0;
    const hadTubing = isMost(tubingOnly + both, neither + casingOnly, fewestDays);
    const hadCasing = isMost(casingOnly + both, neither + tubingOnly, fewestDays);
    if (isTubingZero && hadTubing) add(day, columnOfField.tubingPressure, 0, null);
    if (isCasingZero && hadCasing) add(day, columnOfField.casingPressure, 0, null);
    if (!isTubingZero || !isCasingZero || hadTubing || hadCasing) continue;
    const all = around.at(index);
    const either = (all[tubingAbove] ?? 0) + (all[casingAbove] ?? 0) + (all[bothAbove] ?? 0);
    if (isMost(either, all[neitherAbove] ?? 0, fewestDays)) add(day, columnOfField.tubingPressure, 0, null);
  }
}

/** What a day that produces has; 0 is one that does not. */
const [neitherAbove, tubingAbove, casingAbove, bothAbove] = [1, 2, 3, 4] as const;
const kindsOfDays = 5;

function kindOf(tubing: Float64Array | undefined, casing: Float64Array | undefined, index: number): number {
  if (valueAt(tubing, index) > 0) return valueAt(casing, index) > 0 ? bothAbove : tubingAbove;
  return valueAt(casing, index) > 0 ? casingAbove : neitherAbove;
}

/** No rate and no downtime of a well that produced on most days before. One that injects, or is idle, produces nothing. */
function zeroRates({ days, facts }: CheckedWell, { from, to }: Span, { fewestDays }: CheckSettings, add: Add): void {
  const { values } = days;
  const { oilRate, gasRate, waterRate, downtimeHours, waterInjectionRate, gasInjectionRate } = values;
  let before: DaysAround | undefined;
  const isOther = facts !== undefined && (facts.type === 'injector' || facts.isIdle === true);
  for (let index = from; index < to; index += 1) {
    if (oilRate?.[index] !== 0 || gasRate?.[index] !== 0 || waterRate?.[index] !== 0) continue;
    if (valueAt(downtimeHours, index) > 0) continue;
    if (valueAt(waterInjectionRate, index) > 0 || valueAt(gasInjectionRate, index) > 0) continue;
    const day = days.days[index] ?? 0;
    if (isOther && day >= facts.fromDay) continue;
    before ??= new DaysAround(
      days,
      daysBefore,
      propertiesOf(days, (at) => (isProducing(values, at) ? 1 : 0)),
      2,
    );
    const counts = before.at(index);
    if (isMost(counts[1] ?? 0, counts[0] ?? 0, fewestDays)) add(day, columnOfField.oilRate, 0, null);
  }
}
