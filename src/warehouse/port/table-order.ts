/** How daily production lies in storage: the rows of a well together and by date, but for a tail of later commits. */

export interface StorageTail {
  /** Pieces of a well beyond its first one, as the mean of the wells: a night adds one to each well with a new day. */
  readonly tailNights: number;
  /** Whether a rewriting was begun and has not come to its end. */
  readonly isUnderWay: boolean;
}

export interface TableOrder extends StorageTail {
  readonly rows: number;
  /** Wells with rows. */
  readonly wells: number;
  /** Rows of the wells that do not lie in one piece and by date: {@link StorageOrder.step} would rewrite them. */
  readonly looseRows: number;
}

/** Rewrites daily production by well and date. No row, version or coverage changes by it. */
export interface StorageOrder {
  /** The tail, by some wells of a large warehouse: reads the tail, and beside it the row groups of those wells. Writes nothing. */
  tail(): Promise<StorageTail>;
  /** Reads well and date of every row. Writes nothing. */
  measure(): Promise<TableOrder>;
  /**
   * Rewrites some of the wells that do not lie in one piece, in one short transaction with its place; returns the number
   * of their rows, which may be 0, and undefined once the last well was looked at. May be stopped between two steps, and
   * goes on at its place; commits may come in between, and several processes may take steps.
   */
  step(): Promise<number | undefined>;
}
