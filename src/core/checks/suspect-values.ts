/**
 * Checks of single values: zeros that may be missing, repeats, values below 0, streams that a well does not have, and dates of
 * records.
 */
import { DAY_MS, HOUR_MS } from '../time/window.ts';
import {
  type Check,
  type CheckedField,
  type CheckedWell,
  type CheckSettings,
  columnOfField,
  DaysAround,
  daysBefore,
  isProducing,
  nextBelow,
  propertiesOf,
  reachDays,
  type Span,
  valueAt,
  type WellDays,
} from './check.ts';

type Add = Parameters<Check>[3];

// Zeros that may be missing values: the service sends 0 for what it was not given (docs/production-data.md, Null, zero and
// units). A well without a gauge always has 0, and a well that is shut in too: a 0 stands out only where other days have
// another value.

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
  let gauges: Readonly<Record<'before' | 'around', DaysAround>> | undefined;
  for (let index = from; index < to; index += 1) {
    const isTubingZero = tubing?.[index] === 0;
    const isCasingZero = casing?.[index] === 0;
    // Most zeros are of a well that is shut in.
    if (!(isTubingZero || isCasingZero) || !isProducing(values, index)) continue;
    gauges ??= gaugesOf(days);
    const day = days.days[index] ?? 0;
    const counts = gauges.before.at(index);
    const neither = counts[neitherAbove] ?? 0;
    const tubingOnly = counts[tubingAbove] ?? 0;
    const casingOnly = counts[casingAbove] ?? 0;
    const both = counts[bothAbove] ?? 0;
    const hadTubing = isMost(tubingOnly + both, neither + casingOnly, fewestDays);
    const hadCasing = isMost(casingOnly + both, neither + tubingOnly, fewestDays);
    if (isTubingZero && hadTubing) add(day, columnOfField.tubingPressure, 0, null);
    if (isCasingZero && hadCasing) add(day, columnOfField.casingPressure, 0, null);
    if (!isTubingZero || !isCasingZero || hadTubing || hadCasing) continue;
    const all = gauges.around.at(index);
    const either = (all[tubingAbove] ?? 0) + (all[casingAbove] ?? 0) + (all[bothAbove] ?? 0);
    if (isMost(either, all[neitherAbove] ?? 0, fewestDays)) add(day, columnOfField.tubingPressure, 0, null);
  }
}

function gaugesOf(days: WellDays): Readonly<Record<'before' | 'around', DaysAround>> {
  const { values } = days;
  const { tubingPressure: tubing, casingPressure: casing } = values;
  const kinds = propertiesOf(days, (index) => (isProducing(values, index) ? kindOf(tubing, casing, index) : 0));
  return {
    before: new DaysAround(days, daysBefore, kinds, kindsOfDays),
    around: new DaysAround(days, { before: reachDays, after: reachDays }, kinds, kindsOfDays),
  };
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

// The same rates to the digit, day after day: a value that nobody measured (Saputelli and Carvajal, Intelligent Digital Oil and
// Gas Fields, p. 77). The first day of a run may be right, and is not found.

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

// Rates below 0, and pressures below a vacuum.

const rates = ['oilRate', 'gasRate', 'waterRate', 'gasLiftInjectionRate', 'waterInjectionRate', 'gasInjectionRate'];
const pressures = ['tubingPressure', 'casingPressure', 'gaugePressure', 'linePressure'];

export const negative: Check = ({ days }, { from, to }, { leastPressure }, add) => {
  const below = (field: CheckedField, bound: number): void => {
    const values = days.values[field];
    if (values === undefined) return;
    for (let index = from; ; index += 1) {
      index = nextBelow(values, index, to, bound);
      if (index >= to) return;
      add(days.days[index] ?? 0, columnOfField[field], values[index] ?? 0, bound);
    }
  };
  for (const field of rates as readonly CheckedField[]) below(field, 0);
  for (const field of pressures as readonly CheckedField[]) below(field, leastPressure);
};

// Streams that the type of a well, or its lift, excludes, by what its record says; nothing where it says nothing.

export const excludedStream: Check = ({ days, facts }, { from, to }, _settings, add) => {
  if (facts === undefined) return;
  const { type, lift, fromDay } = facts;
  const { values } = days;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    if (day < fromDay) continue;
    const above = (field: CheckedField): void => {
      const value = valueAt(values[field], index);
      if (value > 0) add(day, columnOfField[field], value, 0);
    };
    if (type === 'producer') above('waterInjectionRate');
    if (type === 'producer') above('gasInjectionRate');
    if (type === 'injector') above('oilRate');
    if (lift === undefined || !isProducing(values, index)) continue;
    const field = lift === 'esp' ? 'espFrequency' : 'gasLiftInjectionRate';
    const value = valueAt(values[field], index);
    // A rate that gas lift needs may not be left out; a pump of which nothing is known may run.
    if (value === 0 || (lift === 'gas-lift' && Number.isNaN(value))) add(day, columnOfField[field], value, null);
  }
};

// Days of two records or more, days that have not come, and a change of the hour to which a service dates its records.

export const dayIdentity: Check = ({ days, today }, { from, to }, _settings, add) => {
  // Most records have the hour of the one before.
  let offsetBeforeMs = NaN;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    const records = days.records?.[index] ?? 1;
    if (records > 1) add(day, 'record', records, 1);
    if (day > today) add(day, 'date', day - today, 0);
    const offsetMs = (days.instantsMs[index] ?? 0) - day * DAY_MS;
    if (offsetMs !== offsetBeforeMs) {
      const before = hourBeforeChange(days, index);
      if (before !== undefined) add(day, 'date', hourOf(days, index), before);
    }
    offsetBeforeMs = offsetMs;
  }
};

/** The hour of the record before; undefined without one, where clocks changed, and where the hour is back after one odd day. */
function hourBeforeChange(days: WellDays, index: number): number | undefined {
  const hour = hourOf(days, index);
  const before = hourBefore(days, index, 1);
  if (before === undefined || isClockChange(hour - before)) return undefined;
  const earlier = hourBefore(days, index, 2);
  return earlier === undefined || !isClockChange(hour - earlier) ? before : undefined;
}

/** Hours from midnight UTC of the day to the instant of its record. */
function hourOf({ days, instantsMs }: WellDays, index: number): number {
  return ((instantsMs[index] ?? 0) - (days[index] ?? 0) * DAY_MS) / HOUR_MS;
}

function hourBefore(days: WellDays, index: number, rows: number): number | undefined {
  const at = index - rows;
  return at >= 0 && (days.days[at] ?? 0) >= (days.days[index] ?? 0) - reachDays ? hourOf(days, at) : undefined;
}

/** Clocks change by an hour in most zones, and by half an hour in one; a fixed local time moves so against UTC. */
function isClockChange(hours: number): boolean {
  return Math.abs(hours) <= 1;
}
