/** Owns what a read of one well's window amounts to, before it meets the warehouse: page -> checked row -> reading. */
import type { DailyProductionRow, QuarantinedRecord } from './daily-production.ts';

/** How every record that the service sent is accounted for, up to the merge (the export's sum of G2). */
export interface ReadingCounts {
  /** Records in all the pages that came, whatever became of them; those that were asked for again to be sure count once. */
  readonly read: number;
  /** Came more than once by the service's own doing (the same xid on two pages): the last one wins. */
  readonly repeated: number;
  /** Dated outside the half-open window: asked for only because nobody knows whether the bounds are inclusive. */
  readonly outsideWindow: number;
  readonly quarantined: number;
  /** Not part of the sum: rows in which an absent required number took its documented default 0. */
  readonly defaulted: number;
  /** Not part of the sum: requests that were answered for this reading, retries included. */
  readonly requests: number;
}

/** A complete read of one window: the pages came to their end. A read that did not is an error, never a reading (G4). */
export interface WindowReading {
  /** Inside the window, one for each xid; `rows.length = read - repeated - outsideWindow - quarantined`. */
  readonly rows: readonly DailyProductionRow[];
  readonly quarantined: readonly QuarantinedRecord[];
  readonly counts: ReadingCounts;
  /** For the run's report, each said once there: the names of extra fields, say. */
  readonly notices: readonly string[];
  /** Present where the service does not fit the profile that the read was given: it should be probed anew. */
  readonly profileMisfit?: true;
}
