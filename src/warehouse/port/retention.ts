/** How long the warehouse keeps what only the past needs (docs/retention.md). */

/** The beginnings of what is kept, milliseconds since 1970. */
export interface RetentionBounds {
  /** Units, targets and chunks of runs that ended before. */
  readonly unitsMs: number;
  /** Runs that ended, and plans that were made and never applied, before. */
  readonly runsMs: number;
  /** Files that were pushed before may be pushed again. */
  readonly pushesMs: number;
  /** Versions of rows and definitions that ended before; undefined keeps all. */
  readonly historyMs: number | undefined;
}

/** Numbers of rows that were, or would be, removed. */
export interface Pruned {
  readonly units: number;
  readonly plans: number;
  readonly runs: number;
  readonly pushes: number;
  readonly history: number;
}

/**
 * Never removes the audit, the plans and runs that it names, unfinished runs, the quarantine, and one row for each file
 * that was pushed since `pushesMs`.
 */
export interface Retention {
  /** What {@link step} would remove in all. Writes nothing. */
  count(bounds: RetentionBounds): Promise<Pruned>;
  /**
   * Removes a part, in one short transaction; undefined once nothing is left. May be stopped between two steps, and
   * repeated by several processes.
   */
  step(bounds: RetentionBounds): Promise<Pruned | undefined>;
  /** When pruning last came to its end, or when the warehouse was made; milliseconds since 1970. */
  prunedAtMs(): Promise<number | undefined>;
  notePruned(atMs: number): Promise<void>;
  /** Versions that ended before were removed, milliseconds since 1970; undefined if none ever was. */
  historyHorizonMs(): Promise<number | undefined>;
}
