/**
 * The wire contract of the Production Data Service: its paths and their records, as zod schemas that follow
 * docs/interface.md field by field. What that document does not show is not included.
 */
import { z } from 'zod';
import {
  type KnownList,
  plainKind,
  type RecordList,
  type RecordOf,
  type ValueKind,
} from '../core/definitions/record-list.ts';
import { instantOfDateTime, productionCalendar } from '../core/time/production-day.ts';
import { PermanentError } from '../core/base/errors.ts';

/** Converted to lower case, so that a record has one key in any spelling. */
const uuid = z.guid().toLowerCase();
/** With an offset (`+01:00`, `+0100`, `+01` or Z), or without one. */
const dateTime = z
  .string()
  .refine((value) => instantOfDateTime(value, productionCalendar('UTC')) !== undefined, 'is not a date-time');
const double = z.number();
const int32 = z.int32();
/** Text without half a surrogate pair: neither bytes that are not UTF-8 nor an escape of one half. */
const text = z.string().refine((value) => value.isWellFormed(), 'is not Unicode text');

/**
 * docs/interface.md section 2.1. An absent required number takes its documented default 0; null is a fault, but
 * where an operator allows it (`export.nullable`), which the check of records knows (core/daily/record-check.ts).
 */
export const dailyProductionSchema = z.object({
  xid: uuid,
  date: dateTime,
  oilRate: double.default(0),
  gasRate: double.default(0),
  waterRate: double.default(0),
  tubingPressure: double.default(0),
  casingPressure: double.default(0),
  choke: int32.nullish(),
  gaugePressure: double.nullish(),
  wellheadTemperature: double.nullish(),
  gaugeTemperature: double.nullish(),
  linePressure: double.nullish(),
  gasLiftInjectionRate: double.nullish(),
  espFrequency: double.nullish(),
  espIntakePressure: double.nullish(),
  espAmps: double.nullish(),
  espVolts: double.nullish(),
  espDischargePressure: double.nullish(),
  espMotorTemperature: double.nullish(),
  espVibration: double.nullish(),
  srpStrokesPerMin: double.nullish(),
  srpIntakePressure: double.nullish(),
  srpFluidLoad: double.nullish(),
  srpFillage: double.nullish(),
  downtimeHours: double.nullish(),
  downtimeCode: text.nullish(),
  waterInjectionRate: double.nullish(),
  gasInjectionRate: double.nullish(),
  isAnnularFlow: z.boolean().nullish(),
  isDualFlow: z.boolean().nullish(),
  pcpSpeed: double.nullish(),
  pcpTorque: double.nullish(),
  pcpIntakePressure: double.nullish(),
  pcpDischargePressure: double.nullish(),
});
export type DailyProduction = z.output<typeof dailyProductionSchema>;

const fieldSchemas: Readonly<Record<ValueKind, z.ZodType>> = {
  uuid,
  string: text,
  double,
  int32,
  boolean: z.boolean(),
};

/** The records of a list, field by field. */
export function recordsSchemaOf<List extends RecordList>({ fields }: List): z.ZodType<ReadonlyArray<RecordOf<List>>> {
  const shape = Object.entries(fields).map(([field, kind]) => {
    const schema = fieldSchemas[plainKind(kind)];
    return [field, kind.endsWith('?') ? schema.nullish().transform((given) => given ?? null) : schema];
  });
  return z.array(z.object(Object.fromEntries(shape))) as unknown as z.ZodType<ReadonlyArray<RecordOf<List>>>;
}

/** docs/interface.md sections 4.3 to 4.5: an int32 of undocumented meaning. */
export const deletionAnswerSchema = int32;

/**
 * The paths of docs/interface.md section 4, relative to the base address. Path parameters are percent-encoded: a
 * uwi may hold slashes and spaces. Throws PermanentError for an identifier that no path can carry.
 */
export const paths = {
  dailyProduction: (uwi: string) => `/api/production/daily/${segment(uwi)}`,
  timeSeries: (sourceEquipmentId: string) => `/api/production/netx/equipment/${segment(sourceEquipmentId)}/time-series`,
  timeSeriesRecord: (sourceEquipmentId: string, sourceId: string) =>
    `${paths.timeSeries(sourceEquipmentId)}/${segment(sourceId)}`,
  microStrings: (sourceWellId: string) => `${paths.well(sourceWellId)}/micro_string`,
  wellbores: (sourceWellId: string) => `${paths.well(sourceWellId)}/wellbore`,
  well: (sourceId: string) => `/api/production/well/${segment(sourceId)}`,
  networkPipes: () => '/api/production/network/pipe',
} as const;

/** The path of each list of records of a target. */
export const listPaths: Readonly<Record<KnownList['name'], (target: string) => string>> = {
  'time-series': paths.timeSeries,
};

/** An empty segment or a dot segment would make the path that of another target, and a deletion acts on its path. */
function segment(identifier: string): string {
  if (identifier === '' || identifier === '.' || identifier === '..' || !identifier.isWellFormed()) {
    throw new PermanentError('identifier', `${JSON.stringify(identifier)} cannot be requested: no path can carry it`, {
      hint: 'Correct the identifier where it was listed.',
    });
  }
  return encodeURIComponent(identifier);
}

/** Accept headers of docs/interface.md section 4: the only allowed value, another one for a single well. */
export const accept = { json: 'application/json', well: '*/*' } as const;
