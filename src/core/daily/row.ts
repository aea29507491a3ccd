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
}

function field(name: string, kind: FieldKind = 'double', required = false): MeasureField {
  return { name, column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), kind, required };
}

/**
 * Every field of DailyProduction except `xid` and `date`, in the order of docs/interface.md section 2.1, which names no
 * units.
 */
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

/** One checked row. Values are held by position, not by name: a well with 60 years of history has 22,000 rows (G8). */
export interface DailyProductionRow {
  /** Record identifier at the service: a UUID in lower case. */
  readonly xid: string;
  /** Instant of `date`, milliseconds since 1970-01-01T00:00Z. */
  readonly instantMs: number;
  /** Calendar day of the instant in the configured zone, YYYY-MM-DD. */
  readonly day: string;
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
  /** xid and production day of the record; null when they cannot be read. */
  readonly xid: string | null;
  readonly day: string | null;
}
