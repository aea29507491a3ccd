/**
 * Decides what to send next of a chunk that the service may refuse: parts are halved until the guilty items stand alone
 * (400, 409, 422), or until they are small enough (413). Pure: told outcomes, it names the next part.
 */

/** Items [from, to) of the chunk. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

interface PendingPart extends Part {
  /** Known to hold a guilty item, since its whole was refused and the left half accepted: halved without being sent. */
  isSuspect: boolean;
  /** For the right half of a guilty whole: where the left half starts, whose acceptance speaks of this one. */
  readonly leftFrom: number | undefined;
}

/**
 * Bound, for n items of which k are refused on their own: at most 1 + 2k * ceil(log2 n) requests, and never more than
 * 2n - 1, whatever the service answers. A guilty item is named by `refused()` or `tooLarge()`, once, after a request of its
 * own. Whether the service stores a refused request in part does not matter: what was sent twice is harmless (G5).
 */
export class ChunkHalving {
  readonly #bytes: readonly number[];
  readonly #pending: PendingPart[];
  #sent: PendingPart | undefined;

  /** `itemBytes`: the UTF-8 bytes of each item's JSON text. */
  constructor(itemBytes: readonly number[]) {
    this.#bytes = itemBytes;
    this.#pending =
      itemBytes.length === 0 ? [] : [{ from: 0, to: itemBytes.length, isSuspect: false, leftFrom: undefined }];
  }

  /**
   * The part to send now, no larger than `maxBytes` as a JSON array unless it is a single item; undefined when all is
   * settled. The same part again after an outcome that was not told: a transient error is tried again.
   */
  next(maxBytes: number): Part | undefined {
    if (this.#sent !== undefined) {
      this.#pending.push(this.#sent);
      this.#sent = undefined;
    }
    for (;;) {
      const part = this.#pending.pop();
      if (part === undefined) return undefined;
      if (part.to - part.from > 1 && (part.isSuspect || this.#bytesOf(part) > maxBytes)) {
        this.#halve(part, part.isSuspect);
        continue;
      }
      this.#sent = part;
      return { from: part.from, to: part.to };
    }
  }

  /** The part was stored. */
  accepted(): void {
    const { from, to } = this.#takeSent();
    const sibling = this.#pending.at(-1);
    if (sibling?.from === to && sibling.leftFrom === from) sibling.isSuspect = true;
  }

  /** The part was refused for what it holds. Returns the index of the item when it stood alone: it is guilty. */
  refused(): number | undefined {
    return this.#halveSent(true);
  }

  /** The part was refused for its size (413). Returns the index of the item when it stood alone: nothing makes it smaller. */
  tooLarge(): number | undefined {
    return this.#halveSent(false);
  }

  #halveSent(isGuilty: boolean): number | undefined {
    const part = this.#takeSent();
    if (part.to - part.from === 1) return part.from;
    this.#halve(part, isGuilty);
    return undefined;
  }

  #takeSent(): PendingPart {
    if (this.#sent === undefined) throw new Error('an outcome was told, and no part was sent');
    const sent = this.#sent;
    this.#sent = undefined;
    return sent;
  }

  /** Puts both halves back, the left one to be sent first. */
  #halve({ from, to }: Part, isGuilty: boolean): void {
    const middle = from + Math.ceil((to - from) / 2);
    this.#pending.push(
      { from: middle, to, isSuspect: false, leftFrom: isGuilty ? from : undefined },
      { from, to: middle, isSuspect: false, leftFrom: undefined },
    );
  }

  #bytesOf(part: Part): number {
    let bytes = 1 + part.to - part.from;
    for (let index = part.from; index < part.to; index += 1) bytes += this.#bytes[index] ?? 0;
    return bytes;
  }
}

/**
 * The size that holds after a body of `refusedBytes` was answered with 413: half of it, never more than what held before.
 * The caller keeps it for all later chunks.
 */
export function maxBytesAfterTooLarge(maxBytes: number, refusedBytes: number): number {
  return Math.max(1, Math.min(maxBytes, Math.floor(refusedBytes / 2)));
}
