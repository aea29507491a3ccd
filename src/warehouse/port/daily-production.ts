import type { DayInterval } from '../../core/daily/coverage.ts';
import type { SoundDays } from '../../core/daily/due-window.ts';
import type { HeldMonth } from '../../core/daily/held-month.ts';
import type { UnfinishedUnit, WindowBatch } from '../../core/daily/merge.ts';
import type { ShrinkGuard } from '../../core/daily/shrink-guard.ts';
import type { RestatedVersion } from '../../core/daily/restatement.ts';
import type { Measure } from '../../core/daily/row.ts';
import type { UnitOutcome } from '../../core/run/run.ts';
import type { SettleUnknown } from './unknown-targets.ts';

/** Restatements noticed within [sinceMs, untilMs), milliseconds since 1970; of all wells if none is named. */
export interface RestatementQuestion {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly uwis?: readonly string[];
  /** Only versions behind this one, in their order. */
  readonly after?: RestatementPlace;
  /** At most so many versions. */
  readonly limit?: number;
}

/** The place of a version in the order of restatements: ISO 8601, uwi, YYYY-MM-DD, xid. */
export interface RestatementPlace {
  readonly noticedAt: string;
  readonly uwi: string;
  readonly day: string;
  readonly xid: string;
}

/** Rows of a well, of the production days [from, to), YYYY-MM-DD; omitted bounds do not restrict them. */
export interface RowsQuestion {
  readonly uwi: string;
  readonly from?: string;
  readonly to?: string;
  /** Only rows behind this one, in the order of date and xid. */
  readonly after?: Pick<ProductionRow, 'date' | 'xid'>;
  readonly limit: number;
}

/** A row as it is stored. */
export interface ProductionRow {
  readonly xid: string;
  /** ISO 8601, UTC. */
  readonly date: string;
  /** YYYY-MM-DD; null where the zone of the row was not known. */
  readonly day: string | null;
  /** By column of daily_production. */
  readonly measures: Readonly<Record<string, Measure>>;
  /** JSON of the fields that the contract does not name; null if there is none. */
  readonly extras: string | null;
}

/** Windows that were read under one number. */
export interface DailyBatch {
  readonly runId: string;
  readonly windows: readonly WindowBatch[];
  readonly shrink: ShrinkGuard;
  /** From ReadOrder.begin, before the first request; without one they count as read at their commit. */
  readonly readNo?: number;
  /** For readings of a time that is known, in place of the clock of the database. */
  readonly committedAtMs?: number;
}

export interface CommittedBatch {
  /** Of the units that the commit settled. */
  readonly outcomes: readonly UnitOutcome[];
  /** Units of which a part has to be read again. */
  readonly unfinished: readonly UnfinishedUnit[];
}

/** How far incremental runs have read a well. */
export interface Watermark {
  /** Milliseconds since 1970. */
  readonly watermarkMs: number;
  /** Day number of the last day with a row; undefined for a well without a row. */
  readonly lastDay: number | undefined;
  /**
   * Up to when incremental runs have verified it, milliseconds since 1970: the end of the window of a verified read, or the
   * time of its commit where that was earlier. Undefined if there is none since schema version 6.
   */
  readonly verifiedAtMs: number | undefined;
}

export interface DailyProductionStore {
  /** What incremental runs have reached of each well, by uwi; a well that none has read is absent. */
  watermarks(uwis: readonly string[]): Promise<ReadonlyMap<string, Watermark>>;
  /**
   * By uwi, those of `days` (day numbers) that have a row and no quarantined record, as intervals in order; a well without
   * a row in them is absent.
   */
  soundDays(uwis: readonly string[], days: DayInterval): Promise<ReadonlyMap<string, readonly SoundDays[]>>;
  /** The holds that stand, by uwi and in order of time; a well without one is absent. */
  heldMonths(uwis: readonly string[]): Promise<ReadonlyMap<string, readonly HeldMonth[]>>;
  /** The wells that were read, in order. */
  uwis(): Promise<readonly string[]>;
  /**
   * Replaces the windows of these wells, in one transaction with watermarks, quarantine, history and the outcomes of the
   * units (G1, G2, G3). Skips units that are already settled: repeating a batch changes nothing.
   *
   * Within a window: a row with a new xid is inserted, a row with other values is updated, an equal row is unchanged.
   * Stored rows of the window that the reading lacks have left. A row that left and a new row of the same day are paired (a
   * new xid for the same record) and count as updated. The other rows that left are removed, unless their month is held:
   * a hold stands, or begins because the window or the month would lose more than `shrink` allows, counting what left the
   * month unapproved within 31 days (core/daily/held-month.ts). Then they stay, and the unit is `held` (G4). A hold ends
   * with the rows that a release names, or when they are back; what is left of its rows is held again. A row that stands for
   * a quarantined record (the same xid or, if the xid could not be read, the same day) is not removed; if neither could be
   * read, nothing of the window is. Old values of updated and removed rows go to the history with run and time.
   *
   * An unverified window (WindowBatch.isVerified) removes no row, no quarantine entry of a record that it lacks, and adds no
   * day to the coverage ledger. If a stored row of it that is not held would leave or be replaced, nothing of the window
   * is written, its unit stays open, and no outcome of it is returned: it has to be read again, verified (G4).
   *
   * Replaces the quarantine entries of a window by those of this reading. Adds its whole days to the coverage ledger, but
   * for months with a hold: a row that a suspicious reading lacks is not known to be missing.
   * Counts of an outcome: those of the reading, and inserted, updated, unchanged, removed, heldRows, windows (always 1), and
   * targetsWithRows (1 for a well with a row), and the rows of the window in the table before and after: rowsBefore +
   * inserted - removed = rowsAfter, or else rowsAdrift is not 0 (G2).
   *
   * Where a read with a higher number (ReadOrder) has committed a part of a window, and this one would change something in
   * that part, nothing of the part is written and the unit stays open: it has to be read again there. The other parts are
   * merged. After core's `mostRereads` the later read stands and the unit is settled.
   *
   * The time of a change is that of the database once the wells are locked, and never before the change that it follows.
   */
  commit(batch: DailyBatch): Promise<CommittedBatch>;
  readonly settleUnknown: SettleUnknown;
  /** Rows of a well by date and xid; undefined for a well that has never had one. */
  rows(question: RowsQuestion): Promise<readonly ProductionRow[] | undefined>;
  /**
   * Versions of rows that ended, ordered by the time at which that was noticed, then by uwi and day. Valid during the
   * call of `use`, which must not call the warehouse. The query language also has `daily_production_as_known(moment)`:
   * the table as it was known at a time, exact to the commit.
   */
  restatements<T>(
    question: RestatementQuestion,
    use: (versions: AsyncIterable<RestatedVersion>) => Promise<T>,
  ): Promise<T>;
}
