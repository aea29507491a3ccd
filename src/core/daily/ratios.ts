/** What an engineer reads from the rates of a day: liquid, water cut, gas-oil ratio. Null where it is not defined. Pure. */
import { unknownUnit } from './units.ts';

type Rate = number | null;

/** Oil and water; both are known. */
export function liquidOf(oil: Rate, water: Rate): Rate {
  return oil === null || water === null ? null : rounded(oil + water);
}

/** Water of the liquid, in percent; not of a day without liquid, and not of a negative rate. */
export function waterCutOf(oil: Rate, water: Rate): Rate {
  if (oil === null || water === null || oil < 0 || water < 0 || oil + water === 0) return null;
  return rounded((100 * water) / (oil + water));
}

/** Not of a day without oil, and not of a negative rate. */
export function gasOilRatioOf(oil: Rate, gas: Rate): Rate {
  if (oil === null || gas === null || oil <= 0 || gas < 0) return null;
  return rounded(gas / oil);
}

/** The unit of a rate divided by another: `Mscf/bbl` of `Mscf/d` and `bbl/d`. Nothing is converted. */
export function ratioUnit(unit: string | undefined, by: string | undefined): string {
  if (unit === undefined || by === undefined || unit === unknownUnit || by === unknownUnit) return unknownUnit;
  const [amount, perDay] = [/^(.*\S)\s*\/\s*(?:d|day)$/.exec(unit)?.[1], /^(.*\S)\s*\/\s*(?:d|day)$/.exec(by)?.[1]];
  return amount === undefined || perDay === undefined ? `(${unit})/(${by})` : `${amount}/${perDay}`;
}

/** Seven digits: more would only be those of the arithmetic. */
function rounded(value: number): number {
  return Number(value.toPrecision(7));
}
