/** Decides what the progress of a run is, from its board. Pure. */
import type { BoardState } from '../queue/port.ts';
import { counted, figure, roughDurationText } from './words.ts';

/** A board and when it was read. */
export interface Sighting {
  readonly board: BoardState;
  readonly atMs: number;
}

export interface RunProgress {
  readonly units: number;
  readonly settledUnits: number;
  /** Undefined where none was counted: some jobs have no rows. */
  readonly rows: number | undefined;
  /** Since the first sighting; undefined before there is anything to reckon from. */
  readonly rowsPerSecond: number | undefined;
  readonly leftMs: number | undefined;
}

/** The pace is that since `first`: a run that was half done when we began to look is not half as fast. */
export function progressOf(first: Sighting, last: Sighting): RunProgress {
  const elapsedMs = last.atMs - first.atMs;
  const settledSince = last.board.settledUnits - first.board.settledUnits;
  const rowsSince = rowsOf(last.board) - rowsOf(first.board);
  const openUnits = last.board.units - last.board.settledUnits;
  const hasPace = elapsedMs > 0 && settledSince > 0;
  return {
    units: last.board.units,
    settledUnits: last.board.settledUnits,
    rows: last.board.counts['read'],
    rowsPerSecond: hasPace ? (rowsSince * 1_000) / elapsedMs : undefined,
    leftMs: hasPace ? (elapsedMs * openUnits) / settledSince : undefined,
  };
}

function rowsOf(board: BoardState): number {
  return board.counts['read'] ?? 0;
}

/** `120 of 200 wells, 365,000 rows, 29,876 rows/s, 4 s left`. */
export function progressText(progress: RunProgress, units: string): string {
  const { rowsPerSecond, leftMs } = progress;
  return [
    `${figure(progress.settledUnits)} of ${figure(progress.units)} ${units}`,
    ...(progress.rows === undefined ? [] : [counted(progress.rows, 'row')]),
    ...(progress.rows === undefined || rowsPerSecond === undefined ? [] : [`${figure(rowsPerSecond)} rows/s`]),
    ...(leftMs === undefined || leftMs === 0 ? [] : [`${roughDurationText(leftMs)} left`]),
  ].join(', ');
}
