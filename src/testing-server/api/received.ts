/** Data sent to the server: pipes by network and source id, and by date where that is set; deletions by target. */
import { instantOf } from '../data/daily-row.ts';
import type { TestingServerOptions } from '../options.ts';

/** The fields of a pipe that the server reads; the rest is kept as text. */
export interface PipeKey {
  readonly sourceNetworkId: string;
  readonly sourceId: string;
  readonly date?: unknown;
}

export interface ReceivedPipe extends Omit<PipeKey, 'date'> {
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

  storePipe({ sourceNetworkId, sourceId, date }: PipeKey, raw: string, pipeKey: TestingServerOptions['pipeKey']): void {
    const key = JSON.stringify([sourceNetworkId, sourceId, pipeKey === 'ids' ? null : versionOf(date)]);
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

/** The instant of a date-time; any other value as it is. */
function versionOf(date: unknown): unknown {
  const instantMs = instantOf(date);
  return Number.isNaN(instantMs) ? (date ?? null) : instantMs;
}
