/** Downtime that no day has, and production of a well that was down. */
import type { Check } from './checked-well.ts';
import { columnOfField, isProducing, nextFrom, valueAt } from './well-days.ts';

/** Days with fewer hours of downtime are none that was down as a whole. */
const surelyWithin = 23;

/**
 * The hours of a whole day down. Services that count each day as 24 hours say 24 on a day of 23 too, and 23 where the well was
 * on for an hour of it: neither is a fault.
 */
function wholeDay(hoursOfDay: number): number {
  return Math.max(24, hoursOfDay);
}

/** Hours below 0, or above those of the day. */
export const hoursOutOfBounds: Check = ({ days, hoursOf }, { from, to }, { hoursTolerance }, add) => {
  const hours = days.values.downtimeHours;
  if (hours === undefined) return;
  for (let index = from; index < to; index += 1) {
    const value = hours[index] ?? 0;
    if (value >= 0 && value <= surelyWithin) continue;
    const day = days.days[index] ?? 0;
    if (value < -hoursTolerance) add(day, columnOfField.downtimeHours, value, 0);
    else if (value > surelyWithin) {
      const most = wholeDay(hoursOf(day));
      if (value > most + hoursTolerance) add(day, columnOfField.downtimeHours, value, most);
    }
  }
};

/** A rate above 0 of a day that was down as a whole, or of a well that its record calls inactive or abandoned. */
export const productionWhileDown: Check = ({ days, facts, hoursOf }, { from, to }, { hoursTolerance }, add) => {
  const { values } = days;
  const { downtimeHours } = values;
  const idleFrom = facts?.isIdle === true ? facts.fromDay : Infinity;
  for (let index = from; ; index += 1) {
    // Of a well that is not idle most days were not down as a whole.
    if (idleFrom === Infinity)
      index = downtimeHours === undefined ? to : nextFrom(downtimeHours, index, to, surelyWithin);
    if (index >= to) return;
    const hours = valueAt(downtimeHours, index);
    const day = days.days[index] ?? 0;
    const isDown = hours > surelyWithin && hours >= wholeDay(hoursOf(day)) - hoursTolerance;
    if (!(isDown || day >= idleFrom) || !isProducing(values, index)) continue;
    const field = (['oilRate', 'gasRate', 'waterRate'] as const).find((rate) => valueAt(values[rate], index) > 0);
    if (field !== undefined) add(day, columnOfField[field], valueAt(values[field], index), 0);
  }
};
