/** Data sent to the server: pipes by network and source id, deletions by target. */

/** The fields of a pipe that the server reads; the rest is kept as text. */
export interface PipeKey {
  readonly sourceNetworkId: string;
  readonly sourceId: string;
}

export interface ReceivedPipe extends PipeKey {
  /** JSON text of the item as it arrived; the last one wins. */
  readonly raw: string;
  /** Times that the pipe was stored. */
  readonly writes: number;
}

export interface DeletionTarget {
  readonly kind: 'time-series' | 'micro-string' | 'wellbore';
  /** Source equipment id or source well id. */
  readonly ownerId: string;
  /** Source id of a time series record. */
  readonly sourceId?: string;
}

export interface ReceivedDeletion extends DeletionTarget {
  /** Deletions that took effect or found nothing, including those without an answer. */
  readonly requests: number;
  /** Total of the records removed. */
  readonly removed: number;
}

export class Received {
  readonly #pipes = new Map<string, ReceivedPipe>();
  readonly #deletions = new Map<string, ReceivedDeletion>();

  get pipeCount(): number {
    return this.#pipes.size;
  }

  pipes(): ReceivedPipe[] {
    return [...this.#pipes.values()];
  }

  deletions(): ReceivedDeletion[] {
    return [...this.#deletions.values()];
  }

  storePipe({ sourceNetworkId, sourceId }: PipeKey, raw: string): void {
    const key = JSON.stringify([sourceNetworkId, sourceId]);
    const writes = (this.#pipes.get(key)?.writes ?? 0) + 1;
    this.#pipes.set(key, { sourceNetworkId, sourceId, writes, raw });
  }

  noteDeletion(target: DeletionTarget, removed: number): void {
    const key = JSON.stringify([target.kind, target.ownerId, target.sourceId]);
    const before = this.#deletions.get(key) ?? { requests: 0, removed: 0 };
    this.#deletions.set(key, { ...target, requests: before.requests + 1, removed: before.removed + removed });
  }

  reset(): void {
    this.#pipes.clear();
    this.#deletions.clear();
  }
}
