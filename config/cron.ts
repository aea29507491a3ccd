/**
 * Crons of the configuration: exactly five fields of numbers and names. The parser reads more than that without a word (an
 * empty text as every minute, a sixth field as seconds, `@daily`, `L`, `#`), which nobody means who writes five.
 */
import { CronExpressionParser } from 'cron-parser';
import type { CronFields } from '../src/core/schedule/ticks.ts';

const plain = /^[\d*,/-]+$/;
const months = /^(?:[\d*,/-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+$/i;
const weekdays = /^(?:[\d*,/-]|sun|mon|tue|wed|thu|fri|sat)+$/i;
const patterns = [plain, plain, plain, months, weekdays] as const;
const names = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const;

/** The fields of a cron, or why it is none. */
export function readCron(text: string): CronFields | { readonly fault: string } {
  const given = text.trim().split(/\s+/);
  if (given.length !== patterns.length || given[0] === '') {
    return { fault: `must have five fields (minute, hour, day of month, month, day of week), such as "15 2 * * *"` };
  }
  const wrong = patterns.findIndex((pattern, index) => !pattern.test(given[index] ?? ''));
  if (wrong !== -1)
    return { fault: `must hold numbers, *, ranges, steps and lists in its field ${names[wrong] ?? ''}` };
  try {
    return fieldsOf(given.join(' '));
  } catch (error) {
    return { fault: `is no cron: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function fieldsOf(cron: string): CronFields {
  const { minute, hour, dayOfMonth, month, dayOfWeek } = CronExpressionParser.parse(cron, { tz: 'UTC' }).fields;
  return {
    minutes: numbersOf(minute.values),
    hours: numbersOf(hour.values),
    daysOfMonth: numbersOf(dayOfMonth.values),
    months: numbersOf(month.values),
    // 0 and 7 are both Sunday.
    daysOfWeek: numbersOf(dayOfWeek.values.map((day) => Number(day) % 7)),
    isEveryDayOfMonth: dayOfMonth.isWildcard,
    isEveryDayOfWeek: dayOfWeek.isWildcard,
  };
}

function numbersOf(values: readonly (number | string)[]): readonly number[] {
  return [...new Set(values.map(Number))].toSorted((one, other) => one - other);
}
