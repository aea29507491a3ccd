/** Decides how units are cut into chunks: slices of a run that are one queue item each, small in units and in expected rows. */

export interface ChunkLimits {
  /** Units in a chunk, at most: about 100 (QUEUE.md). */
  readonly maxUnits: number;
  /** Expected rows in a chunk, at most, unless one unit alone is larger. */
  readonly maxRows: number;
}

/**
 * The chunk number of each unit, from 0, in the order given: a unit opens a new chunk when the one at hand is full by
 * either limit. No unit is lost, none stands in two chunks, and chunk numbers are dense.
 */
export function assignChunks(expectedRows: readonly number[], limits: ChunkLimits): readonly number[] {
  let chunk = 0;
  let units = 0;
  let rows = 0;
  return expectedRows.map((unitRows) => {
    const isFull = units > 0 && (units >= limits.maxUnits || rows + unitRows > limits.maxRows);
    if (isFull) {
      chunk += 1;
      units = 0;
      rows = 0;
    }
    units += 1;
    rows += unitRows;
    return chunk;
  });
}
