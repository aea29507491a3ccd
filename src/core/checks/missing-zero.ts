/**
 * Zeros that may be missing values: the service sends 0 for what it was not given (docs/production-data.md, Null, zero and
 * units). A well without a gauge always has 0, and a well that is shut in too: a 0 stands out only where other days have
 * another value.
 */
import type { Check, CheckedWell, Span } from './checked-well.ts';
import { type CheckSettings, daysBefore, reachDays } from './settings.ts';
import { columnOfField, DaysAround, isProducing, propertiesOf, valueAt } from './well-days.ts';

type Add = Parameters<Check>[3];

export const maybeMissingZero: Check = (well, span, settings, add) => {
  zeroPressures(well, span, settings, add);
  zeroRates(well, span, settings, add);
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
  // Most wells have no such zero, and need none of these.
  const around = (isAbove: (index: number) => boolean, reach: { readonly before: number; readonly after: number }) => {
    let made: DaysAround | undefined;
    const kindOf = (index: number): number => (isProducing(values, index) ? (isAbove(index) ? 1 : 2) : 0);
    return (index: number): boolean => {
      made ??= new DaysAround(days, reach, propertiesOf(days, kindOf), 3);
      const [, measured = 0, others = 0] = made.at(index);
      return isMost(measured, others, fewestDays);
    };
  };
  const hadTubing = around((index) => valueAt(tubing, index) > 0, daysBefore);
  const hadCasing = around((index) => valueAt(casing, index) > 0, daysBefore);
  const hasEither = around((index) => valueAt(tubing, index) > 0 || valueAt(casing, index) > 0, {
    before: reachDays,
    after: reachDays,
  });
  for (let index = from; index < to; index += 1) {
    const [isTubingZero, isCasingZero] = [tubing?.[index] === 0, casing?.[index] === 0];
    if (!(isTubingZero || isCasingZero) || !isProducing(values, index)) continue;
    const day = days.days[index] ?? 0;
    if (isTubingZero && hadTubing(index)) add(day, columnOfField.tubingPressure, 0, null);
    if (isCasingZero && hadCasing(index)) add(day, columnOfField.casingPressure, 0, null);
    if (isTubingZero && isCasingZero && hasEither(index)) add(day, columnOfField.tubingPressure, 0, null);
  }
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
    const [others = 0, producing = 0] = before.at(index);
    if (isMost(producing, others, fewestDays)) add(day, columnOfField.oilRate, 0, null);
  }
}
