/**
 * The order of reads (docs/decisions/0026-reads-have-an-order.md). A read has a number, taken before its first request. Where
 * a read with a higher number was committed first, this one changes nothing: that part of its window is read again, with a
 * number of its own, and in the end the read that began later stands.
 */
import type { UnfinishedUnit, WindowBatch } from './merge.ts';
import { rowsWhere } from './row-columns.ts';
import type { Counts, UnitOutcome } from '../run/run.ts';
import { DAY_MS, HOUR_MS, isInside, type Window } from '../time/window.ts';

/** Times that a part of a window is read again since a read that began later was committed first. */
export const mostRereads = 3;

/** A part of the window of a read. All parts of it together are the window. */
export interface OrderedWindow extends WindowBatch {
  /** Lies in the window of a later read. */
  readonly isInLater: boolean;
}

/** The window of a read that was committed after another one was begun. */
export interface LaterRead extends Window {
  /** Whether it was begun later as well. */
  readonly isBegunLater: boolean;
}

/** Of a whole time line. */
export const always: Window = { fromMs: -Infinity, toMs: Infinity };

/** A window is read again a number of times at most; then the later read stands. */
export function mayReadAgain({ before }: Pick<WindowBatch, 'before'>): boolean {
  return (before?.rereads ?? 0) < mostRereads;
}

/**
 * Cuts a read where the windows of later reads begin and end. The parts are in order of time, have the rows that lie in
 * them and no count: those of the read stay with it. One part, the read itself, if no later read overlaps it. `isWhole`: a
 * person let rows of it go, who was shown how many: it is read again as a whole, or not at all.
 */
export function orderedParts(
  batch: WindowBatch,
  later: readonly LaterRead[],
  { isWhole = false } = {},
): readonly OrderedWindow[] {
  const { window } = batch;
  const before = later.filter(({ isBegunLater }) => isBegunLater || mayReadAgain(batch));
  const overlaps = unionOf(before.flatMap((each) => overlapOf(each, window) ?? []));
  if (overlaps.length === 0) return [{ ...batch, isInLater: false }];
  if (isWhole) return [{ ...partOf(batch, window, true), readDays: batch.readDays }];
  const parts: OrderedWindow[] = [];
  let fromMs = window.fromMs;
  for (const overlap of overlaps) {
    if (overlap.fromMs > fromMs) parts.push(partOf(batch, { fromMs, toMs: overlap.fromMs }, false));
    parts.push(partOf(batch, overlap, true));
    fromMs = overlap.toMs;
  }
  if (fromMs < window.toMs) parts.push(partOf(batch, { fromMs, toMs: window.toMs }, false));
  return parts;
}

/** Disjoint windows in order that cover the same instants. */
function unionOf(windows: readonly Window[]): readonly Window[] {
  const union: Window[] = [];
  for (const next of windows.toSorted((left, right) => left.fromMs - right.fromMs)) {
    const last = union.at(-1);
    if (last === undefined || next.fromMs > last.toMs) union.push(next);
    else union[union.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, next.toMs) };
  }
  return union;
}

function overlapOf(left: Window, right: Window): Window | undefined {
  const [fromMs, toMs] = [Math.max(left.fromMs, right.fromMs), Math.min(left.toMs, right.toMs)];
  return fromMs < toMs ? { fromMs, toMs } : undefined;
}

function partOf(batch: WindowBatch, window: Window, isInLater: boolean): OrderedWindow {
  const { instantsMs } = batch.rows;
  return {
    ...batch,
    window,
    isInLater,
    readDays: undefined,
    rows: rowsWhere(batch.rows, (row) => isInside(window, instantsMs[row] ?? Number.NaN)),
    quarantined: batch.quarantined.filter(({ day }) => day === null || mayTouch(day, window)),
    counts: { read: 0, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 0 },
    notices: [],
  };
}

/** Whether a day, YYYY-MM-DD, has an instant in the window in any time zone. */
function mayTouch(day: string, { fromMs, toMs }: Window): boolean {
  const dayMs = Date.parse(day);
  return dayMs - 14 * HOUR_MS < toMs && dayMs + DAY_MS + 12 * HOUR_MS > fromMs;
}

/** The part of the time line that a committed read orders: an unverified one says nothing of what it did not bring. */
export function orderedBy({ isVerified, window, rows }: WindowBatch): Window | undefined {
  if (isVerified) return window;
  if (rows.length === 0) return undefined;
  let [first, last] = [Infinity, -Infinity];
  for (const instantMs of rows.instantsMs) {
    first = Math.min(first, instantMs);
    last = Math.max(last, instantMs);
  }
  return { fromMs: first, toMs: last + 1 };
}

/** A notice. */
export const laterStands =
  'another run read {targets} later and was committed first: what it read stands, and what this run read otherwise counts as repeated';

/**
 * The outcome of a read of which parts were merged: `merged` has theirs, `left` the parts of which nothing was taken. Their
 * rows count as repeated (G2). With the outcome of the parts that were merged before, if there are any.
 */
export function outcomeOfParts(
  { unit, counts, notices, before }: WindowBatch,
  merged: readonly UnitOutcome[],
  left: readonly WindowBatch[],
): UnitOutcome {
  const repeated = counts.repeated + left.reduce((rows, each) => rows + each.rows.length, 0);
  const isOver = left.length > 0 && !mayReadAgain({ before });
  const own: UnitOutcome = {
    unit,
    state: 'done',
    counts: { ...nothingMerged, ...counts, repeated },
    notices: [...notices, ...(isOver ? [laterStands] : [])],
  };
  return joined([...(before === undefined ? [] : [before.outcome]), own, ...merged]);
}

/** What has to be read again: the least window around the parts of a read of which nothing was taken. */
export function unfinishedUnit(
  { unit, isVerified, before }: WindowBatch,
  left: readonly WindowBatch[],
  outcome: UnitOutcome,
): UnfinishedUnit {
  return {
    unit,
    window: {
      fromMs: Math.min(...left.map(({ window }) => window.fromMs)),
      toMs: Math.max(...left.map(({ window }) => window.toMs)),
    },
    rereads: (before?.rereads ?? 0) + 1,
    isVerified: isVerified && before?.isVerified !== false,
    outcome,
  };
}

/** One outcome for those of the parts of a unit; held if one of them is. */
export function joined(outcomes: readonly UnitOutcome[]): UnitOutcome {
  const [first] = outcomes;
  if (first === undefined) throw new Error('no outcome to join');
  if (outcomes.length === 1) return first;
  const held = outcomes.find(({ state }) => state === 'held');
  const notices = [...new Set(outcomes.flatMap((each) => each.notices ?? []))];
  return {
    unit: first.unit,
    state: held?.state ?? first.state,
    counts: outcomes.map(({ counts }) => counts).reduce(sumOf),
    ...(held?.fault === undefined ? {} : { fault: held.fault }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

const nothingMerged: Counts = {
  inserted: 0,
  updated: 0,
  unchanged: 0,
  removed: 0,
  heldRows: 0,
  windows: 1,
  targetsWithRows: 0,
  rowsBefore: 0,
  rowsAfter: 0,
  rowsAdrift: 0,
};

/** Counts of the unit, whatever the number of its parts. */
const ofUnit: ReadonlySet<string> = new Set(['windows', 'targetsWithRows', 'stale']);

function sumOf(left: Counts, right: Counts): Counts {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const [one, other] = [left[name] ?? 0, right[name] ?? 0];
      return [name, ofUnit.has(name) ? Math.max(one, other) : one + other];
    }),
  );
}
