/** The settings of schedules: what runs when. */
import { z } from 'zod';
import { catchUps } from '../src/core/schedule/due.ts';
import { isTimeZone } from '../src/core/time/production-day.ts';
import { readCron } from './cron.ts';

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

const ofDefinitions = z.strictObject({ file, fromWarehouse: isSet, allowShrink: isSet });

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
    job: z.literal('export time-series'),
    parameters: ofDefinitions.extend({ equipment: names }).prefault({}),
  }),
  z.strictObject({
    ...common,
    job: z.literal('export wells'),
    parameters: ofDefinitions.extend({ wells: names }).prefault({}),
  }),
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
