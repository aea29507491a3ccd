/** Decides what a complete reading of wells' windows may do to the warehouse: which rows count, what is held, how far watermarks go (DESIGN.md section 4.1). */
import type { DayInterval } from './coverage.ts';
import type { DailyProductionRow, QuarantinedRecord } from './daily-production.ts';
import type { Fault } from './errors.ts';
import type { ReadingCounts } from './reading.ts';
import type { UnitOutcome } from './run.ts';
import { advanceWatermark, type ReadMode, type Window } from './window.ts';

/** A window of one well, completely read, ready to replace what the warehouse has of it. */
export interface WindowBatch {
  /** The unit of the run that this settles. */
  readonly unit: number;
  readonly uwi: string;
  readonly window: Window;
  readonly mode: ReadMode;
  /** The whole days that the reading accounts for: what the ledger of coverage takes in, unless the window is held. */
  readonly readDays: DayInterval | undefined;
  /** Checked, deduplicated by xid, all inside the window. */
  readonly rows: readonly DailyProductionRow[];
  readonly quarantined: readonly QuarantinedRecord[];
  readonly counts: ReadingCounts;
  readonly notices: readonly string[];
}

/** When a window may lose rows without anybody's leave. */
export interface ShrinkGuard {
  /** Share of the window's rows, 0 to 1. */
  readonly maxShare: number;
  /** Up to this many rows may always go. */
  readonly maxRows: number;
  readonly allow: boolean;
}

/** What comparing one window's reading with the warehouse found, in rows. */
export interface WindowTally {
  /** What the warehouse had inside the window. */
  readonly stored: number;
  readonly inserted: number;
  /** Changed values, and rows that took a new xid. */
  readonly updated: number;
  readonly unchanged: number;
  /** Stored rows that the reading does not have, that no new row replaces and no quarantined record stands for. */
  readonly leaving: number;
  /** Rows that came with the instant that they had, and stood on another production day. */
  readonly otherDay: number;
}

/** Whether a window would lose more than both limits of the guard: a suspiciously empty read removes nothing (G4). */
export function isHeld({ stored, leaving }: Pick<WindowTally, 'stored' | 'leaving'>, guard: ShrinkGuard): boolean {
  return !guard.allow && leaving > guard.maxRows && leaving > stored * guard.maxShare;
}

/** The outcome of a window's unit: the reading's counts, and what became of its rows. A held window removes none. */
export function outcomeOfWindow(batch: WindowBatch, tally: WindowTally, guard: ShrinkGuard): UnitOutcome {
  const held = isHeld(tally, guard);
  const { inserted, updated, unchanged, leaving } = tally;
  const removed = held ? 0 : leaving;
  const heldRows = held ? leaving : 0;
  const notices = [...batch.notices, ...otherDayNotice(tally)];
  return {
    unit: batch.unit,
    state: held ? 'held' : 'done',
    counts: { ...batch.counts, inserted, updated, unchanged, removed, heldRows, windows: 1 },
    ...(held ? { fault: shrinkFault(batch, tally) } : {}),
    ...(notices.length > 0 ? { notices } : {}),
  };
}

/** Rows outside of the window still stand on the day that the former zone gave them. */
function otherDayNotice({ otherDay }: WindowTally): readonly string[] {
  if (otherDay === 0) return [];
  return [
    'another time zone put rows on another production day than before: those from before the window keep theirs until they are read again with --from ({targets})',
  ];
}

function shrinkFault({ uwi, window }: WindowBatch, { stored, leaving }: WindowTally): Fault {
  const share = Math.round((100 * leaving) / stored);
  return {
    code: 'shrink-held',
    message: `${uwi}: the service no longer has ${leaving} of the ${stored} rows (${share} %) from ${dayText(window.fromMs)} to ${dayText(window.toMs)}; none was removed`,
    hint: 'If the service is right, export this well and window again with --allow-shrink.',
  };
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().replace('T00:00:00.000Z', '');
}

/**
 * Makes the windows of a batch fit to be merged at once: in order of time, and every xid of a well in one window only. A
 * row that moved from one window of its well into another between the two reads stands in both; the later window has it,
 * and it counts as repeated in the other. Throws where two windows of a well overlap: such a batch is a bug.
 */
export function settleBatch(windows: readonly WindowBatch[]): readonly WindowBatch[] {
  const byWell = new Map<string, WindowBatch[]>();
  for (const batch of windows) {
    const sameWell = byWell.get(batch.uwi);
    if (sameWell === undefined) byWell.set(batch.uwi, [batch]);
    else sameWell.push(batch);
  }
  return [...byWell.values()].flatMap((sameWell) => (sameWell.length === 1 ? sameWell : settleWell(sameWell)));
}

function settleWell(windows: readonly WindowBatch[]): readonly WindowBatch[] {
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

function withoutTaken(batch: WindowBatch, taken: Set<string>): WindowBatch {
  const rows = batch.rows.filter((row) => !taken.has(row.xid));
  for (const row of rows) taken.add(row.xid);
  const repeated = batch.counts.repeated + batch.rows.length - rows.length;
  return { ...batch, rows, counts: { ...batch.counts, repeated } };
}

/**
 * The watermarks that move when these windows become durable, by well. Windows of one well are in order of time; one that
 * is held leaves a hole, which no watermark passes (G3, G4).
 */
export function movedWatermarks(
  current: ReadonlyMap<string, number>,
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode'> & { readonly held: boolean }>,
): ReadonlyMap<string, number> {
  const moved = new Map<string, number>();
  const holes = new Set<string>();
  for (const { uwi, window, mode, held } of windows) {
    const beforeMs = moved.get(uwi) ?? current.get(uwi);
    if (held) holes.add(uwi);
    // A well without a watermark would start above the hole.
    if (held || (beforeMs === undefined && holes.has(uwi))) continue;
    const afterMs = advanceWatermark(beforeMs, window, mode);
    if (afterMs !== undefined && afterMs !== beforeMs) moved.set(uwi, afterMs);
  }
  return moved;
}
