import type { SqlSession } from '../session.ts';

/** The sign of life of the queue that works a warehouse: the last one alone is kept. */
export interface Beat {
  /**
   * Milliseconds since the beat; undefined without one. A beat from the future says nothing about when it was written: it
   * counts as written now, and is dated so.
   */
  ageMs(): Promise<number | undefined>;
  /** Returns whether the last beat is of this queue and epoch. */
  isOf(queueId: string, epoch: number): Promise<boolean>;
  /**
   * Writes a beat; in this transaction, where the warehouse itself holds it. Throws UnreachableError('warehouse') if it
   * cannot be written.
   */
  replace(queueId: string, epoch: number, session?: SqlSession): Promise<void>;
  /** Removes the beat of this queue and epoch; without them, that of any. */
  remove(of?: { readonly queueId: string; readonly epoch: number }): Promise<void>;
}
