/**
 * The rows of a file that are read and not passed by the checkpoint: what may be sent of them, what waits, and how far
 * the file is settled (docs/design.md section 4.3).
 *
 *   add -> (put off while its pipe is under way) -> next -> settle part after part -> pass
 *
 * The caller reads on while there is room, and `bufferedBytes` is within its bound, which bounds memory (G8).
 */
import { ChunkCutter, type ChunkLimits, type CutChunk, type PipeLoad, type RejectedLoad } from './chunks-in-order.ts';
import type { PipeIdentity } from './pipe.ts';
import {
  type GivenUpItem,
  passedRows,
  type PassedRows,
  type PipeChunkOutcome,
  type RowsOutcome,
  type SettledChunk,
  statusOfChunk,
  type TrackedRows,
} from './checkpoint.ts';

interface LookAheadSettings {
  /** Called for every item. */
  readonly limits: () => ChunkLimits;
  readonly identity: PipeIdentity;
  /** Most chunks under way. */
  readonly concurrency: number;
}

/**
 * Full chunks that are open, read and not passed, for each that may be under way: a slow one does not block the others at
 * once, and rows whose pipe is under way are put off within as many.
 */
const openChunksEach = 4;

/** Most entries of a file that are read and not passed. */
export function maxOpenEntries(chunkItems: number, concurrency: number): number {
  return chunkItems * concurrency * openChunksEach;
}

/** `waiting`: the reader goes on once a chunk is settled. */
export type ReaderState = 'reading' | 'waiting' | 'ended';

/** Open rows of an item: it is there as long as they have no outcome. */
type OpenRows<Item extends PipeLoad, Rejected extends RejectedLoad> = TrackedRows<Item, Rejected> & {
  readonly item: Item;
};

/** A chunk under way. */
interface SentChunk<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly cut: CutChunk<OpenRows<Item, Rejected>>;
  /** The rows that stand last in the file: they settle with the chunk, which counts when they are passed. */
  readonly last: OpenRows<Item, Rejected>;
  /** Those of the other items, once a part is settled. */
  others: ReadonlyMap<Item, OpenRows<Item, Rejected>> | undefined;
}

/** Items to send in one request, no two with the same order key. */
export interface PipeChunk<Item extends PipeLoad> {
  readonly items: readonly Item[];
  /** UTF-8 bytes of the items as one JSON array. */
  readonly bytes: number;
}

export class LookAhead<Item extends PipeLoad, Rejected extends RejectedLoad> {
  readonly #settings: LookAheadSettings;
  readonly #cutter: ChunkCutter<OpenRows<Item, Rejected>>;
  readonly #prefix = new SettledPrefix<TrackedRows<Item, Rejected>>();
  readonly #underWay = new Map<PipeChunk<Item>, SentChunk<Item, Rejected>>();
  #unsettled = 0;
  #bufferedBytes = 0;
  /** Chunks that were taken and not passed. */
  #taken = 0;
  /** Whether any sent item has its outcome. */
  #hasOutcome = false;

  constructor(settings: LookAheadSettings) {
    this.#settings = settings;
    this.#cutter = new ChunkCutter(settings.limits, settings.identity);
  }

  /** Entries added and not passed. */
  get size(): number {
    return this.#prefix.size;
  }

  /**
   * Whether to read on. No more is cut than the next requests take: an item that was put off, and holds the checkpoint
   * back, goes behind what is cut.
   */
  get hasRoom(): boolean {
    const { limits, concurrency } = this.#settings;
    const cut = this.#cutter.fullCount;
    if (cut >= concurrency || cut + this.#taken >= concurrency * openChunksEach) return false;
    return this.#prefix.size < maxOpenEntries(limits().maxItems, concurrency);
  }

  /** Bytes of their items without an outcome, and of their rejects, as text. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
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
    this.#bufferedBytes += item.bytes;
    const superseded = this.#cutter.add(rows);
    if (superseded === undefined) return;
    settleRows(superseded, 'superseded');
    this.#drop(superseded);
  }

  /** Takes the next rejected rows of the file. */
  reject(rejected: Rejected): void {
    const { rowCount, end, bytes } = rejected;
    this.#prefix.track({ rowCount, end, item: undefined, outcome: 'rejectedByUs', rejected, chunk: undefined });
    this.#bufferedBytes += bytes;
  }

  /**
   * The next chunk to send: undefined while as many are under way as may be, or none is due. Its pipes are under way
   * until it is settled, and no other chunk has them meanwhile. The first one goes alone until an item of it has its
   * outcome: one request finds what the service takes, and the checkpoint moves early (G7).
   */
  next(reader: ReaderState): PipeChunk<Item> | undefined {
    if (this.#underWay.size >= (this.#hasOutcome ? this.#settings.concurrency : 1)) return undefined;
    const cut = this.#cutter.next(this.#isShortDue(reader));
    if (cut === undefined) return undefined;
    const rows = [...cut.byKey.values()];
    const chunk = { items: rows.map(({ item }) => item), bytes: cut.bytes };
    const last = rows.reduce((latest, one) => (one.end.byte > latest.end.byte ? one : latest));
    this.#underWay.set(chunk, { cut, last, others: undefined });
    this.#taken += 1;
    return chunk;
  }

  /**
   * Settles items of a chunk that goes on: the checkpoint may pass them, so that a chunk of many refused items is not
   * begun from its start by each worker that dies in it (G7). Their pipes stay under way.
   */
  settlePart(
    chunk: PipeChunk<Item>,
    { accepted, refused }: Pick<PipeChunkOutcome<Item>, 'accepted' | 'refused'>,
    rejectsOf: (givenUp: GivenUpItem<Item>) => Rejected,
  ): void {
    const sent = this.#underWay.get(chunk);
    if (sent === undefined) return;
    this.#hasOutcome = true;
    const { cut, last } = sent;
    const others = (sent.others ??= byItem([...cut.byKey.values()].filter((rows) => rows !== last)));
    for (const item of accepted) settleRows(others.get(item), 'accepted');
    this.#giveUp(others, refused, 'rejectedByService', rejectsOf);
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
    const sent = this.#underWay.get(chunk);
    if (sent === undefined) return;
    this.#hasOutcome = true;
    const { cut, last } = sent;
    this.#underWay.delete(chunk);
    this.#cutter.settle(cut);
    if (outcome.refused.length + outcome.failed.length > 0) {
      const rowsOf = byItem([...cut.byKey.values()]);
      this.#giveUp(rowsOf, outcome.refused, 'rejectedByService', rejectsOf);
      this.#giveUp(rowsOf, outcome.failed, 'failed', rejectsOf);
    }
    last.chunk = ledgerLine(chunk, outcome);
    for (const rows of cut.byKey.values()) {
      settleRows(rows, 'accepted');
      this.#drop(rows);
    }
  }

  /** The rows that are settled, as are all before them, in the order of the file; undefined for none. */
  pass(): PassedRows<Rejected> | undefined {
    const passed = passedRows(this.#prefix.pass());
    this.#taken -= passed?.chunks.length ?? 0;
    for (const { bytes } of passed?.rejected ?? []) this.#bufferedBytes -= bytes;
    return passed;
  }

  /**
   * Whether a chunk goes that has room for more items. While rows are read they fill it. A reader that waits, or has
   * ended, leaves what was put off: that fills it once a chunk under way is settled, so it waits as long as half of the
   * requests are under way. With nothing put off, the last chunk of a file goes at once, and one before it when nothing
   * else is under way.
   */
  #isShortDue(reader: ReaderState): boolean {
    if (reader === 'reading') return false;
    if (!this.#cutter.hasPutOff) return reader === 'ended' || this.#underWay.size === 0;
    return this.#underWay.size < Math.ceil(this.#settings.concurrency / 2);
  }

  #giveUp(
    rowsOf: ReadonlyMap<Item, OpenRows<Item, Rejected>>,
    givenUp: readonly GivenUpItem<Item>[],
    outcome: RowsOutcome,
    rejectsOf: (givenUp: GivenUpItem<Item>) => Rejected,
  ): void {
    for (const one of givenUp) {
      const rows = rowsOf.get(one.item);
      if (rows === undefined || rows.outcome !== undefined) continue;
      rows.rejected = rejectsOf(one);
      this.#bufferedBytes += rows.rejected.bytes;
      settleRows(rows, outcome);
    }
  }

  /** Lets go of an item, for the memory. */
  #drop(rows: TrackedRows<Item, Rejected>): void {
    this.#unsettled -= 1;
    this.#bufferedBytes -= rows.item?.bytes ?? 0;
    rows.item = undefined;
  }
}

function byItem<Rows extends { readonly item: unknown }>(rows: readonly Rows[]): ReadonlyMap<Rows['item'], Rows> {
  return new Map(rows.map((one) => [one.item, one]));
}

/** The first outcome stands. */
function settleRows(rows: { outcome: RowsOutcome | undefined } | undefined, outcome: RowsOutcome): void {
  if (rows !== undefined) rows.outcome ??= outcome;
}

function ledgerLine<Item extends PipeLoad>({ items }: PipeChunk<Item>, outcome: PipeChunkOutcome<Item>): SettledChunk {
  let [firstLine, lastLine] = [Infinity, 0];
  for (const item of items) {
    firstLine = Math.min(firstLine, item.firstLine);
    lastLine = Math.max(lastLine, item.end.line - 1);
  }
  return { firstLine, lastLine, items: items.length, status: statusOfChunk(outcome), attempts: outcome.requests };
}

// Tracks how far a file is settled. Rows settle in any order; the checkpoint passes them when all rows before them are
// settled (docs/design.md section 4.3, G7).

/** Rows of the file that settle together: an item, or rejected rows. */
interface Settleable {
  /** Undefined until they are settled. */
  readonly outcome: unknown;
}

/** The caller bounds its size, and with it the memory. */
export class SettledPrefix<Rows extends Settleable> {
  #rows: Rows[] = [];
  #first = 0;

  /** Entries tracked and not passed yet. */
  get size(): number {
    return this.#rows.length - this.#first;
  }

  /** Adds the next entry of the file. */
  track(rows: Rows): void {
    this.#rows.push(rows);
  }

  /** The entries that are settled, as are all before them: each once, in the order of the file. */
  pass(): readonly Rows[] {
    const from = this.#first;
    while (this.#first < this.#rows.length && this.#rows[this.#first]?.outcome !== undefined) this.#first += 1;
    const passed = this.#rows.slice(from, this.#first);
    // Now and then, so that a long list is not moved for each entry.
    if (this.#first * 2 > this.#rows.length) {
      this.#rows = this.#rows.slice(this.#first);
      this.#first = 0;
    }
    return passed;
  }
}
