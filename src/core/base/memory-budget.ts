/** The shares of a worker's memory (G8; docs/design.md section 8). */
export interface MemoryBudget {
  /** Old space of V8. */
  readonly heapMb: number;
  /** One of the three semi-spaces of V8's young generation: a power of two, since V8 rounds up to one. */
  readonly semiSpaceMb: number;
  /** Memory of the warehouse's engine. */
  readonly engineMb: number;
  /** Rows between the service and the warehouse, by columns, outside the heap. */
  readonly rowsInMemory: number;
  /**
   * The longest body of an answer. Its text is in the heap; the received bytes are outside it, and all bodies that are
   * received at a time take `sharedBodyBytes` beside one of this length.
   */
  readonly bodyBytes: number;
}

/** The least memory that a worker can run with. */
export const leastMemoryMb = 384;

export const defaultMemoryMb = 512;

/**
 * Programs and libraries of both processes, threads, connections, and memory that allocators retain: it does not grow
 * with the work. 108 MB at the start of a worker, pages that both share counted once. What exports took at the most tells
 * that it is enough (docs/design.md section 8).
 */
export const fixedMb = 120;

const mebibyte = 1024 * 1024;

/**
 * With 40 MB DuckDB could not write a checkpoint of 50,000 rows of daily production, which holds blocks of every column;
 * with 48 MB not one of 370,000 rows. With 56 MB it wrote all, up to 1,700,000 rows.
 */
const leastEngineMb = 64;

/** 96 MB of 512. A row of a batch takes 8.0 us of the engine's CPU with 64 MB, 5.6 to 6.1 with 96, no less with 128. */
const engineShare = 0.245;

/**
 * Shares of the memory beyond the fixed part and the engine. The rest is kept free. With 0.42 for the heap and 0.165 for the
 * young generation, hostile answers filled the heap of 124 MB where others kept both cores busy, and the worker ended; a
 * smaller young generation makes an export no slower.
 */
const shares = { heap: 0.5, bodies: 0.137, youngGeneration: 0.085, rows: 0.26 } as const;

/** All bodies that are received at a time, in lengths of the longest. */
const bodiesToOne = 5 / 3;

/**
 * 340 in the columns of a read, and an eighth more that its block may have room for (core/daily/row-columns.ts). What a read needs
 * beside them, 24 to 64 for the number of each record, lasts until its end alone.
 */
const bytesPerRow = 400;

/** Of the rows in memory; the rest is for what is read while a batch is committed. */
const batchShare = 0.45;

/** Two fill a row group of DuckDB. A larger batch takes no less time a row, and longer until its wells are settled. */
const mostBatchRows = 61_440;

/** Divides `memoryMb`, at least `leastMemoryMb`, among the parts of a worker's process tree. */
export function memoryBudget(memoryMb: number): MemoryBudget {
  const engineMb = Math.max(leastEngineMb, Math.floor((memoryMb - fixedMb) * engineShare));
  const freeMb = memoryMb - fixedMb - engineMb;
  const rowsInMemory = Math.floor((freeMb * shares.rows * mebibyte) / bytesPerRow);
  return {
    heapMb: Math.floor(freeMb * shares.heap),
    semiSpaceMb: semiSpaceOf(freeMb * shares.youngGeneration),
    engineMb,
    rowsInMemory,
    bodyBytes: Math.floor((freeMb * shares.bodies) / bodiesToOne) * mebibyte,
  };
}

/** The rows of one commit where so many are in memory at the most: while it is under way, as many more are read. */
export function batchRowsOf(rowsInMemory: number): number {
  return Math.max(1, Math.min(mostBatchRows, Math.floor(rowsInMemory * batchShare)));
}

/** Bytes for all bodies that are received beside the oldest one, which may have `bodyBytes` (service/answer-body.ts). */
export function sharedBodyBytes(bodyBytes: number): number {
  return Math.floor(bodyBytes * (bodiesToOne - 1));
}

/** The largest power of two that fits three times, since the young generation has three semi-spaces; at most 64. */
function semiSpaceOf(youngMb: number): number {
  return Math.min(64, 2 ** Math.floor(Math.log2(Math.max(1, youngMb / 3))));
}
