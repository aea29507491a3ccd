/** Assignment of units to chunks: one queue item each, limited in units and in expected rows. */

export interface ChunkLimits {
  /** Limit of units in a chunk: about 100 (docs/queue.md section 3). */
  readonly maxUnits: number;
  /** Limit of expected rows in a chunk; a single larger unit is a chunk of its own. */
  readonly maxRows: number;
}

/**
 * The chunk number of each unit, from 0, in the given order. A unit opens a new chunk when the current one is full by
 * either limit. Every unit is in exactly one chunk, and chunk numbers are dense.
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
