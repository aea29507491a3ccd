/**
 * Decides how a file of pipes is cut into slices: each one a chunk of items with different pipes, together with the rows
 * of that stretch of the file that were rejected or superseded, so that slices account for every row (G2, DESIGN.md 4.3).
 */

/** A place in a file between two items, to go on from: everything before it is in earlier slices. */
export interface FilePosition {
  /** Bytes of the content (unpacked, where the file is gzip) before it. */
  readonly byte: number;
  /** The line that starts there, from 1. */
  readonly line: number;
  /** What the rows before it showed of the file's form; the reader goes on with it. */
  readonly form: 'undecided' | 'wide' | 'long';
}

/** One pipe as it goes into a request body. */
export interface PipeLoad {
  /** Tells pipes apart: sourceNetworkId and sourceId. */
  readonly key: string;
  /** UTF-8 bytes of its JSON text. */
  readonly bytes: number;
  /** Rows of the file that it is made of. */
  readonly rowCount: number;
  readonly end: FilePosition;
}

/** Rows that never leave. */
export interface RejectedLoad {
  readonly rowCount: number;
  readonly end: FilePosition;
}

export interface SliceLimits {
  /** Items in a slice, at most; as many rejections, so that a file of nothing but faults is cut as well. */
  readonly maxItems: number;
  /** UTF-8 bytes of the slice's items as one JSON array, at most, unless one item alone is larger. */
  readonly maxBytes: number;
}

/** `rowCount` = rows of `items` + `supersededRows` + rows of `rejected`. May hold no item at all. */
export interface PipeSlice<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly items: readonly Item[];
  readonly itemsByKey: ReadonlyMap<string, Item>;
  readonly rejected: readonly Rejected[];
  readonly supersededRows: number;
  readonly rowCount: number;
  /** UTF-8 bytes of the items as one JSON array. */
  readonly bytes: number;
  /** Where the slice ends and the next one starts. */
  readonly end: FilePosition;
}

/**
 * Takes what a file holds in its order and gives slices back. Within a slice the last row of a pipe wins (G5): an earlier
 * item of the same key leaves, and its rows count as superseded. `limits` is looked at for every item, so that a size
 * learnt from a 413 holds from then on.
 */
export class SliceCutter<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly #limits: () => SliceLimits;
  #items = new Map<string, Item>();
  #rejected: Rejected[] = [];
  #supersededRows = 0;
  #rowCount = 0;
  #itemBytes = 0;
  #end: FilePosition | undefined;

  constructor(limits: () => SliceLimits) {
    this.#limits = limits;
  }

  /** The slice that was full without this item, if it was; the item is in the next one then. */
  add(item: Item): PipeSlice<Item, Rejected> | undefined {
    const earlier = this.#items.get(item.key);
    const hasRoom = this.#hasRoomFor(item, earlier);
    const full = hasRoom ? undefined : this.flush();
    if (hasRoom && earlier !== undefined) this.#supersede(earlier);
    this.#items.set(item.key, item);
    this.#itemBytes += item.bytes;
    this.#take(item);
    return full;
  }

  /** The slice that was full without these rows, if it was. */
  reject(rejected: Rejected): PipeSlice<Item, Rejected> | undefined {
    const full = this.#rejected.length >= this.#limits().maxItems ? this.flush() : undefined;
    this.#rejected.push(rejected);
    this.#take(rejected);
    return full;
  }

  /** What is at hand, at the end of the file; nothing when nothing came since the last slice. */
  flush(): PipeSlice<Item, Rejected> | undefined {
    if (this.#end === undefined) return undefined;
    const slice = {
      items: [...this.#items.values()],
      itemsByKey: this.#items,
      rejected: this.#rejected,
      supersededRows: this.#supersededRows,
      rowCount: this.#rowCount,
      bytes: arrayBytes(this.#itemBytes, this.#items.size),
      end: this.#end,
    };
    this.#items = new Map();
    this.#rejected = [];
    this.#supersededRows = 0;
    this.#rowCount = 0;
    this.#itemBytes = 0;
    this.#end = undefined;
    return slice;
  }

  #take(load: RejectedLoad): void {
    this.#rowCount += load.rowCount;
    this.#end = load.end;
  }

  /** The later item takes its place at the end. */
  #supersede(earlier: Item): void {
    this.#items.delete(earlier.key);
    this.#itemBytes -= earlier.bytes;
    this.#supersededRows += earlier.rowCount;
  }

  #hasRoomFor(item: Item, earlier: Item | undefined): boolean {
    const count = this.#items.size + (earlier === undefined ? 1 : 0);
    if (count === 1) return true;
    const { maxItems, maxBytes } = this.#limits();
    return count <= maxItems && arrayBytes(this.#itemBytes - (earlier?.bytes ?? 0) + item.bytes, count) <= maxBytes;
  }
}

/** UTF-8 bytes of `[a,b,c]` around items of so many bytes together. */
export function arrayBytes(itemBytes: number, count: number): number {
  return itemBytes + Math.max(0, count - 1) + 2;
}
