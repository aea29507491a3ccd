/** The settings of schedules: what runs when. */
import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';
import { recordLists } from '../src/core/definitions/record-list.ts';
import { isTimeZone } from '../src/core/time/production-day.ts';
import { catchUps, type CronFields } from '../src/core/time/schedule-ticks.ts';
import { highestSeed } from '../src/core/verify/sample.ts';

const text = z.string().trim().min(1);
const names = z.array(text).min(1).exactOptional();
const file = text.refine((path) => path !== '-', 'must be the path of a file').exactOptional();
const isSet = z.boolean().exactOptional();

const cron = z
  .string()
  .transform((given) => given.trim().split(/\s+/).join(' '))
  .superRefine((given, context) => {
    const read = readCron(given);
    if ('fault' in read) context.addIssue({ code: 'custom', message: read.fault });
  });

/** An offset, such as +01:00, does not follow the clocks of any place. */
const namedZone = text.refine(
  (zone) => /^[a-z]/i.test(zone) && isTimeZone(zone),
  'must be the name of a time zone, such as UTC or Europe/Oslo',
);

const common = { cron, timeZone: namedZone, catchUp: z.enum(catchUps).default('latest') };

/** `member`: of the parameters, the list of targets. */
function ofDefinitions<Name extends string, Member extends string>(name: Name, member: Member) {
  const targets = { [member]: names } as Record<Member, typeof names>;
  const parameters = z.strictObject({ ...targets, file, fromWarehouse: isSet, allowShrink: isSet });
  return z.strictObject({ ...common, job: z.literal(`export ${name}`), parameters: parameters.prefault({} as never) });
}

/** What the ledger keeps of a schedule. Names and files replace those of the configuration, as flags do. */
export const scheduleSchema = z.discriminatedUnion('job', [
  z.strictObject({
    ...common,
    job: z.literal('export daily-production'),
    parameters: z
      .strictObject({
        wells: names,
        wellsFile: file,
        fromWarehouse: isSet,
        gaps: isSet,
        lookback: z.number().int().nonnegative().exactOptional(),
        allowShrink: isSet,
      })
      .prefault({}),
  }),
  z.strictObject({
    ...common,
    job: z.literal('verify daily-production'),
    parameters: z
      .strictObject({
        wells: names,
        all: isSet,
        sample: z.number().int().positive().exactOptional(),
        seed: z.number().int().nonnegative().max(highestSeed).exactOptional(),
      })
      .prefault({}),
  }),
  ofDefinitions('wells', 'wells'),
  ...recordLists.map(({ name, targets }) => ofDefinitions(name, targets.column)),
  // Never a list: a saved selection has caps of its own (G6).
  z.strictObject({ ...common, job: z.literal('cleanup'), parameters: z.strictObject({ selection: text }) }),
]);
export type ScheduleDefinition = z.output<typeof scheduleSchema>;

const scheduleName = text.max(80).regex(/^[\w-]+$/, 'may hold letters, digits, - and _');

/** Absent where a configuration says nothing of schedules: it changes none. */
export const schedulesSchema = z
  .strictObject({ revision: z.number().int().positive(), entries: z.record(scheduleName, scheduleSchema) })
  .optional();

/** The names of selections that schedules name and the configuration lacks, with the place of each. */
export function lackingSelections(
  schedules: z.output<typeof schedulesSchema>,
  selections: Readonly<Record<string, unknown>>,
): readonly (readonly [name: string, selection: string])[] {
  return Object.entries(schedules?.entries ?? {}).flatMap(([name, entry]) =>
    entry.job === 'cleanup' && !(entry.parameters.selection in selections)
      ? [[name, entry.parameters.selection] as const]
      : [],
  );
}

/**
 * Crons of the configuration: exactly five fields of numbers and names. The parser reads more than that without a word
 * (an empty text as every minute, a sixth field as seconds, `@daily`, `L`, `#`), which nobody means who writes five.
 */
const plain = /^[\d*,/-]+$/;
const months = /^(?:[\d*,/-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+$/i;
const weekdays = /^(?:[\d*,/-]|sun|mon|tue|wed|thu|fri|sat)+$/i;
const patterns = [plain, plain, plain, months, weekdays] as const;
const fieldNames = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const;

/** The fields of a cron, or why it is none. */
export function readCron(written: string): CronFields | { readonly fault: string } {
  const given = written.trim().split(/\s+/);
  if (given.length !== patterns.length || given[0] === '') {
    return { fault: `must have five fields (minute, hour, day of month, month, day of week), such as "15 2 * * *"` };
  }
  const wrong = patterns.findIndex((pattern, index) => !pattern.test(given[index] ?? ''));
  if (wrong !== -1)
    return { fault: `must hold numbers, *, ranges, steps and lists in its field ${fieldNames[wrong] ?? ''}` };
  try {
    return fieldsOf(given.join(' '));
  } catch (error) {
    return { fault: `is no cron: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function fieldsOf(expression: string): CronFields {
  const { minute, hour, dayOfMonth, month, dayOfWeek } = CronExpressionParser.parse(expression, { tz: 'UTC' }).fields;
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
