/**
 * Cuts the items of a file of pipes into chunks, the bodies of its requests. A chunk holds one item of an order key (a
 * pipe, or a version of one), and none of a key in an unsettled chunk: such items are put off, while others fill the
 * chunk (G5, docs/design.md section 4.3).
 */
import { orderKey, type PipeIdentity } from './pipe.ts';

/**
 * A position between two items of a file, from which reading can continue: every row before it is in an earlier entry.
 */
export interface FilePosition {
  /** Bytes of content before the position; of unpacked content for a gzip file. */
  readonly byte: number;
  /** Line that starts at the position, from 1. */
  readonly line: number;
  /** Form of the file as far as the rows before the position show it; the reader continues with it. */
  readonly form: 'undecided' | 'wide' | 'long';
}

/** One version of a pipe, as an item of a request body. */
export interface PipeLoad {
  /** The pipe: sourceNetworkId and sourceId. */
  readonly key: string;
  /** Its date, equal for two texts of one instant (pipe.ts). */
  readonly version: string;
  /** UTF-8 bytes of the item's JSON text. */
  readonly bytes: number;
  /** Rows of the file that make up the item. */
  readonly rowCount: number;
  readonly firstLine: number;
  readonly end: FilePosition;
}

/** Rows that are never sent. */
export interface RejectedLoad {
  readonly rowCount: number;
  /** Approximate memory, as text. */
  readonly bytes: number;
  readonly end: FilePosition;
}

export interface ChunkLimits {
  /** Most items of a chunk. */
  readonly maxItems: number;
  /** Most UTF-8 bytes of the chunk's items as one JSON array. A single larger item is a chunk alone. */
  readonly maxBytes: number;
}

/** What the cutter needs of the item that it is given. */
interface CutItem {
  readonly item: PipeLoad;
}

/** Items with different order keys: not empty. */
export interface CutChunk<Cut extends CutItem> {
  readonly byKey: ReadonlyMap<string, Cut>;
  /** UTF-8 bytes of the items as one JSON array. */
  readonly bytes: number;
}

/**
 * Takes items in the order of the file; `limits` is called for every item, so that a size learnt from a 413 applies at
 * once. Of one version the last item wins: an earlier one that no chunk has taken along is superseded.
 */
export class ChunkCutter<Cut extends CutItem> {
  readonly #limits: () => ChunkLimits;
  readonly #identity: PipeIdentity;
  /**
   * The items of unsettled chunks, by order key: others of their keys wait, so that two requests never race for one pipe and
   * the last row of the file wins (G5). One map of all chunks, which every row enters and leaves, cost a fifth of a push in
   * garbage.
   */
  readonly #inFlight: Array<ReadonlyMap<string, Cut>> = [];
  readonly #putOff = new PutOffItems<Cut>();
  /** Cut, and not taken. */
  readonly #full: CutChunk<Cut>[] = [];
  #current = new Map<string, Cut>();
  #itemBytes = 0;

  constructor(limits: () => ChunkLimits, identity: PipeIdentity) {
    this.#limits = limits;
    this.#identity = identity;
  }

  /** Whether items wait for chunks with another item of their order key. */
  get hasPutOff(): boolean {
    return this.#putOff.size > 0;
  }

  /** Chunks that are full and not taken. */
  get fullCount(): number {
    return this.#full.length;
  }

  /** Returns the item that this one supersedes, if any: it is never sent. */
  add(cut: Cut): Cut | undefined {
    const key = orderKey(cut.item, this.#identity);
    const superseded = this.#takeOut(key, cut.item.version);
    if (this.#isBusy(key) || this.#putOff.has(key)) {
      this.#putOff.add(key, cut);
      // The superseded item may have been the one that the others waited for.
      if (superseded !== undefined) this.#promote(key);
    } else {
      this.#fill(key, cut);
    }
    return superseded;
  }

  /** The next full chunk; with `mayBeShort` the items so far where there is none. It is in flight until it is settled. */
  next(mayBeShort: boolean): CutChunk<Cut> | undefined {
    if (this.#full.length === 0 && mayBeShort) this.#cut();
    return this.#full.shift();
  }

  /** Reports that every item of a chunk has an outcome: items that waited for it go into the chunk that is being cut. */
  settle({ byKey }: CutChunk<Cut>): void {
    const index = this.#inFlight.indexOf(byKey);
    if (index !== -1) this.#inFlight.splice(index, 1);
    if (!this.hasPutOff) return;
    for (const key of byKey.keys()) this.#promote(key);
  }

  /** Takes out an item of the same version that is in no chunk yet. */
  #takeOut(key: string, version: string): Cut | undefined {
    const unsent = this.#current.get(key);
    if (unsent?.item.version !== version) return this.hasPutOff ? this.#putOff.takeOut(key, version) : undefined;
    this.#current.delete(key);
    this.#itemBytes -= unsent.item.bytes;
    return unsent;
  }

  #isBusy(key: string): boolean {
    if (this.#current.has(key)) return true;
    // By index: this runs for every row of a file.
    for (let index = 0; index < this.#inFlight.length; index += 1) {
      if (this.#inFlight[index]?.has(key) === true) return true;
    }
    return false;
  }

  #promote(key: string): void {
    if (this.#isBusy(key)) return;
    const next = this.#putOff.takeFirst(key);
    if (next !== undefined) this.#fill(key, next);
  }

  #fill(key: string, cut: Cut): void {
    if (!this.#hasRoomFor(cut.item)) this.#cut();
    this.#current.set(key, cut);
    this.#itemBytes += cut.item.bytes;
    if (this.#current.size >= this.#limits().maxItems) this.#cut();
  }

  #hasRoomFor(item: PipeLoad): boolean {
    const count = this.#current.size + 1;
    return count === 1 || arrayBytes(this.#itemBytes + item.bytes, count) <= this.#limits().maxBytes;
  }

  #cut(): void {
    if (this.#current.size === 0) return;
    const chunk = { byKey: this.#current, bytes: arrayBytes(this.#itemBytes, this.#current.size) };
    this.#full.push(chunk);
    this.#inFlight.push(chunk.byKey);
    this.#current = new Map();
    this.#itemBytes = 0;
  }
}

/** UTF-8 bytes of a JSON array of `count` items with `itemBytes` bytes together. */
export function arrayBytes(itemBytes: number, count: number): number {
  return itemBytes + Math.max(0, count - 1) + 2;
}

/**
 * Items that wait for a chunk with another item of their order key: of each key in the order of the file, and of one
 * version of it at most one.
 */
class PutOffItems<Cut extends CutItem> {
  /** By order key and version, in the order of the file. */
  readonly #waiting = new Map<string, Map<string, Cut>>();

  /** Number of order keys with waiting items. */
  get size(): number {
    return this.#waiting.size;
  }

  has(key: string): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(key);
  }

  /** Adds an item behind the others of its key, of which none has its version. */
  add(key: string, cut: Cut): void {
    const items = this.#waiting.get(key);
    if (items === undefined) this.#waiting.set(key, new Map([[cut.item.version, cut]]));
    else items.set(cut.item.version, cut);
  }

  takeFirst(key: string): Cut | undefined {
    const version = this.#waiting.get(key)?.keys().next().value;
    return version === undefined ? undefined : this.takeOut(key, version);
  }

  takeOut(key: string, version: string): Cut | undefined {
    const items = this.#waiting.get(key);
    const cut = items?.get(version);
    if (items === undefined || cut === undefined) return undefined;
    items.delete(version);
    if (items.size === 0) this.#waiting.delete(key);
    return cut;
  }
}
