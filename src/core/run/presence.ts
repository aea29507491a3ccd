/** Whether the process that works a warehouse lives, by what the warehouse itself can tell: a server knows its sessions. */

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
