/**
 * Owns the wire contract of the Production Data Service: its seven paths and the records that they carry, as zod schemas
 * that follow INTERFACE.md field by field. What that document does not show is not in here.
 */
import { z } from 'zod';
import { PermanentError } from '../core/errors.ts';

/** Kept in lower case, so that one record has one key however it is written. */
const uuid = z.guid().toLowerCase();
const dateTime = z.iso.datetime({ offset: true, local: true });
const double = z.number();
const int32 = z.int32();

/** Section 2.1. A required number that is absent takes its documented default 0; null stays a fault. */
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
  downtimeCode: z.string().nullish(),
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

/** Section 2.2. Allowed values of `measurement` are not shown: kept as they come. */
export const timeSeriesRecordSchema = z.object({
  xid: uuid,
  equipmentXid: uuid,
  sourceId: z.string(),
  measurement: z.string(),
  unit: z
    .string()
    .nullish()
    .transform((unit) => unit ?? null),
});

/** Sections 4.3 to 4.5: an int32 whose meaning is not shown. */
export const deletionAnswerSchema = int32;

/**
 * Section 4, all seven, relative to the base address. Path parameters are percent-encoded: a uwi may hold slashes and
 * spaces. Throws PermanentError for an identifier that no path can carry.
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

/** An empty segment or a dot segment would turn the path into that of another target, and a deletion goes by its path. */
function segment(identifier: string): string {
  if (/^\.{0,2}$/.test(identifier) || /\p{Surrogate}/u.test(identifier)) {
    throw new PermanentError('identifier', `${JSON.stringify(identifier)} cannot be asked for: no path can carry it`, {
      hint: 'Correct the identifier where it was listed.',
    });
  }
  return encodeURIComponent(identifier);
}

/** The accept header of section 4: its only allowed value, which differs for the single well. */
export const accept = { json: 'application/json', well: '*/*' } as const;
