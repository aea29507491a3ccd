/**
 * The same rates to the digit, day after day: a value that nobody measured (Saputelli and Carvajal, Intelligent Digital Oil and
 * Gas Fields, p. 77). The first day of a run may be right, and is not found.
 */
import type { Check } from './checked-well.ts';
import { columnOfField, valueAt, type WellDays } from './well-days.ts';

export const staleRepeat: Check = ({ days }, { from, to }, { repeatDays }, add) => {
  const { oilRate } = days.values;
  if (oilRate === undefined) return;
  for (let index = Math.max(1, from); index < to; index += 1) {
    // Most days have another rate than the day before.
    if (oilRate[index] !== oilRate[index - 1] || !isRepeat(days, index)) continue;
    // Days of the run before this one and with it, and after it: no more than it takes are looked at.
    let run = 2;
    for (let at = index - 1; run < repeatDays && isRepeat(days, at); at -= 1) run += 1;
    for (let at = index + 1; run < repeatDays && isRepeat(days, at); at += 1) run += 1;
    if (run < repeatDays) continue;
    const rate = (['oilRate', 'gasRate', 'waterRate'] as const).find((each) => valueAt(days.values[each], index) > 0);
    if (rate !== undefined) add(days.days[index] ?? 0, columnOfField[rate], valueAt(days.values[rate], index), null);
  }
};

/** Whether the day is the next one after that before it, with its rates. */
function isRepeat({ days, length, values }: WellDays, index: number): boolean {
  if (index < 1 || index >= length || (days[index] ?? 0) - (days[index - 1] ?? 0) !== 1) return false;
  const { oilRate, gasRate, waterRate } = values;
  if (valueAt(oilRate, index) !== valueAt(oilRate, index - 1)) return false;
  if (valueAt(gasRate, index) !== valueAt(gasRate, index - 1)) return false;
  if (valueAt(waterRate, index) !== valueAt(waterRate, index - 1)) return false;
  return valueAt(oilRate, index) > 0 || valueAt(gasRate, index) > 0 || valueAt(waterRate, index) > 0;
}
