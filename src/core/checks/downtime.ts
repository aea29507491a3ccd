/** Checks of downtime: hours that no day has, production of a well that was down, and codes. */
import {
  type Check,
  type CheckedWell,
  type CheckSettings,
  codeField,
  codeText,
  columnOfField,
  DaysAround,
  daysBefore,
  isCodeList,
  isProducing,
  nextFrom,
  type PartialDay,
  reachDays,
  type ReadPartial,
  SortedWindow,
  type Span,
  valueAt,
  type WellDays,
} from './check.ts';

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

// Hours of downtime without a code, codes without hours, and codes that the well never had.

export const downtimeReason: Check = (well, span, settings, add) => {
  const { codes } = well.days;
  if (codes === undefined) return;
  missingReasons(well, span, settings, add);
  newCodes(well, span, add);
};

/**
 * Services differ in which days they give a code: only what the well's days before did otherwise is a fault. So a well
 * whose running days have a code too (`NONE`), or whose downtime never has one, is none.
 */
function missingReasons(
  { days }: CheckedWell,
  { from, to }: Span,
  { fewestDays, hoursTolerance }: CheckSettings,
  add: Parameters<Check>[3],
): void {
  const ofSpan = kindsOf(days, from, to, hoursTolerance);
  // Most days have both or neither.
  if (!ofSpan.includes(down) && !ofSpan.includes(coded)) return;
  const kinds = to - from === days.length ? ofSpan : kindsOf(days, 0, days.length, hoursTolerance);
  if (!mayLackReasons(kinds)) return;
  const before = new DaysAround(days, daysBefore, kinds, 2 * down);
  for (let index = from; index < to; index += 1) {
    const kind = kinds[index] ?? 0;
    if (kind !== down && kind !== coded) continue;
    const counts = before.at(index);
    const [runs, runsCoded] = [counts[0] ?? 0, counts[coded] ?? 0];
    const [stands, standsCoded] = [counts[down] ?? 0, counts[down + coded] ?? 0];
    const day = days.days[index] ?? 0;
    const hours = valueAt(days.values.downtimeHours, index);
    if (kind === down && standsCoded > stands) add(day, columnOfField[codeField], hours, 0);
    if (kind === coded && runs + runsCoded >= fewestDays && runs > runsCoded) {
      add(day, columnOfField.downtimeHours, hours, null);
    }
  }
}

/** What a day has; both may be added. */
const coded = 1;
const down = 2;

/** Whether some days with downtime have a code and others none, or some without: a day stands out only against such days. */
function mayLackReasons(kinds: Uint8Array): boolean {
  const has = (kind: number): boolean => kinds.includes(kind);
  return (has(0) && has(coded)) || (has(down) && has(down + coded));
}

/** Of the rows from `from` on, before `to`. */
function kindsOf({ codes = [], values }: WellDays, from: number, to: number, hoursTolerance: number): Uint8Array {
  const kinds = new Uint8Array(to - from);
  let [last, isCode]: [string | null, number] = [null, 0];
  for (let index = from; index < to; index += 1) {
    if (valueAt(values.downtimeHours, index) > hoursTolerance) kinds[index - from] = down;
    const code = codes[index] ?? null;
    if (code === null) continue;
    if (code !== last) isCode = codeText(code) === '' ? 0 : coded;
    last = code;
    kinds[index - from] = (kinds[index - from] ?? 0) + isCode;
  }
  return kinds;
}

function newCodes({ days, history }: CheckedWell, { from, to }: Span, add: Parameters<Check>[3]): void {
  const { codesKnownTo = Infinity } = history;
  if (!isCodeList(history)) return;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    if (day <= codesKnownTo) continue;
    const code = codeText(days.codes?.[index]);
    if (code === '' || history.codes.get(code) !== day) continue;
    add(day, columnOfField[codeField], valueAt(days.values.downtimeHours, index), null);
  }
}

// Rates of days that were down in part. A rate of the day is the volume by 24 hours, one of the hours on the volume by those
// (IHS Harmony, PlanningSpace): one of the two, of one well, for good. A sum over both is wrong.

/** Partial days before by which the habit of a well is known, and how many of them have to agree. */
const habitDays = 5;
const habitAgrees = 4;
const fewestOfHabit = 3;

/** A change of habit, until the well has the other one. */
export const rateOrVolume: Check = ({ days, partials, history }, { from }, _settings, add) => {
  const first = partials[0]?.day ?? 0;
  const firstEvaluated = days.days[from] ?? 0;
  const known: PartialDay[] = history.partials.filter(({ day }) => day < first).slice(-habitDays);
  for (const each of partials) {
    const habit = habitOf(known);
    if (each.day >= firstEvaluated && habit !== undefined && habit !== each.isOperated) {
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
