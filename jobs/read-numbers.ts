/** The numbers of reads (docs/decisions/0026-reads-have-an-order.md), which end together with the next that is begun. */
import type { ReadKind } from '../src/core/run/run.ts';
import type { ReadOrder } from '../src/warehouse/port/read-order.ts';

export class ReadNumbers {
  /** Numbers of reads that have ended, which the warehouse does not know yet: a transaction of their own would be one more. */
  #ended: number[] = [];

  /** Reads under a number that is taken before. */
  async during<T>(
    read: { readonly kind: ReadKind; readonly runId: string },
    order: ReadOrder,
    work: (readNo: number) => Promise<T>,
  ): Promise<T> {
    const ended = this.#ended;
    this.#ended = [];
    const readNo = await order.begin({ ...read, ended }).catch((error: unknown) => {
      this.#ended.push(...ended);
      throw error;
    });
    try {
      return await work(readNo);
    } finally {
      this.#ended.push(readNo);
    }
  }
}
