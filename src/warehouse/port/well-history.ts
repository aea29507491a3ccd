/** Port to what is known of one well beside its rows: its days, its quarantine, its holds and the runs that read it. */
import type { DayInterval } from '../../core/daily/coverage.ts';
import type { Fault } from '../../core/base/errors.ts';
import type { RunState } from '../../core/run/run.ts';

/** A record that broke the contract, as it came. */
export interface StoredQuarantine {
  /** YYYY-MM-DD; null where it cannot be read. */
  readonly day: string | null;
  readonly xid: string | null;
  readonly reason: string;
  /** JSON text, or its beginning. */
  readonly raw: string;
  readonly runId: string;
  readonly noticedAtMs: number;
  /** Who accepted it as it is, and why; null where nobody did. */
  readonly accepted: { readonly by: string; readonly atMs: number; readonly because: string } | null;
}

/** Rows of a month that stay although the service no longer has them. Days are day numbers, both of them included. */
export interface StoredHold {
  readonly rows: number;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly runId: string;
  readonly sinceMs: number;
}

/** What a run did of the well. */
export interface WellRead {
  readonly runId: string;
  readonly job: string;
  readonly runState: RunState;
  /** Of its unit, the worst of several: `open` while it is not settled. */
  readonly state: 'open' | 'done' | 'held' | 'failed' | 'unknown';
  /** What its windows span, the end excluded; undefined where they are not known. */
  readonly span: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Rows that were inserted, updated and removed. */
  readonly changed: number;
  readonly fault: Fault | undefined;
  readonly requestedAtMs: number;
  /** When the run ended, or else began. */
  readonly atMs: number;
}

export interface WellHistory {
  /** Days of verified reads, of rows, and of quarantined records; in order. */
  readonly read: readonly DayInterval[];
  readonly present: readonly DayInterval[];
  readonly quarantinedDays: readonly DayInterval[];
  /** The latest days first, at most as many as were asked for. */
  readonly quarantined: readonly StoredQuarantine[];
  readonly quarantinedRecords: number;
  /** Those of {@link quarantinedRecords} that a person accepted, and the days with one that nobody did. */
  readonly acceptedRecords: number;
  readonly unacceptedDays: readonly DayInterval[];
  readonly holds: readonly StoredHold[];
  /** The latest first; without those that were cancelled before they read the well. */
  readonly reads: readonly WellRead[];
  /** Columns of daily production with a value other than 0 in any row. */
  readonly columns: readonly string[];
}

/** What a run brought of one well. */
export interface RunEffect {
  /** The worst of its units; undefined where they are not kept any more. */
  readonly state: WellRead['state'] | 'cancelled' | undefined;
  /** Days that had no row before the run, and have one by it; and days of which it changed a row or removed it. */
  readonly filled: readonly DayInterval[];
  readonly changed: readonly DayInterval[];
  /** Whether the well had a row before the run brought its first one. */
  readonly hadRows: boolean;
  readonly quarantined: number;
  readonly heldRows: number;
}

/** Read in one transaction. */
export type ReadRunEffect = (uwi: string, runId: string) => Promise<RunEffect>;

/** Read in one transaction. */
export type ReadWellHistory = (
  uwi: string,
  question: {
    readonly columns: readonly string[];
    readonly mostQuarantined: number;
    readonly mostReads: number;
  },
) => Promise<WellHistory>;
