/** All checks of some days of a well, and what they find. */
import { type Check, type CheckedWell, type CheckName, type CheckSettings, reachDays, type Span } from './check.ts';
import { dayIdentity } from './counted-days.ts';
import { downtimeReason, hoursOutOfBounds, productionWhileDown } from './downtime.ts';
import { excludedStream, maybeMissingZero, negative, staleRepeat } from './suspect-values.ts';
import { jump } from './jump.ts';
import { rateOrVolume, readPartials } from './rate-or-volume.ts';
import { unitSlip } from './unit-slip.ts';
import { type CheckHistory, indexOfDay, withCodes, withPartials } from './well-days.ts';

const checks: Readonly<Record<CheckName, Check>> = {
  'maybe-missing-zero': maybeMissingZero,
  'hours-out-of-bounds': hoursOutOfBounds,
  'production-while-down': productionWhileDown,
  'downtime-reason': downtimeReason,
  'rate-or-volume': rateOrVolume,
  negative,
  'stale-repeat': staleRepeat,
  jump,
  'excluded-stream': excludedStream,
  'day-identity': dayIdentity,
  'unit-slip': unitSlip,
};

/** Day numbers, both of them included. */
export interface DayRange {
  readonly fromDay: number;
  readonly toDay: number;
}

/** The days whose findings may change where rows of these days have. */
export function evaluatedDays({ fromDay, toDay }: DayRange): DayRange {
  return { fromDay: fromDay - reachDays, toDay: toDay + reachDays };
}

/** The days whose rows those findings rest on. */
export function readDays({ fromDay, toDay }: DayRange): DayRange {
  return { fromDay: fromDay - 2 * reachDays, toDay: toDay + 2 * reachDays };
}

export interface Evaluated {
  /** In the order of the checks, and of days within each. */
  readonly findings: readonly Finding[];
  /** The same one as before where nothing is new. */
  readonly history: CheckHistory;
}

/**
 * The findings of the days of `range`, which is what {@link evaluatedDays} gives; `well.days` are those of {@link readDays}, as
 * far as they have rows. Never throws, whatever the numbers are.
 */
export function evaluate(
  { days, facts, history: known, today, hoursOf }: Omit<CheckedWell, 'partials'>,
  range: DayRange,
  settings: CheckSettings,
): Evaluated {
  const span: Span = { from: indexOfDay(days, range.fromDay), to: indexOfDay(days, range.toDay + 1) };
  const history = withCodes(known, days);
  if (span.from >= span.to) return { findings: [], history: withPartials(history, range, []) };
  const partials = settings.names.includes('rate-or-volume') ? readPartials(days, span, settings) : [];
  const given: CheckedWell = { days, facts, history, partials, today, hoursOf };
  const findings = settings.names.flatMap((name) => {
    const found = new Findings(name);
    checks[name](given, span, settings, (day, field, value, expected) => found.add(day, field, value, expected));
    return found.list;
  });
  return { findings, history: withPartials(history, range, partials) };
}

// What checks find.

/** Of one day; a check has one a day. */
export interface Finding {
  readonly check: CheckName;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** The column of daily_production, or `gas_oil_ratio`, `water_cut` or `record`. */
  readonly field: string;
  /** Null where no number says it. */
  readonly value: number | null;
  /** What the value should be, or its bound; null where that is not known. */
  readonly expected: number | null;
}

/** The first finding of a day counts. */
class Findings {
  readonly #check: CheckName;
  readonly #days = new Set<number>();
  readonly list: Finding[] = [];

  constructor(check: CheckName) {
    this.#check = check;
  }

  add(day: number, field: string, value: number, expected: number | null): void {
    if (this.#days.has(day)) return;
    this.#days.add(day);
    this.list.push({
      check: this.#check,
      day,
      field,
      value: finiteOf(value),
      expected: expected && finiteOf(expected),
    });
  }
}

/** -0 is 0, and what is no number is not known. */
function finiteOf(value: number): number | null {
  return Number.isFinite(value) ? value + 0 : null;
}
