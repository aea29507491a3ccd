/**
 * Rules for merging complete reads of windows: which rows count, and what a merge comes to (docs/design.md section 4.1).
 */
import type { Fault } from '../base/errors.ts';
import { grouped } from '../base/lists.ts';
import { rowsOfTarget, type UnitOutcome } from '../run/run.ts';
import { dayText, productionCalendar } from '../time/production-day.ts';
import type { ReadMode, Window } from '../time/window.ts';
import type { DayInterval } from './coverage.ts';
import type { LeavingVerdict } from './shrink-guard.ts';
import type { ReadingCounts } from './reading.ts';
import { type RowColumns, rowsWhere } from './row-columns.ts';
import { type QuarantinedRecord, xidText } from './row.ts';

/**
 * One window of one well, read to its end. A verified one replaces the rows that the warehouse has in the window; the
 * other kind only adds to them ({@link needsVerifiedRead}).
 */
export interface WindowBatch {
  /** Unit of the run that this batch settles. */
  readonly unit: number;
  readonly uwi: string;
  readonly window: Window;
  /** By which its rows are dated. */
  readonly timeZone: string;
  readonly mode: ReadMode;
  /** False if only the service's profile says that the read reached the end. Such a read removes nothing (G4). */
  readonly isVerified: boolean;
  /** Whole days that the read covers. Coverage records them if the read is verified, but for months with a hold. */
  readonly readDays: DayInterval | undefined;
  /** Checked, deduplicated by xid, all inside the window. */
  readonly rows: RowColumns;
  readonly quarantined: readonly QuarantinedRecord[];
  readonly counts: ReadingCounts;
  readonly notices: readonly string[];
  /** How long the read took. */
  readonly readMs?: number;
  /** As in WindowReading: every row stays until it is released. */
  readonly isWithoutContent?: true | undefined;
  /** What was merged of the unit before this read, which reads a part of its window again (read-order.ts). */
  readonly before?: UnfinishedUnit | undefined;
}

/** A unit of which a part was merged, and a part has to be read again. Nothing of its outcome is stored. */
export interface UnfinishedUnit {
  readonly unit: number;
  /** The part to read again. */
  readonly window: Window;
  /** With the one to come. */
  readonly rereads: number;
  /** Whether the reads so far were. */
  readonly isVerified: boolean;
  /** The outcome of what was merged. */
  readonly outcome: UnitOutcome;
}

/** Result of comparing one window's read with the warehouse, in rows. */
export interface WindowCounts {
  /** Rows that the warehouse had inside the window. */
  readonly stored: number;
  readonly inserted: number;
  /** Changed values, and rows that took a new xid. */
  readonly updated: number;
  readonly unchanged: number;
  /** Stored rows that the read did not return, that no new row replaces and that no quarantined record accounts for. */
  readonly leaving: number;
  /** Stored rows of whose day the read returned a row with a new xid instead: counted as updated. */
  readonly replaced: number;
}

/** Rows inside one window before and after its merge, as the warehouse has them. */
export interface WindowStock {
  readonly rowsBefore: number;
  readonly rowsAfter: number;
}

/**
 * The outcome with the rows before and after the merge, and the rows by which before + inserted - removed differs from
 * after (G2): 0 unless the merge did something else than it counted.
 */
export function withStock(outcome: UnitOutcome, { rowsBefore, rowsAfter }: WindowStock): UnitOutcome {
  const { inserted = 0, removed = 0 } = outcome.counts;
  const rowsAdrift = Math.abs(rowsBefore + inserted - removed - rowsAfter);
  return { ...outcome, counts: { ...outcome.counts, rowsBefore, rowsAfter, rowsAdrift } };
}

/**
 * Whether a window has to be read again, verified, before anything of it is written: an unverified read lacks stored rows.
 * `mayLeave`: those that no hold keeps. A row with a new xid may stand beside one that the read did not reach, so it
 * replaces none (G4).
 */
export function needsVerifiedRead(
  { isVerified }: Pick<WindowBatch, 'isVerified'>,
  { mayLeave, replaced }: { readonly mayLeave: number; readonly replaced: number },
): boolean {
  return !isVerified && mayLeave + replaced > 0;
}

/** The outcome of a window's unit: the counts of the read and of the merge. Rows that are held are not removed (G4). */
export function outcomeOfWindow(
  batch: WindowBatch,
  counts: WindowCounts & { readonly hadRows?: boolean },
  { removed, held }: LeavingVerdict,
  runId: string,
): UnitOutcome {
  const { inserted, updated, unchanged } = counts;
  const heldRows = held.reduce((sum, { rows }) => sum + rows, 0);
  const { notices } = batch;
  return {
    unit: batch.unit,
    state: heldRows > 0 ? 'held' : 'done',
    counts: {
      ...batch.counts,
      inserted,
      updated,
      unchanged,
      removed,
      heldRows,
      windows: 1,
      ...rowsOfTarget(counts.hadRows || counts.stored + inserted > 0),
    },
    ...(heldRows > 0 ? { fault: heldFault(batch, counts, held, runId) } : {}),
    ...(notices.length > 0 ? { notices } : {}),
  };
}

function heldFault(
  { uwi, window, timeZone }: WindowBatch,
  { stored, leaving }: WindowCounts,
  held: LeavingVerdict['held'],
  runId: string,
): Fault {
  const dayOf = (ms: number): string => productionCalendar(timeZone).dayOf(ms) ?? new Date(ms).toISOString();
  const share = Math.round((100 * leaving) / stored);
  const kept = held.reduce((sum, { rows }) => sum + rows, 0);
  const missing = `the service no longer has ${leaving} of the ${stored} rows (${share} %) from ${dayOf(window.fromMs)} to ${dayOf(window.toMs)}`;
  const stay = kept === leaving ? 'they stay' : `${kept} of them stay`;
  return {
    code: 'rows-held',
    message: `${uwi}: ${missing}; ${stay} until they are released (${monthsText(held)})`,
    action: { kind: 'release-rows', runId },
  };
}

/** Months that a message names. */
const namedMonths = 3;

function monthsText(held: LeavingVerdict['held']): string {
  const monthText = (month: number): string => dayText(month).slice(0, 7);
  const [first] = held;
  if (first !== undefined && held.length === 1) return monthText(first.month);
  const named = held.slice(0, namedMonths).map(({ month, rows }) => `${monthText(month)}: ${rows}`);
  const more = held.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more months` : named.join(', ');
}

/**
 * Prepares the windows of a batch for one merge: windows of a well in order of time, and each xid of a well in one
 * window only. A row that moved between two windows of its well between their reads is in both; the later window keeps
 * it, and the other counts it as repeated. Throws Error when two windows of a well overlap: such a batch is a bug.
 */
export function settleBatch<Batch extends WindowBatch>(windows: readonly Batch[]): readonly Batch[] {
  const byWell = grouped(windows, ({ uwi }) => uwi);
  return [...byWell.values()].flatMap((sameWell) => (sameWell.length === 1 ? sameWell : settleWell(sameWell)));
}

function settleWell<Batch extends WindowBatch>(windows: readonly Batch[]): readonly Batch[] {
  const inOrder = windows.toSorted((left, right) => left.window.fromMs - right.window.fromMs);
  for (const [index, { uwi, window }] of inOrder.entries()) {
    const next = inOrder[index + 1];
    if (next !== undefined && next.window.fromMs < window.toMs) {
      throw new Error(
        `two windows of well ${uwi} in one batch overlap at ${new Date(next.window.fromMs).toISOString()}`,
      );
    }
  }
  const taken = new Set<string>();
  return inOrder
    .toReversed()
    .map((batch) => withoutTaken(batch, taken))
    .toReversed();
}

function withoutTaken<Batch extends WindowBatch>(batch: Batch, taken: Set<string>): Batch {
  const xids = Array.from({ length: batch.rows.length }, (_, row) => xidText(batch.rows.xids, row));
  const isFree = xids.map((xid) => !taken.has(xid));
  for (const xid of xids) taken.add(xid);
  if (!isFree.includes(false)) return batch;
  const rows = rowsWhere(batch.rows, (row) => isFree[row] === true);
  const repeated = batch.counts.repeated + batch.rows.length - rows.length;
  return { ...batch, rows, counts: { ...batch.counts, repeated } };
}
