/** Decides how many columns of a table a terminal has room for, and cuts cells that are too long. Pure. */

const widestCell = 40;
const gap = 2;

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
  let used = -gap;
  const firstWithoutRoom = widths.findIndex((columnWidth) => (used += columnWidth + gap) > width);
  const columnCount = Math.max(1, firstWithoutRoom < 0 ? all : firstWithoutRoom);
  return { columnCount, cells: cells.map((row) => row.slice(0, columnCount).map((cell) => cut(cell, widest))) };
}

function cut(cell: string, most: number): string {
  return cell.length <= most ? cell : `${cell.slice(0, most - 1)}…`;
}
