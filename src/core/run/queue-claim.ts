/** The right of a queue to work a warehouse: one queue at a time (G11, docs/design.md section 5). */

export interface BeatTimes {
  readonly beatEveryMs: number;
  /** A queue without a beat for this long has no living worker: another queue may take the warehouse over. */
  readonly staleAfterMs: number;
}

export const beatTimes: BeatTimes = { beatEveryMs: 5_000, staleAfterMs: 45_000 };

export type QueueDecision =
  /** This queue owns the warehouse. */
  | { readonly kind: 'owner' }
  /** No queue owns it, or its owner has no living worker. */
  | { readonly kind: 'may-take'; readonly isTakeover: boolean }
  /** Another queue works it, or this one after its Redis lost the id: no worker may start for `waitMs`. */
  | { readonly kind: 'wait'; readonly waitMs: number };

/** `queueId`: the id in Redis. `ownerId`: the queue in the warehouse. `beatAgeMs`: undefined without a beat. */
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
  return { kind: 'may-take', isTakeover: true };
}
