/** What a feed needs of a warehouse (docs/design.md section 7): what is due, whose turn it is, and the rows in files. */

import type { Units } from '../../core/daily/units.ts';
import type { KnownList } from '../../core/definitions/record-list.ts';

/** The tables of a feed; `daily_production` has a file for each month. */
export type FeedTable = 'daily_production' | 'well' | KnownList['table'] | 'coverage' | 'restatements';

/** The tables that are published as a whole. */
export type WholeTable = 'well' | KnownList['table'] | 'coverage';

export type FeedFormat = 'parquet' | 'csv';

/** What a manifest says of itself. */
export interface KnownFeed {
  readonly feedId: string;
  readonly version: number;
  /** Its months, `YYYY-MM`. */
  readonly months: readonly string[];
}

/** A month that a commit touched since it was published. */
export interface DueMonth {
  /** `YYYY-MM`. */
  readonly month: string;
  /** The marks of the commits that were seen: what touches the month later leaves a mark of its own. */
  readonly marks: readonly string[];
}

export interface DueMonths {
  /** Of all months that are due, the newest ones. */
  readonly months: readonly DueMonth[];
  readonly total: number;
}

export interface FeedVersion {
  readonly feedId: string;
  readonly version: number;
  readonly marks: readonly string[];
}

/** The state of the feed of a warehouse, in its database. */
export interface FeedLedger {
  /**
   * Takes the lease of the feed for `keepMs`, or keeps it for so long from now. Returns false while another holder has it.
   * It saves work that two would do; what must be right rests on {@link publish}.
   */
  hold(holder: string, keepMs: number): Promise<boolean>;
  release(holder: string): Promise<void>;
  /**
   * To be called before the first publication: a store with no feed, or with another one than this warehouse published
   * last, is due as a whole, and so is everything where `all` is set. Returns the highest version that was ever published.
   */
  begin(known: KnownFeed | undefined, all: boolean): Promise<number>;
  due(limit: number): Promise<DueMonths>;
  /**
   * Gives at most `limit` versions of the history their numbers, in the order of their time. Returns the highest number
   * that was given: a row that comes later gets a higher one.
   */
  numberRestatements(limit: number): Promise<number>;
  /** A text that differs where the rows of the table do; one for each table that is published as a whole. */
  stamps(): Promise<Readonly<Record<WholeTable, string>>>;
  /**
   * Calls `write` alone of all publishers of the warehouse, then clears the marks and keeps the version. Returns false, and
   * calls nothing, if the holder has lost the lease or a version as high was published. What `write` throws leaves
   * everything due.
   */
  publish(holder: string, version: FeedVersion, write: () => Promise<void>): Promise<boolean>;
  /** The rows of each month that has any, by `YYYY-MM`. */
  rowsByMonth(): Promise<ReadonlyMap<string, number>>;
}

/** Which rows go into a file: all of a table, a month of daily production, or restatements by number. */
export type FeedRows =
  | { readonly table: WholeTable }
  | { readonly table: 'daily_production'; readonly month: string }
  /** Numbers after `after`, up to `last`. */
  | { readonly table: 'restatements'; readonly after: number; readonly last: number };

export interface FeedFile {
  /** Absolute; a file there is overwritten. Files beside it, whose names begin with its name, are removed again. */
  readonly path: string;
  readonly format: FeedFormat;
  /** By column; in the metadata of Parquet. */
  readonly units?: Units;
}

/** What a file holds, as it reads back. */
export interface FeedFileContent {
  readonly rows: number;
  /** The same for the same rows, whatever engine, format and order they come in: 16 bytes, in hexadecimal digits. */
  readonly checksum: string;
  /** The run that wrote the newest of its rows; null without rows, and for coverage. */
  readonly run: string | null;
}

/** Writes the rows of a feed into files, sorted as src/warehouse/feed/manifest.ts says, in bounded memory (G8). */
export interface FeedTables {
  /** Throws OutageError if the disk of the file is full. */
  writeFile(rows: FeedRows, file: FeedFile): Promise<void>;
}

/** Reads a file of a feed back. Throws UsageError, in the engine's words, for one that is not of the table's form. */
export type ReadFeedFile = (table: FeedTable, file: FeedFile) => Promise<FeedFileContent>;
