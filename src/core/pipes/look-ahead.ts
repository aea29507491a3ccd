/**
 * The rows of a file that are read and not passed by the checkpoint: what may be sent of them, what waits, and how far
 * the file is settled (docs/design.md section 4.3).
 *
 *   add -> (put off while its pipe is under way) -> next -> settle -> pass
 *
 * The caller reads on while `size` and `heldBytes` are within its bounds, which bounds memory (G8).
 */
import { ChunkCutter, type ChunkLimits, type CutChunk, type PipeLoad, type RejectedLoad } from './chunk-cutter.ts';
import type { PipeIdentity } from './pipe-version.ts';
import {
  type GivenUpItem,
  passedRows,
  type PassedRows,
  type PipeChunkOutcome,
  type RowsOutcome,
  statusOfChunk,
  type TrackedRows,
} from './push-counts.ts';
import { SettledPrefix } from './settled-prefix.ts';

/** Open rows of an item: it is there as long as they have no outcome. */
type OpenRows<Item extends PipeLoad, Rejected extends RejectedLoad> = TrackedRows<Item, Rejected> & {
  readonly item: Item;
};

/** Items to send in one request, no two with the same order key. */
export interface PipeChunk<Item extends PipeLoad> {
  readonly items: readonly Item[];
  /** UTF-8 bytes of the items as one JSON array. */
  readonly bytes: number;
}

export class LookAhead<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly #cutter: ChunkCutter<OpenRows<Item, Rejected>>;
  readonly #prefix = new SettledPrefix<TrackedRows<Item, Rejected>>();
  readonly #underWay = new Map<PipeChunk<Item>, CutChunk<OpenRows<Item, Rejected>>>();
  #unsettled = 0;
  #heldBytes = 0;

  /** `limits` is called for every item. */
  constructor(limits: () => ChunkLimits, identity: PipeIdentity) {
    this.#cutter = new ChunkCutter(limits, identity);
  }

  /** Entries added and not passed. */
  get size(): number {
    return this.#prefix.size;
  }

  /** Bytes of their items without an outcome, and of their rejects, as text. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether items wait for chunks under way. */
  get hasPutOff(): boolean {
    return this.#cutter.hasPutOff;
  }

  /** Whether every item has an outcome. */
  get isSettled(): boolean {
    return this.#unsettled === 0;
  }

  /** Takes the next item of the file. */
  add(item: Item): void {
    const { rowCount, end } = item;
    const rows: OpenRows<Item, Rejected> = {
      rowCount,
      end,
      item,
      outcome: undefined,
      rejected: undefined,
      chunk: undefined,
    };
    this.#prefix.track(rows);
    this.#unsettled += 1;
    this.#heldBytes += item.bytes;
    const superseded = this.#cutter.add(rows);
    if (superseded !== undefined) this.#settleRows(superseded, 'superseded');
  }

  /** Takes the next rejected rows of the file. */
  reject(rejected: Rejected): void {
    const { rowCount, end, bytes } = rejected;
    this.#prefix.track({ rowCount, end, item: undefined, outcome: 'rejectedByUs', rejected, chunk: undefined });
    this.#heldBytes += bytes;
  }

  /**
   * The next chunk to send: a full one; with `mayBeShort` any. Its pipes are under way until it is settled, and no other
   * chunk has them meanwhile.
   */
  next(mayBeShort: boolean): PipeChunk<Item> | undefined {
    const cut = this.#cutter.next(mayBeShort);
    if (cut === undefined) return undefined;
    const chunk = { items: Array.from(cut.byKey.values(), ({ item }) => item), bytes: cut.bytes };
    this.#underWay.set(chunk, cut);
    return chunk;
  }

  /**
   * Settles a chunk: each of its items is accepted, refused or failed. `rejectsOf` makes the rejects of one that was not
   * stored. Ignores a second outcome of the same chunk (G1).
   */
  settle(
    chunk: PipeChunk<Item>,
    outcome: PipeChunkOutcome<Item>,
    rejectsOf: (givenUp: GivenUpItem<Item>) => Rejected,
  ): void {
    const cut = this.#underWay.get(chunk);
    if (cut === undefined) return;
    this.#underWay.delete(chunk);
    this.#cutter.settle(cut);
    const rows = [...cut.byKey.values()];
    this.#noteChunk(rows, outcome);
    this.#giveUp(rows, outcome.refused, 'rejectedByService', rejectsOf);
    this.#giveUp(rows, outcome.failed, 'failed', rejectsOf);
    for (const one of rows) if (one.outcome === undefined) this.#settleRows(one, 'accepted');
  }

  /** The rows that are settled, as are all before them, in the order of the file; undefined for none. */
  pass(): PassedRows<Rejected> | undefined {
    const passed = passedRows(this.#prefix.pass());
    for (const { bytes } of passed?.rejected ?? []) this.#heldBytes -= bytes;
    return passed;
  }

  #settleRows(rows: TrackedRows<Item, Rejected>, outcome: RowsOutcome): void {
    this.#unsettled -= 1;
    this.#heldBytes -= rows.item?.bytes ?? 0;
    rows.item = undefined;
    rows.outcome = outcome;
  }

  #giveUp(
    rows: readonly OpenRows<Item, Rejected>[],
    givenUp: readonly GivenUpItem<Item>[],
    outcome: RowsOutcome,
    rejectsOf: (givenUp: GivenUpItem<Item>) => Rejected,
  ): void {
    if (givenUp.length === 0) return;
    const byItem = new Map(rows.map((one) => [one.item, one]));
    for (const one of givenUp) {
      const itsRows = byItem.get(one.item);
      if (itsRows === undefined) continue;
      const rejected = rejectsOf(one);
      this.#settleRows(itsRows, outcome);
      itsRows.rejected = rejected;
      this.#heldBytes += rejected.bytes;
    }
  }

  /** Notes a chunk at those of its rows that stand first in the file, and are passed first. */
  #noteChunk(rows: readonly OpenRows<Item, Rejected>[], outcome: PipeChunkOutcome<Item>): void {
    let [first] = rows;
    let lastLine = 0;
    for (const one of rows) {
      if (first === undefined || one.end.byte < first.end.byte) first = one;
      lastLine = Math.max(lastLine, one.end.line - 1);
    }
    if (first === undefined) return;
    const { firstLine } = first.item;
    const [status, attempts] = [statusOfChunk(outcome), outcome.requests];
    first.chunk = { firstLine, lastLine, items: rows.length, status, attempts };
  }
}
