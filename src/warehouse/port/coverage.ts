import type { CoverageCounts, DayInterval, WellCoverage } from '../../core/daily/coverage.ts';

/** Wells and days of a survey; days as day numbers (core/time/day-number.ts). */
export interface CoverageQuestion {
  /** Omitted: all wells with any known or read day. */
  readonly uwis?: readonly string[];
  /** Omitted: for each well its first known day. */
  readonly fromDay?: number;
  readonly toDay: number;
  /** Wells that deliver no more: the days after their last day are not asked for. */
  readonly plugged?: readonly string[];
}

/** `month`: its first day, YYYY-MM-DD. Counts only the asked days of the month. */
export interface MonthCoverage extends CoverageCounts {
  readonly month: string;
}

/** Results at one moment, all over the same days. Valid only during the call of `use`. */
export interface CoverageSurvey {
  /** `emptyWells`: wells without a known day. `wellsWithHoles`: wells with a day that needs attention (core's holesOf). */
  totals(): Promise<
    Omit<WellCoverage, 'uwi' | 'firstDay' | 'lastDay'> &
      Readonly<Record<'wells' | 'emptyWells' | 'wellsWithHoles', number>>
  >;
  /** The wells with the most days that are quarantined, never read, or missing before their last day. */
  worstWells(limit: number): Promise<readonly WellCoverage[]>;
  /** All wells of the survey, by uwi. */
  wells(): AsyncIterable<WellCoverage>;
  /** The sums of all wells, by month; months without an asked day are omitted. */
  months(): Promise<readonly MonthCoverage[]>;
  /** The months of each of these wells, by uwi and month. */
  cells(uwis: readonly string[]): Promise<ReadonlyArray<MonthCoverage & { readonly uwi: string }>>;
}

export interface StaleWellsQuestion {
  /** Day number. */
  readonly today: number;
  readonly warnAfterDays: number;
  /** Wells that are left out. */
  readonly plugged: readonly string[];
}

/** A well without a new day for long. Days are YYYY-MM-DD. */
export interface StaleWell {
  readonly uwi: string;
  readonly lastDay: string;
  /** Whole days between the last day and today. */
  readonly silentDays: number;
  /** Quarantined records of later days, or of an unknown day: records come, but none is right. */
  readonly quarantined: number;
  /** ISO 8601; null if the service knows the well. */
  readonly unknownSince: string | null;
}

/** A well that the service answered with 404 when it was last read. */
export interface UnknownWell {
  readonly uwi: string;
  /** ISO 8601: the first 404 without an answer since. */
  readonly since: string;
  readonly runId: string;
  /** Last day with a row, YYYY-MM-DD; null if there is none. */
  readonly lastDay: string | null;
}

/** What the warehouse knows of a well beside its days. ISO 8601; null for what never was. */
export interface WellTrace {
  readonly uwi: string;
  readonly readUpTo: string | null;
  readonly unknownSince: string | null;
}

/**
 * Completeness of daily production: the days of verified reads compared with the stored rows (docs/design.md section
 * 4.1).
 */
export interface CoverageStore {
  /** `use` must not call the warehouse: the call would wait for `use` to end. */
  survey<T>(question: CoverageQuestion, use: (survey: CoverageSurvey) => Promise<T>): Promise<T>;
  /** The wells that were read and have become silent, the latest first. */
  staleWells(question: StaleWellsQuestion): Promise<readonly StaleWell[]>;
  /**
   * The watermarks that such shares of the wells have reached or passed, in milliseconds since 1970; undefined without a
   * well that has one.
   */
  reachedWatermarks(shares: readonly number[]): Promise<readonly number[] | undefined>;
  /** The wells that the service does not know, the latest first. */
  unknownWells(): Promise<readonly UnknownWell[]>;
  /** By uwi, one for each of these wells. */
  traces(uwis: readonly string[]): Promise<readonly WellTrace[]>;
  /** By well, the intervals of days with a row or a quarantined record, in order; a well without any is absent. */
  knownDays(uwis: readonly string[]): Promise<ReadonlyMap<string, readonly DayInterval[]>>;
}
