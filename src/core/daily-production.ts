/** Owns the shape of a daily production row as wellsync carries it, field by field after INTERFACE.md section 2.1. */

export type FieldKind = 'double' | 'int32' | 'string' | 'boolean';

export interface MeasureField {
  /** Name at the service, exact. */
  readonly name: string;
  /** Column in the warehouse: the same words in snake_case (DESIGN.md section 7). */
  readonly column: string;
  readonly kind: FieldKind;
  /** A required field is never null; when it is absent the documented default 0 applies, and is counted. */
  readonly required: boolean;
}

function field(name: string, kind: FieldKind = 'double', required = false): MeasureField {
  return { name, column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), kind, required };
}

/** Every field of DailyProduction but `xid` and `date`, in the order of INTERFACE.md section 2.1. Units: not shown there. */
export const measureFields: readonly MeasureField[] = [
  field('oilRate', 'double', true),
  field('gasRate', 'double', true),
  field('waterRate', 'double', true),
  field('tubingPressure', 'double', true),
  field('casingPressure', 'double', true),
  field('choke', 'int32'),
  field('gaugePressure'),
  field('wellheadTemperature'),
  field('gaugeTemperature'),
  field('linePressure'),
  field('gasLiftInjectionRate'),
  field('espFrequency'),
  field('espIntakePressure'),
  field('espAmps'),
  field('espVolts'),
  field('espDischargePressure'),
  field('espMotorTemperature'),
  field('espVibration'),
  field('srpStrokesPerMin'),
  field('srpIntakePressure'),
  field('srpFluidLoad'),
  field('srpFillage'),
  field('downtimeHours'),
  field('downtimeCode', 'string'),
  field('waterInjectionRate'),
  field('gasInjectionRate'),
  field('isAnnularFlow', 'boolean'),
  field('isDualFlow', 'boolean'),
  field('pcpSpeed'),
  field('pcpTorque'),
  field('pcpIntakePressure'),
  field('pcpDischargePressure'),
];

export type Measure = number | string | boolean | null;

/** One checked row. It holds values by position rather than by name: a well of 60 years is 22,000 of these (G8). */
export interface DailyProductionRow {
  /** Record identifier at the service, a uuid in lower case. */
  readonly xid: string;
  /** The instant of `date`, milliseconds since 1970-01-01T00:00Z. */
  readonly instantMs: number;
  /** Calendar day of that instant in the configured zone, YYYY-MM-DD. */
  readonly day: string;
  /** One value for each of {@link measureFields}, in that order. */
  readonly measures: readonly Measure[];
  /** Fields that the interface does not name, as one JSON object; null where there are none. */
  readonly extras: string | null;
}

/** A record that breaks the contract, kept as it came. */
export interface QuarantinedRecord {
  /** The record as JSON text. */
  readonly raw: string;
  /** What is wrong with it, naming the field. */
  readonly reason: string;
  /** Its xid and day where they could be read. */
  readonly xid: string | null;
  readonly day: string | null;
}
