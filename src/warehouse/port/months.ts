/** The port to months of wells: the view `monthly_production`, and what was known of a month before. */
import type { RateBasis } from '../../core/daily/rate-basis.ts';

/** In the units of the warehouse (core/daily/units.ts); null where no day has a value. */
export interface Volumes {
  readonly oil: number | null;
  readonly gas: number | null;
  readonly water: number | null;
  readonly waterInjected: number | null;
  readonly gasInjected: number | null;
}

/** A well in a month of which a day is known. */
export interface MonthOfWell extends Volumes {
  readonly uwi: string;
  /** Its first day, YYYY-MM-DD. */
  readonly month: string;
  /** Days as coverage has them. A day that is quarantined may have an older row, which is in the sums. */
  readonly daysPresent: number;
  readonly daysMissing: number;
  readonly daysQuarantined: number;
  /** Of the days with a row: 24 of each but the hours down. Null without a row. */
  readonly hoursOn: number | null;
  /** Null where no day has a value. */
  readonly downtimeHours: number | null;
  /** Hours down by their code, the empty one for hours without one. Null without a row. */
  readonly downtimeByCode: Readonly<Record<string, number>> | null;
  /** At the moment of the question, by the basis of now. */
  readonly asKnown?: Pick<Volumes, 'oil' | 'gas' | 'water'>;
}

export interface MonthsQuestion {
  /** Omitted: all wells with a row or a quarantined record. */
  readonly uwis?: readonly string[];
  /** Compares each month with what was known then, milliseconds since 1970; never before the horizon of the history. */
  readonly knownAtMs?: number;
  /** Only months behind this one, in their order. */
  readonly after?: Pick<MonthOfWell, 'uwi' | 'month'>;
  readonly limit?: number;
}

export interface MonthStore {
  /** Months in the order of wells and time. Valid during the call of `use`, which must not call the warehouse. */
  months<T>(question: MonthsQuestion, use: (months: AsyncIterable<MonthOfWell>) => Promise<T>): Promise<T>;
  /** What the rates of the warehouse mean. */
  rateBasis(): Promise<RateBasis>;
  /** Sets it; writes nothing where it is so. */
  keepRateBasis(basis: RateBasis): Promise<void>;
}
