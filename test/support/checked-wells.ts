/** Wells as the checks are given them, out of records of the service. */
import {
  type CheckedWell,
  type CheckName,
  type DayRange,
  hoursOfDays,
  noHistory,
  type WellDays,
} from '../../src/core/checks/check.ts';
import { daysOfReadings, evaluate, type Finding } from '../../src/core/checks/evaluate.ts';
import { measureFields, type Measure } from '../../src/core/daily/row.ts';
import { dayNumber, dayText } from '../../src/core/time/production-day.ts';
import { checksOf } from './check-settings.ts';
import { columnsOf } from './daily-rows.ts';
import { xidOf } from './warehouse-batches.ts';

/** Fields by their names at the service, beside the instant. */
export type CheckedRecord = { date: string } & { [name: string]: Measure };

/** A required field that is absent is 0, another one null. `order`: an order of the rows other than theirs. */
export function daysOf(records: readonly CheckedRecord[]): WellDays {
  return daysOfReadings([
    columnsOf(
      records.map((record, index) => ({
        xid: xidOf(index),
        instantMs: Date.parse(record.date),
        day: record.date.slice(0, 10),
        measures: measureFields.map(({ name, required }) => record[name] ?? (required ? 0 : null)),
        extras: null,
      })),
    ),
  ]);
}

type Known = Partial<Pick<CheckedWell, 'facts' | 'history' | 'today'>> & { readonly timeZone?: string };

export function wellOf(
  days: WellDays,
  { timeZone = 'UTC', ...known }: Known = {},
): Omit<CheckedWell, 'partials' | 'judged'> {
  return { days, facts: undefined, history: noHistory, today: 1e6, hoursOf: hoursOfDays(timeZone), ...known };
}

export function rangeOf({ days, length }: WellDays): DayRange {
  return { fromDay: days[0] ?? 0, toDay: days[length - 1] ?? 0 };
}

/** What is found of all days, by default with the default numbers. */
export function findingsOf(
  records: readonly CheckedRecord[],
  known: Known & { readonly settings?: ReturnType<typeof checksOf>['settings'] } = {},
): readonly Finding[] {
  const days = daysOf(records);
  return evaluate(wellOf(days, known), rangeOf(days), known.settings ?? checksOf().settings).findings;
}

/** `check day field`, of the findings of a check, or of all. */
export function named(findings: readonly Finding[], check?: CheckName): readonly string[] {
  return findings
    .filter((finding) => check === undefined || finding.check === check)
    .map((finding) => `${finding.check} ${dayText(finding.day)} ${finding.field}`);
}

/** A record a day from a day on; `values` by the number of the day, from 0. */
export function recordsFrom(
  firstDay: string,
  count: number,
  values: (index: number) => Readonly<Record<string, Measure>> | undefined,
): readonly CheckedRecord[] {
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const own = values(index);
    return own === undefined ? [] : [{ date: `${dayText(dayNumber(firstDay) + index)}T00:00:00Z`, ...own }];
  });
}
