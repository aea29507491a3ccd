/**
 * Units of what the service sends. The interface names one alone (docs/interface.md section 2.1), so the others are the
 * defaults of services of this kind, and an operator says otherwise (`units`). No value is ever converted.
 */
import { measureFields } from './row.ts';
import { type Volume, volumeNames, volumeRates } from './rate-basis.ts';

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
