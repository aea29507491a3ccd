/**
 * Cuts a file of pipes into chunks. Each chunk holds items of different pipes, and the rejected and superseded rows of
 * the same stretch of the file, so that chunks account for every row (G2, docs/design.md section 4.3).
 */

/**
 * A position between two items of a file, from which reading can continue: every row before it is in an earlier chunk.
 */
export interface FilePosition {
  /** Bytes of content before the position; of unpacked content for a gzip file. */
  readonly byte: number;
  /** Line that starts at the position, from 1. */
  readonly line: number;
  /** Form of the file as far as the rows before the position show it; the reader continues with it. */
  readonly form: 'undecided' | 'wide' | 'long';
}

/** One pipe, as an item of a request body. */
export interface PipeLoad {
  /** Identity of the pipe: sourceNetworkId and sourceId. */
  readonly key: string;
  /** UTF-8 bytes of the item's JSON text. */
  readonly bytes: number;
  /** Rows of the file that make up the item. */
  readonly rowCount: number;
  readonly end: FilePosition;
}

/** Rows that are never sent. */
export interface RejectedLoad {
  readonly rowCount: number;
  readonly end: FilePosition;
}

export interface ChunkLimits {
  /** Most items of a chunk, and most rejections, so that a file with nothing but faults is cut as well. */
  readonly maxItems: number;
  /** Most UTF-8 bytes of the chunk's items as one JSON array. A single larger item is a chunk alone. */
  readonly maxBytes: number;
}

/** `rowCount` = rows of `items` + `supersededRows` + rows of `rejected`. `items` may be empty. */
export interface PipeChunk<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly items: readonly Item[];
  readonly itemsByKey: ReadonlyMap<string, Item>;
  readonly rejected: readonly Rejected[];
  readonly supersededRows: number;
  readonly rowCount: number;
  /** UTF-8 bytes of the items as one JSON array. */
  readonly bytes: number;
  /** Position at which the chunk ends and the next one starts. */
  readonly end: FilePosition;
}

/**
 * Takes items and rejected rows in the order of the file and returns chunks. Within a chunk the last row of a pipe wins
 * (G5): an earlier item of the same key is dropped, and its rows count as superseded. `limits` is called for every
 * item, so that a size learnt from a 413 applies at once.
 */
export class ChunkCutter<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly #limits: () => ChunkLimits;
  #items = new Map<string, Item>();
  #rejected: Rejected[] = [];
  #supersededRows = 0;
  #rowCount = 0;
  #itemBytes = 0;
  #end: FilePosition | undefined;

  constructor(limits: () => ChunkLimits) {
    this.#limits = limits;
  }

  /** Returns the chunk that this item no longer fits into, if any; the item then starts the next chunk. */
  add(item: Item): PipeChunk<Item, Rejected> | undefined {
    const earlier = this.#items.get(item.key);
    const hasRoom = this.#hasRoomFor(item, earlier);
    const full = hasRoom ? undefined : this.flush();
    if (hasRoom && earlier !== undefined) this.#supersede(earlier);
    this.#items.set(item.key, item);
    this.#itemBytes += item.bytes;
    this.#take(item);
    return full;
  }

  /** Returns the chunk that these rows no longer fit into, if any. */
  reject(rejected: Rejected): PipeChunk<Item, Rejected> | undefined {
    const full = this.#rejected.length >= this.#limits().maxItems ? this.flush() : undefined;
    this.#rejected.push(rejected);
    this.#take(rejected);
    return full;
  }

  /** Returns the chunk so far; undefined when nothing was added since the last one. Call it at the end of the file. */
  flush(): PipeChunk<Item, Rejected> | undefined {
    if (this.#end === undefined) return undefined;
    const chunk = {
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
    return chunk;
  }

  #take(load: RejectedLoad): void {
    this.#rowCount += load.rowCount;
    this.#end = load.end;
  }

  /** Drops the earlier item; the later one is added at the end. */
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

/** UTF-8 bytes of a JSON array of `count` items with `itemBytes` bytes together. */
export function arrayBytes(itemBytes: number, count: number): number {
  return itemBytes + Math.max(0, count - 1) + 2;
}
