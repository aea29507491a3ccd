/**
 * Units of what the service sends. The interface names one alone (docs/interface.md section 2.1), so the others are the
 * defaults of services of this kind, and an operator says otherwise (`units`). No value is ever converted.
 */
import { measureFields } from './row.ts';

/** Of a field of which nobody has said the unit. */
export const unknownUnit = 'unknown';

/** By column of daily_production, or of a table that is made of it: a column without a unit is absent. */
export type Units = Readonly<Record<string, string>>;

/**
 * By field. As the public schema of services of this kind has them; pcpTorque as the interface, and downtimeHours and espVolts
 * by their names. No source names the others.
 */
const defaults: Units = {
  oilRate: 'bbl/d',
  gasRate: 'Mscf/d',
  waterRate: 'bbl/d',
  tubingPressure: 'psig',
  casingPressure: 'psig',
  choke: '1/64 in',
  gaugePressure: 'psig',
  wellheadTemperature: 'degF',
  gaugeTemperature: 'degF',
  linePressure: 'psig',
  gasLiftInjectionRate: 'Mscf/d',
  espFrequency: 'Hz',
  espIntakePressure: 'psig',
  espAmps: 'A',
  espVolts: 'V',
  espDischargePressure: 'psig',
  espMotorTemperature: 'degF',
  srpIntakePressure: 'psig',
  downtimeHours: 'h',
  waterInjectionRate: 'bbl/d',
  gasInjectionRate: 'Mscf/d',
  pcpTorque: 'lbf-ft',
  pcpIntakePressure: 'psig',
  pcpDischargePressure: 'psig',
};

/** Names of the fields that have a unit: those that are numbers. */
export const measuredFields: readonly string[] = measureFields
  .filter(({ kind }) => kind === 'double' || kind === 'int32')
  .map(({ name }) => name);

/** Longer ones would break tables and plots. */
export const longestUnit = 40;

/** Whether a text may be a unit: something is written in it, on one line, within `longestUnit` characters. */
export function isUnit(text: string): boolean {
  return text.trim() === text && text !== '' && text.length <= longestUnit && !/[\p{C}\u2028\u2029]/u.test(text);
}

/** The unit of each measured column of daily production. `given`: by field, those that an operator has said. */
export function dailyUnits(given: Units): Units {
  return Object.fromEntries(
    measureFields
      .filter(({ name }) => measuredFields.includes(name))
      .map(({ name, column }) => [column, given[name] ?? defaults[name] ?? unknownUnit]),
  );
}

/** The unit of each measured column of `monthly_production`, of those of daily production. */
export function monthlyUnits(daily: Units): Units {
  const volumes = volumeNames.map((volume): [Volume, string] => [
    volume,
    volumeUnit(daily[volumeRates[volume]] ?? unknownUnit),
  ]);
  const hours = daily['downtime_hours'] ?? unknownUnit;
  return { hours_on: 'h', ...Object.fromEntries(volumes), downtime_hours: hours };
}

/** Of a rate over a day: `bbl` of `bbl/d`, and `m3/h x d` of `m3/h`. */
function volumeUnit(rateUnit: string): string {
  if (rateUnit === unknownUnit) return unknownUnit;
  const [, amount] = /^(.*\S)\s*\/\s*(?:d|day)$/.exec(rateUnit) ?? [];
  return amount ?? `${rateUnit} x d`;
}

/** A name with its unit for people: `oil (bbl)`; as it is without a unit. */
export function withUnit(name: string, unit: string | undefined): string {
  if (unit === undefined) return name;
  return unit === unknownUnit ? `${name} (unit unknown)` : `${name} (${unit})`;
}

/** A column of a file with its unit: `oil_rate [bbl/d]`; as it is without a unit. */
export function headWithUnit(name: string, units: Units = {}): string {
  const unit = Object.hasOwn(units, name) ? units[name] : undefined;
  return unit === undefined ? name : `${name} [${unit}]`;
}

/**
 * The units of the columns of a query's result, by their names: those of daily production, and those of months where the
 * statement names that view. `oil` of another statement may be anything.
 */
export function unitsOfQuery(sql: string, daily: Units): Units {
  return /\bmonthly_production\b/i.test(sql) ? { ...daily, ...monthlyUnits(daily) } : daily;
}

// What the rate of a day means for its volume (`export.rateBasis`). The service does not say it.

/**
 * `calendar-day`: the volume of the day by 24 hours, so that the rate is the volume. `operated-day`: the volume by the hours
 * on, so that a day of 12 hours on has half of its rate. Words and example: IHS Harmony, where 300 bbl in 15 of 30 days are
 * 10 or 20 bbl/d.
 */
export const rateBases = ['calendar-day', 'operated-day'] as const;
export type RateBasis = (typeof rateBases)[number];

/** Also of a warehouse for which no export was planned yet. */
export const defaultRateBasis: RateBasis = 'calendar-day';

/** The volumes of a month by their column, each with the column of the rate that it is a sum of. */
export const volumeRates = {
  oil: 'oil_rate',
  gas: 'gas_rate',
  water: 'water_rate',
  water_injected: 'water_injection_rate',
  gas_injected: 'gas_injection_rate',
} as const;

export type Volume = keyof typeof volumeRates;
export const volumeNames = Object.keys(volumeRates) as readonly Volume[];

// What an engineer reads from the rates of a day: liquid, water cut, gas-oil ratio. Null where it is not defined. Pure.

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
