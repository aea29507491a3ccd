/** Fits the columns of a table to the width of a terminal, and cuts cells that are too long. Pure. */
import stringWidth from 'string-width';
import { widestOf } from './table.ts';

const widestCell = 40;
const gap = 2;
/** Least width of a cut column: a narrower one would be unreadable. */
const leastCell = 12;
/** Code units of a cell that are measured: a cell may hold a whole document, and more is never shown. */
const mostMeasured = 1_000;

export interface FittedCells {
  /** Number of shown columns, at least one, from the left. */
  readonly columnCount: number;
  readonly cells: readonly (readonly string[])[];
}

/**
 * `cells` by row, including the head, free of control characters; `width` in columns of the terminal. Without a limit
 * to the width nothing is cut.
 */
export function fitColumns(cells: readonly (readonly string[])[], width: number): FittedCells {
  const all = cells[0]?.length ?? 0;
  if (!Number.isFinite(width)) return { columnCount: all, cells };
  const widest = Math.min(widestCell, width);
  const measured = cells.map((row) => row.map((cell) => cell.slice(0, mostMeasured)));
  const widths = Array.from({ length: all }, (_, position) =>
    Math.min(widest, widestOf(measured.map((row) => row[position] ?? ''))),
  );
  const fitted = fittedWidths(widths, width);
  const cut = (row: readonly string[]) => fitted.map((most, position) => cutText(row[position] ?? '', most));
  return { columnCount: fitted.length, cells: measured.map(cut) };
}

/** Widths of as many columns as fit; the last ones are cut if that lets them fit. */
function fittedWidths(widths: readonly number[], width: number): readonly number[] {
  const fitted: number[] = [];
  let room = width;
  for (const wanted of widths) {
    const given = Math.min(wanted, room);
    if (given < Math.min(wanted, leastCell) && fitted.length > 0) break;
    fitted.push(given);
    room -= given + gap;
  }
  return fitted;
}

const signs = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The text in at most `width` columns of a terminal, with an ellipsis if it was cut, between two graphemes and never
 * within one. cli-truncate 5, the last version for Node 20, exceeds the width by a column if a grapheme of two columns
 * lies on it.
 */
export function cutText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let room = width - 1;
  for (const { segment } of signs.segment(text)) {
    room -= stringWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}
