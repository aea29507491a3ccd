/** The fields of a daily production row (docs/interface.md section 2.1). */

export type FieldKind = 'double' | 'int32' | 'string' | 'boolean';

export interface MeasureField {
  /** Exact name at the service. */
  readonly name: string;
  /** Column in the warehouse: the name in snake_case (docs/design.md section 7). */
  readonly column: string;
  readonly kind: FieldKind;
  /**
   * A required field is never null. When it is absent it takes its documented default 0, and the row counts as
   * defaulted.
   */
  readonly required: boolean;
  /**
   * Reads the field of a record. A function written out for each field is much quicker than one that takes the name:
   * the engine remembers for each where the value lies.
   */
  readonly valueIn: (record: RawRecord) => unknown;
}

/** A record as it came, parsed. */
export type RawRecord = Readonly<Record<string, unknown>>;

function field(
  name: string,
  valueIn: MeasureField['valueIn'],
  kind: FieldKind = 'double',
  required = false,
): MeasureField {
  return { name, column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), kind, required, valueIn };
}

/**
 * Every field of DailyProduction except `xid` and `date`, in the order of docs/interface.md section 2.1, which names no
 * units.
 */
export const measureFields: readonly MeasureField[] = [
  field('oilRate', ({ oilRate }) => oilRate, 'double', true),
  field('gasRate', ({ gasRate }) => gasRate, 'double', true),
  field('waterRate', ({ waterRate }) => waterRate, 'double', true),
  field('tubingPressure', ({ tubingPressure }) => tubingPressure, 'double', true),
  field('casingPressure', ({ casingPressure }) => casingPressure, 'double', true),
  field('choke', ({ choke }) => choke, 'int32'),
  field('gaugePressure', ({ gaugePressure }) => gaugePressure),
  field('wellheadTemperature', ({ wellheadTemperature }) => wellheadTemperature),
  field('gaugeTemperature', ({ gaugeTemperature }) => gaugeTemperature),
  field('linePressure', ({ linePressure }) => linePressure),
  field('gasLiftInjectionRate', ({ gasLiftInjectionRate }) => gasLiftInjectionRate),
  field('espFrequency', ({ espFrequency }) => espFrequency),
  field('espIntakePressure', ({ espIntakePressure }) => espIntakePressure),
  field('espAmps', ({ espAmps }) => espAmps),
  field('espVolts', ({ espVolts }) => espVolts),
  field('espDischargePressure', ({ espDischargePressure }) => espDischargePressure),
  field('espMotorTemperature', ({ espMotorTemperature }) => espMotorTemperature),
  field('espVibration', ({ espVibration }) => espVibration),
  field('srpStrokesPerMin', ({ srpStrokesPerMin }) => srpStrokesPerMin),
  field('srpIntakePressure', ({ srpIntakePressure }) => srpIntakePressure),
  field('srpFluidLoad', ({ srpFluidLoad }) => srpFluidLoad),
  field('srpFillage', ({ srpFillage }) => srpFillage),
  field('downtimeHours', ({ downtimeHours }) => downtimeHours),
  field('downtimeCode', ({ downtimeCode }) => downtimeCode, 'string'),
  field('waterInjectionRate', ({ waterInjectionRate }) => waterInjectionRate),
  field('gasInjectionRate', ({ gasInjectionRate }) => gasInjectionRate),
  field('isAnnularFlow', ({ isAnnularFlow }) => isAnnularFlow, 'boolean'),
  field('isDualFlow', ({ isDualFlow }) => isDualFlow, 'boolean'),
  field('pcpSpeed', ({ pcpSpeed }) => pcpSpeed),
  field('pcpTorque', ({ pcpTorque }) => pcpTorque),
  field('pcpIntakePressure', ({ pcpIntakePressure }) => pcpIntakePressure),
  field('pcpDischargePressure', ({ pcpDischargePressure }) => pcpDischargePressure),
];

export type Measure = number | string | boolean | null;

/** One checked row, on its way into the columns of its window (row-columns.ts). */
export interface DailyProductionRow {
  /** Record identifier at the service: a UUID in lower case. */
  readonly xid: string;
  /** Instant of `date`, milliseconds since 1970-01-01T00:00Z. */
  readonly instantMs: number;
  /** Calendar day of the instant in the configured zone: days since 1970-01-01. */
  readonly day: number;
  /** One value for each of {@link measureFields}, in that order. */
  readonly measures: readonly Measure[];
  /** Fields that the interface does not name, as one JSON object; null when there are none. */
  readonly extras: string | null;
}

/** A record that breaks the contract of the interface. */
export interface QuarantinedRecord {
  /** The record as JSON text, unchanged: its first 65,536 characters. */
  readonly raw: string;
  /** Every fault, each with the name of its field. */
  readonly reason: string;
  /** xid and production day (YYYY-MM-DD) of the record; null when they cannot be read. */
  readonly xid: string | null;
  readonly day: string | null;
}
