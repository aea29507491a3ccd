/**
 * Bisection of a chunk that the service may refuse: ranges of items are halved until each guilty item stands alone
 * (400, 409, 422), or until they are small enough (413). No input or output: the caller reports outcomes and asks for
 * the next range.
 */

/** Items [from, to) of the chunk. */
export interface ItemRange {
  readonly from: number;
  readonly to: number;
}

interface PendingRange extends ItemRange {
  /**
   * Known to hold a guilty item: the range that it is half of was refused, and the left half accepted. Halved without
   * being sent.
   */
  isSuspect: boolean;
  /**
   * Start of the left half, for the right half of a refused range: acceptance of that left half makes this range
   * suspect.
   */
  readonly leftFrom: number | undefined;
}

/**
 * Bound, for n items of which k are refused on their own: at most 1 + 2k * ceil(log2 n) requests, and never more than
 * 2n - 1, whatever the service answers. `refused()` or `tooLarge()` names a guilty item once, after a request with that
 * item alone. Whether the service stores a refused request in part does not matter: sending an item twice is harmless
 * (G5).
 */
export class ChunkBisection {
  readonly #bytes: readonly number[];
  readonly #pending: PendingRange[];
  #sent: PendingRange | undefined;

  /** `itemBytes`: UTF-8 bytes of each item's JSON text. */
  constructor(itemBytes: readonly number[]) {
    this.#bytes = itemBytes;
    this.#pending =
      itemBytes.length === 0 ? [] : [{ from: 0, to: itemBytes.length, isSuspect: false, leftFrom: undefined }];
  }

  /**
   * The range to send now, at most `maxBytes` as a JSON array unless it is a single item; undefined when every item is
   * settled. Returns the same range again when no outcome was reported: a transient error is retried.
   */
  next(maxBytes: number): ItemRange | undefined {
    if (this.#sent !== undefined) {
      this.#pending.push(this.#sent);
      this.#sent = undefined;
    }
    for (;;) {
      const range = this.#pending.pop();
      if (range === undefined) return undefined;
      if (range.to - range.from > 1 && (range.isSuspect || this.#bytesOf(range) > maxBytes)) {
        this.#halve(range, range.isSuspect);
        continue;
      }
      this.#sent = range;
      return { from: range.from, to: range.to };
    }
  }

  /** Reports that the service stored the range. */
  accepted(): void {
    const { from, to } = this.#takeSent();
    const sibling = this.#pending.at(-1);
    if (sibling?.from === to && sibling.leftFrom === from) sibling.isSuspect = true;
  }

  /**
   * Reports that the service refused the content of the range. Returns the index of the item when the range is one
   * item: it is guilty.
   */
  refused(): number | undefined {
    return this.#halveSent(true);
  }

  /**
   * Reports that the service refused the size of the range (413). Returns the index of the item when the range is one
   * item: it cannot be made smaller.
   */
  tooLarge(): number | undefined {
    return this.#halveSent(false);
  }

  #halveSent(isGuilty: boolean): number | undefined {
    const range = this.#takeSent();
    if (range.to - range.from === 1) return range.from;
    this.#halve(range, isGuilty);
    return undefined;
  }

  #takeSent(): PendingRange {
    if (this.#sent === undefined) throw new Error('an outcome was reported, and no range is being sent');
    const sent = this.#sent;
    this.#sent = undefined;
    return sent;
  }

  /** Puts both halves back, the left one on top. */
  #halve({ from, to }: ItemRange, isGuilty: boolean): void {
    const middle = from + Math.ceil((to - from) / 2);
    this.#pending.push(
      { from: middle, to, isSuspect: false, leftFrom: isGuilty ? from : undefined },
      { from, to: middle, isSuspect: false, leftFrom: undefined },
    );
  }

  #bytesOf(range: ItemRange): number {
    let bytes = 1 + range.to - range.from;
    for (let index = range.from; index < range.to; index += 1) bytes += this.#bytes[index] ?? 0;
    return bytes;
  }
}

/**
 * The size limit after a body of `refusedBytes` was answered with 413: half of that body, never more than `maxBytes`.
 * The caller keeps it for all later chunks.
 */
export function maxBytesAfterTooLarge(maxBytes: number, refusedBytes: number): number {
  return Math.max(1, Math.min(maxBytes, Math.floor(refusedBytes / 2)));
}
