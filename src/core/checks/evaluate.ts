/** All checks of some days of a well. */
import type { Check, CheckedWell, Span } from './checked-well.ts';
import { dayIdentity } from './day-identity.ts';
import { downtimeReason } from './downtime-reason.ts';
import { excludedStream } from './excluded-stream.ts';
import { type Finding, Findings } from './finding.ts';
import { type CheckHistory, withCodes, withPartials } from './history.ts';
import { hoursOutOfBounds, productionWhileDown } from './hours.ts';
import { jump } from './jump.ts';
import { maybeMissingZero } from './missing-zero.ts';
import { negative } from './negative.ts';
import { rateOrVolume, readPartials } from './rate-or-volume.ts';
import { type CheckName, type CheckSettings, reachDays } from './settings.ts';
import { staleRepeat } from './stale-repeat.ts';
import { unitSlip } from './unit-slip.ts';
import { indexOfDay } from './well-days.ts';

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
