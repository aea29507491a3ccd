/** The order of reads, which decides between two runs that read one target (docs/decisions/0026-reads-have-an-order.md). */

import type { ReadKind } from '../../core/run/run.ts';

export interface ReadOrder {
  /**
   * Gives a read its number, higher than all before it: to be called before its first request, and again before anything is
   * read again. One transaction. `ended` are the numbers of reads that will not commit any more, in whatever run. A read
   * without a row in the warehouse, since its run or a day is over, may commit as long as it would change nothing.
   */
  begin(read: { readonly kind: ReadKind; readonly runId: string; readonly ended: readonly number[] }): Promise<number>;
}
