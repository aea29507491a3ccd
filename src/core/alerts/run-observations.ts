/** What the end of a run shows beside its units, as data: the ledger judges it in the transaction that ends the run. */
import type { Counts, RunState } from '../run/run.ts';
import { isList } from './well-source.ts';

/** What a member leaves out is not judged. */
export interface RunObservations {
  /** The source whose list the targets of the run are: wells of an earlier one that they lack were left out. */
  readonly list?: string;
  /** The wells of the warehouse without a new day for long. Days are numbers since 1970-01-01. */
  readonly silence?: {
    readonly today: number;
    readonly warnAfterDays: number;
    /** Wells that deliver no more. */
    readonly plugged: readonly string[];
  };
  /** Rows of days before `beforeDay` (a number since 1970-01-01) that the run changed, if they are more than `maxRows`. */
  readonly restated?: { readonly beforeDay: number; readonly maxRows: number };
}

/** Of an older row a change is no correction of what has just come, but of what was reported. */
export const restatedAfterDays = 30;

interface EndedExport {
  readonly state: RunState;
  readonly counts: Counts;
  /** Undefined for a run over some days or named wells alone. */
  readonly source: string | undefined;
}

/**
 * What is to be judged of a run of daily production; `isSilenceDue`: whether the silent wells are. A run that was cancelled
 * says neither which wells its source has, since its file may be why, nor that all of them were read. `today`: a day number.
 */
export function dueObservations(
  { state, counts, source }: EndedExport,
  { today, maxRows }: { readonly today: number; readonly maxRows: number },
): Pick<RunObservations, 'list' | 'restated'> & { readonly isSilenceDue: boolean } {
  const ofWhole = state === 'done' || state === 'failed' ? source : undefined;
  // Changed rows of any age: most runs have so few that the history need not be read.
  const changedRows = (counts['updated'] ?? 0) + (counts['removed'] ?? 0);
  return {
    isSilenceDue: ofWhole !== undefined,
    ...(ofWhole !== undefined && isList(ofWhole) ? { list: ofWhole } : {}),
    ...(changedRows > maxRows ? { restated: { beforeDay: today - restatedAfterDays, maxRows } } : {}),
  };
}

/** What a run changed of a month. The changes are sums of daily rates, in their unit times a day: the interface names none. */
export interface RestatedMonth {
  /** YYYY-MM. */
  readonly month: string;
  readonly rows: number;
  readonly oil: number;
  readonly gas: number;
  readonly water: number;
}

/** The months that are to be alerted: all of them, or none of a run that changed few rows. */
export function restatedMonths(months: readonly RestatedMonth[], maxRows: number): readonly RestatedMonth[] {
  const rows = months.reduce((sum, month) => sum + month.rows, 0);
  return rows > maxRows ? months : [];
}
