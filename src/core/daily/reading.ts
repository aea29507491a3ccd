/** The result of reading one window of one well, before the merge. */
import type { ReadFindings } from '../paging/service-profile.ts';
import type { RowColumns } from './row-columns.ts';
import type { QuarantinedRecord } from './row.ts';

/** Counts of the records that the service sent, up to the merge (the export's sum of G2). */
export interface ReadingCounts {
  /** Records in all pages, valid or not. A record that the reader requested twice on purpose counts once. */
  readonly read: number;
  /** Records that the service sent more than once (the same xid on two pages). The last one wins. */
  readonly repeated: number;
  /**
   * Records dated outside the half-open window, but not in the future: the request is wider on both sides
   * (`askedWindow`), and a service may send more than was requested.
   */
  readonly outsideWindow: number;
  readonly quarantined: number;
  /** Quarantined records that a person accepted, which the commit tells apart: they are not in `quarantined` then. */
  readonly accepted?: number;
  /** Not part of the sum: rows in which an absent required number took its documented default 0. */
  readonly defaulted: number;
  /** Not part of the sum: 1 if the well is stale after this read. */
  readonly stale?: number;
  /** Not part of the sum: answered requests of this read, retries included. */
  readonly requests: number;
}

/**
 * A read of one window to its last page. An incomplete read is an error, never a WindowReading (G4).
 */
export interface WindowReading {
  /** Inside the window, one for each xid: `rows.length = read - repeated - outsideWindow - quarantined`. */
  readonly rows: RowColumns;
  readonly quarantined: readonly QuarantinedRecord[];
  readonly counts: ReadingCounts;
  /** Sentences for the run's report, which prints each once: the names of extra fields, for example. */
  readonly notices: readonly string[];
  /** False if only the service's profile says that the last page was reached. */
  readonly isVerified: boolean;
  /** What the read found of the service's paging. */
  readonly paging: ReadFindings;
  /** Present when the service does not match the profile given to the read: the profile should be probed again. */
  readonly profileMisfit?: true;
  /** Present when no record came and the service answered 204 (No Content): such a read removes no stored row (G4). */
  readonly isWithoutContent?: true;
}

/** Characters of text that take as much memory as a row of columns. */
export const charsPerRow = 330;

/** The memory of a reading with its texts, in rows without one (G8). */
export function heldRowsOf({ rows, quarantined }: Pick<WindowReading, 'rows' | 'quarantined'>): number {
  let chars = 0;
  for (const { raw } of quarantined) chars += raw.length;
  for (const extras of rows.extras.values()) chars += extras.length;
  for (const measure of rows.measures) {
    if (measure.kind === 'string') for (const text of measure.values) chars += text?.length ?? 0;
  }
  return rows.length + quarantined.length + Math.floor(chars / charsPerRow);
}

// When a well is due for a verified read (decision 12).

/** Most days from one verified read of a well to the next, where runs are made daily. */
export const verifiedWithinDays = 7;

/**
 * Whether a well is due for a verified read: one day in seven is its own, by a hash of its name, so that the wells of
 * one first export do not fall on one night. Due when such a day has begun in (`verifiedDay`, `today`]; day numbers.
 */
export function isVerificationDue(uwi: string, verifiedDay: number, today: number): boolean {
  const sinceOwnDay = (today + hashOf(uwi)) % verifiedWithinDays;
  return today - sinceOwnDay > verifiedDay;
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  return hash >>> 0;
}
