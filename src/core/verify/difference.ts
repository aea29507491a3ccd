/** What a verification finds of a well: where the warehouse and the service differ, and what would put that right. */
import type { Measure } from '../daily/row.ts';

/**
 * `differs`: the same record has other values. `replaced`: the record of the day has another xid. `missing-here`: the service
 * has it, and the warehouse neither as a row nor in quarantine. `missing-there`: the warehouse has it, and the service not.
 */
export type DifferenceKind = 'differs' | 'replaced' | 'missing-here' | 'missing-there';

/** One field of one record, or a whole record. */
export interface Difference {
  readonly uwi: string;
  /** YYYY-MM-DD; null where it cannot be read. */
  readonly day: string | null;
  readonly kind: DifferenceKind;
  /** A column of daily_production; null where the whole record is missing. */
  readonly field: string | null;
  /** In the warehouse. */
  readonly here: Measure;
  /** At the service. */
  readonly there: Measure;
}

/** Days as day numbers, `toDay` exclusive: the days of the records on both sides that a backfill has to read. */
export interface DifferingDays {
  readonly fromDay: number;
  readonly toDay: number;
}

/** What was found of one unit that differs. */
export interface UnitFinding {
  /** Absent where no backfill would put it right: the service does not know the well. */
  readonly days?: DifferingDays;
  /** Some of its differences. */
  readonly differences: readonly Difference[];
}

/** What was found of the units of a run. */
export interface RunFindings {
  /** Units that differ. */
  readonly units: number;
  /** Those of them that have days, and the days of all of these. */
  readonly datedUnits: number;
  readonly days: DifferingDays | undefined;
  /** The first of them, by unit: those with days before the others. */
  readonly first: ReadonlyArray<UnitFinding & { readonly target: string }>;
}

export const nothingFound: RunFindings = { units: 0, datedUnits: 0, days: undefined, first: [] };

/** In the report of a run. */
export interface ReportedDifferences {
  readonly wells: number;
  /** Some of them: at most forty. */
  readonly samples: readonly Difference[];
  /** The exports that would put them right. */
  readonly backfills: readonly Backfill[];
}

/** An export of some days. */
export interface Backfill {
  /** Null for all wells in the warehouse. */
  readonly uwis: readonly string[] | null;
  /** YYYY-MM-DD; `to` is the first day that is left out. */
  readonly from: string;
  readonly to: string;
}

/** Differences that are kept of one unit. */
export const mostOfUnit = 4;
/** Units of which the findings are read for a report: as many as give their differences, and are named in a backfill. */
export const mostUnitsRead = 40;
