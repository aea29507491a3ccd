/** Decides how many columns of a table a terminal has room for, and cuts cells that are too long. Pure. */

const widestCell = 40;
const gap = 2;
/** A column that is cut to fewer letters says nothing. */
const leastCell = 12;

export interface FittedCells {
  /** The first so many columns are shown; at least one. */
  readonly columnCount: number;
  readonly cells: readonly (readonly string[])[];
}

/** `cells` by row, the head among them. Without a limit to the width nothing is cut. */
export function fitColumns(cells: readonly (readonly string[])[], width: number): FittedCells {
  const all = cells[0]?.length ?? 0;
  if (!Number.isFinite(width)) return { columnCount: all, cells };
  const widest = Math.min(widestCell, width);
  const widths = Array.from({ length: all }, (_, position) =>
    cells.reduce((most, row) => Math.max(most, Math.min(widest, row[position]?.length ?? 0)), 0),
  );
  const fitted = fittedWidths(widths, width);
  return { columnCount: fitted.length, cells: cells.map((row) => fitted.map((most, at) => cut(row[at] ?? '', most))) };
}

/** Of as many columns as there is room for, the last of them cut where that makes room for it. */
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

function cut(cell: string, most: number): string {
  return cell.length <= most ? cell : `${cell.slice(0, most - 1)}…`;
}
