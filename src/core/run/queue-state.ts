/** What of an embedded queue outlives its process, in the ledger; everything else of it is memory. */

/**
 *   hold    the bound of a Retry-After (G9)          down   since when a part is down, by queue
 *   start   starts of work that did not end (G7)     stop   requests to stop a run     log   the last lines about a run
 */
export type QueueStateKind = 'hold' | 'start' | 'down' | 'stop' | 'log';

export interface QueueStateEntry {
  readonly kind: QueueStateKind;
  readonly key: string;
  /** As JSON has it. Undefined in a change: the entry is removed. */
  readonly value: unknown;
}

export interface QueueStateStore {
  /** The entries of these kinds; with a key, those of that key. None where there is no warehouse yet. */
  read(kinds: readonly QueueStateKind[], key?: string): Promise<readonly QueueStateEntry[]>;
  /** All of the changes, or none. */
  write(changes: readonly QueueStateEntry[]): Promise<void>;
}

/** Through what a warehouse is worked: a queue in the memory of one process, or Redis. */
export const queueKinds = ['embedded', 'redis'] as const;
export type QueueKind = (typeof queueKinds)[number];
