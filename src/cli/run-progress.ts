/** Decides what the progress of a run is, from its board. Pure. */
import type { BoardState } from '../queue/port.ts';
import type { UnitWords } from './run-words.ts';
import { counted, figure, roughDurationText } from './words.ts';

/** A board and when it was read. */
export interface Sighting {
  readonly board: BoardState;
  readonly atMs: number;
}

export interface RunProgress {
  readonly units: number;
  readonly settledUnits: number;
  readonly rows: number;
  readonly rejected: number;
  /** Since the first sighting; undefined before there is anything to reckon from. */
  readonly rowsPerSecond: number | undefined;
  readonly leftMs: number | undefined;
}

/** The pace is that since `first`: a run that was half done when we began to look is not half as fast. */
export function progressOf(first: Sighting, last: Sighting): RunProgress {
  const elapsedMs = last.atMs - first.atMs;
  const doneSince = doneUnitsOf(last.board) - doneUnitsOf(first.board);
  const rowsSince = rowsOf(last.board) - rowsOf(first.board);
  const openUnits = last.board.units - doneUnitsOf(last.board);
  const { counts } = last.board;
  return {
    units: last.board.units,
    settledUnits: last.board.settledUnits,
    rows: rowsOf(last.board),
    rejected: rejectCounts.reduce((sum, name) => sum + (counts[name] ?? 0), 0),
    rowsPerSecond: elapsedMs > 0 && (doneSince > 0 || rowsSince > 0) ? (rowsSince * 1_000) / elapsedMs : undefined,
    leftMs: elapsedMs > 0 && doneSince > 0 ? (elapsedMs * openUnits) / doneSince : undefined,
  };
}

const rejectCounts = ['rejectedByUs', 'rejectedByService', 'failed'];

/** Units that are settled, and of those under way the part that is done, where it is known. */
export function doneUnitsOf({ settledUnits, underWay }: BoardState): number {
  return underWay.reduce((sum, { done, whole }) => sum + (whole ? Math.min(1, done / whole) : 0), settledUnits);
}

/** What a run has read so far, of the service or of a file. */
export function rowsOf({ counts }: Pick<BoardState, 'counts'>): number {
  return counts['read'] ?? counts['rows'] ?? 0;
}

/** `120 of 200 wells, 365,000 rows, 29,876 rows/s, 4 s left`; units are left out where there is only ever one, rows where there are none. */
export function progressText(progress: RunProgress, units: UnitWords): string {
  const { rejected, rowsPerSecond, leftMs } = progress;
  return [
    ...(units.isSingle ? [] : [`${figure(progress.settledUnits)} of ${figure(progress.units)} ${units.many}`]),
    ...(units.record === undefined ? [] : [counted(progress.rows, 'row')]),
    ...(rejected === 0 ? [] : [`${figure(rejected)} rejected`]),
    ...(units.record === undefined || rowsPerSecond === undefined ? [] : [`${figure(rowsPerSecond)} rows/s`]),
    ...(leftMs === undefined || leftMs === 0 ? [] : [`${roughDurationText(leftMs)} left`]),
  ].join(', ');
}
