/** The port to the time zones by which rows of daily production are dated (core/daily/zones.ts). */
import type { KeptZone } from '../../core/daily/zones.ts';
import type { WellChecks } from './wells.ts';
import type { ByUwi } from './daily-production.ts';

/** Of a well whose rows are dated by another zone than they are to be. */
export interface OtherZone {
  readonly uwi: string;
  readonly wellId: number;
  /** By which its rows are dated. */
  readonly from: string;
  readonly to: string;
}

/** Rows that a rezone gives another day, or would; those of them that also change their month are in both. */
export interface RedatedRows {
  readonly rows: number;
  readonly otherDay: number;
  readonly otherMonth: number;
}

export interface ZoneStore {
  read(): Promise<KeptZone>;
  /** Keeps the zone of the first export. Changes nothing where one is kept. */
  keep(timeZone: string): Promise<void>;
  /** By uwi, the zone by which the rows of each well are dated; a well that was never read is absent. */
  ofWells(uwis: readonly string[]): Promise<ByUwi<string>>;
  /** The wells behind the key `afterId` whose zone is not that of `wanted`, in the order of their keys: at most `limit`. */
  others(
    wanted: { readonly timeZone: string; readonly ofWells: ByUwi<string> },
    page: { readonly afterId: number; readonly limit: number },
  ): Promise<readonly OtherZone[]>;
  /** Writes nothing. */
  measure(wells: readonly OtherZone[]): Promise<RedatedRows>;
  /**
   * Begins to date all rows by another zone, or goes on. From then on until {@link finish} no read is merged. Raises the
   * epoch, so that earlier workers stop. Throws UsageError while rows are held: their months would be others.
   */
  begin(to: string): Promise<void>;
  /**
   * Dates the rows of these wells by their zone, in one transaction: rows, history, quarantine, last days, which record of a
   * day counts, and what `checks` find of them (undefined where none is made); and shortens each interval of coverage by a day
   * at both ends, where a day was not wholly read. Leaves wells as they are that have their zone already. Throws UsageError
   * where no rezone to `to` is under way: of two processes the one that began last decides.
   */
  step(to: string, wells: readonly OtherZone[], checks: WellChecks | undefined): Promise<RedatedRows>;
  /** Every month of the feed is due then. Changes nothing where another process has ended it; throws UsageError as a step does. */
  finish(to: string): Promise<void>;
}
