/**
 * The queue that works a warehouse: its right to do so, one queue at a time (G11, docs/design.md section 5), what
 * outlives it, and whether its process lives.
 */

export interface BeatTimes {
  readonly beatEveryMs: number;
  /** A queue without a beat for this long has no living worker: another queue may take the warehouse over. */
  readonly staleAfterMs: number;
}

export const beatTimes: BeatTimes = { beatEveryMs: 5_000, staleAfterMs: 45_000 };

export type QueueDecision =
  /** This queue owns the warehouse. */
  | { readonly kind: 'owner' }
  /** No queue owns it, or its owner has no living worker. `isTakeover`: that one ended without a word. */
  | { readonly kind: 'may-take'; readonly isTakeover: boolean }
  /** Another queue works it, or this one after its Redis lost the id: no worker may start for `waitMs`. */
  | { readonly kind: 'wait'; readonly waitMs: number };

/** `queueId`: the id that the queue has. `ownerId`: the queue in the warehouse. `beatAgeMs`: undefined without a beat. */
export function decideQueue(
  seen: {
    readonly queueId: string | undefined;
    readonly ownerId: string | undefined;
    readonly beatAgeMs: number | undefined;
  },
  { staleAfterMs }: BeatTimes,
): QueueDecision {
  const { queueId, ownerId, beatAgeMs } = seen;
  if (ownerId === undefined) return { kind: 'may-take', isTakeover: false };
  if (queueId === ownerId) return { kind: 'owner' };
  if (beatAgeMs !== undefined && beatAgeMs < staleAfterMs) return { kind: 'wait', waitMs: staleAfterMs - beatAgeMs };
  return { kind: 'may-take', isTakeover: beatAgeMs !== undefined };
}

/** What a command does that finds the run it would start unfinished (docs/design.md section 5). */
export interface UnfinishedRun {
  /** Whether some process works the queues of its job. */
  readonly isAttended: boolean;
  /** Milliseconds since it moved: since a unit was settled or made progress; since its request or its retry before that. */
  readonly unmovedMs: number;
}

/**
 * `skip`: it is under way, and its end is enough. `go-on`: nobody works it, so the command goes on with it. `stuck`: an
 * operator has to look.
 */
type OverlapDecision = 'skip' | 'go-on' | 'stuck';

/** Two commands within this time are of one night. */
const sameNightMs = 5 * 60_000;

/**
 * Whether a run that was requested at `requestedAtMs` leaves out what came since, so that a new one is due once it has
 * ended. `readsUpToRequest`: its windows end at its request.
 */
export function isOutdated(
  { requestedAtMs, readsUpToRequest }: { readonly requestedAtMs: number; readonly readsUpToRequest: boolean },
  nowMs: number,
): boolean {
  return readsUpToRequest && nowMs - requestedAtMs > sameNightMs;
}

/**
 * `canWork`: the command works runs itself. One that only queues leaves a run without a worker queued, as it would leave
 * its own, but not for ever.
 */
export function decideOverlap(
  { isAttended, unmovedMs }: UnfinishedRun,
  { stuckAfterMs, canWork }: { readonly stuckAfterMs: number; readonly canWork: boolean },
): OverlapDecision {
  if (!isAttended && canWork) return 'go-on';
  if (unmovedMs > stuckAfterMs) return 'stuck';
  return isAttended ? 'skip' : 'go-on';
}

// What of an embedded queue outlives its process, in the ledger; everything else of it is memory.

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

// Whether the process that works a warehouse lives, by what the warehouse itself can tell: a server knows its sessions.

export interface Presence {
  /**
   * From now on the warehouse knows that the process of this queue lives, until `end` is called or the process ends.
   * `onWoken` is called when another host has left work, or a word about work, in the ledger. A connection that is lost is made
   * again.
   */
  keep(queueId: string, onWoken: () => void): Promise<{ end(): Promise<void> }>;
  /** Whether the process of a queue has certainly ended; undefined where the warehouse cannot tell. */
  isGone(queueId: string): Promise<boolean | undefined>;
  /** Wakes the process that works, on whatever host. */
  wake(): Promise<void>;
}

/** Of a file, which is one host's: there the socket of the process tells. */
export const noPresence: Presence = {
  keep: async () => ({ end: async () => undefined }),
  isGone: async () => undefined,
  wake: async () => undefined,
};
