/** Owns the rows of one well in compact form: one buffer of JSON in order of date, out of which a page is cut by copying. */
import { type DailyRow, withDateOffset } from './daily-row.ts';
import { hash32 } from './random.ts';

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
const COMMA = Buffer.from(',');
/** Where a row's xid ends: `{"xid":"` and 36 characters. */
const XID_END = 44;

export class WellRows {
  readonly count: number;
  /** Every row once, by date. */
  readonly ascending: Uint32Array;
  /** The rows, joined by commas: neighbours are served as one slice. */
  readonly #bytes: Buffer;
  /** Row i stands in [starts[i], starts[i + 1] - 1). */
  readonly #starts: Uint32Array;
  readonly #instantsMs: Float64Array;
  #shuffle: { readonly seed: number; readonly indices: Uint32Array } | undefined;

  /** Takes rows in any order and keeps them by date; those without a readable date come last. */
  constructor(rows: readonly DailyRow[]) {
    const sorted = rows.toSorted((left, right) => sortKey(left) - sortKey(right));
    this.count = sorted.length;
    this.ascending = Uint32Array.from(sorted.keys());
    this.#bytes = Buffer.from(sorted.map((row) => row.text).join(','));
    this.#starts = new Uint32Array(sorted.length + 1);
    this.#instantsMs = Float64Array.from(sorted, (row) => row.instantMs);
    for (const [index, row] of sorted.entries()) {
      this.#starts[index + 1] = (this.#starts[index] ?? 0) + Buffer.byteLength(row.text) + 1;
    }
  }

  get byteLength(): number {
    return this.#bytes.byteLength + this.#starts.byteLength + this.#instantsMs.byteLength + this.ascending.byteLength;
  }

  /** NaN where the date cannot be read. */
  instantMs(index: number): number {
    return this.#instantsMs[index] ?? Number.NaN;
  }

  text(index: number): string {
    return this.#slice(index, index + 1).toString();
  }

  rows(): DailyRow[] {
    return Array.from({ length: this.count }, (_, index) => {
      const text = this.text(index);
      const { xid } = JSON.parse(text) as { xid: unknown };
      return { xid: typeof xid === 'string' ? xid : JSON.stringify(xid), instantMs: this.instantMs(index), text };
    });
  }

  /** Hash of a row's xid: draws that stay with the row whatever comes or goes around it. */
  hash(index: number, seed: number): number {
    const start = this.#starts[index] ?? 0;
    return hash32(this.#bytes.subarray(start, start + XID_END), seed);
  }

  /** Every row once, in an order that depends on the seed and the xids alone. */
  shuffled(seed: number): Uint32Array {
    if (this.#shuffle?.seed !== seed) {
      const hashes = Uint32Array.from({ length: this.count }, (_, index) => this.hash(index, seed));
      const indices = this.ascending.toSorted((left, right) => (hashes[left] ?? 0) - (hashes[right] ?? 0));
      this.#shuffle = { seed, indices };
    }
    return this.#shuffle.indices;
  }

  /** A JSON array of the rows named, in that order; with an offset their dates are written anew. */
  page(indices: readonly number[], dateOffset: string | null): Buffer {
    if (dateOffset !== null) {
      const texts = indices.map((index) => withDateOffset(this.text(index), this.instantMs(index), dateOffset));
      return Buffer.from(`[${texts.join(',')}]`);
    }
    const parts: Buffer[] = [OPEN];
    for (const [from, to] of runsOf(indices)) {
      if (parts.length > 1) parts.push(COMMA);
      parts.push(this.#slice(from, to));
    }
    return Buffer.concat([...parts, CLOSE]);
  }

  /** Rows [from, to) with the commas between them. */
  #slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#starts[from], (this.#starts[to] ?? 0) - 1);
  }
}

function sortKey(row: DailyRow): number {
  return Number.isNaN(row.instantMs) ? Number.MAX_SAFE_INTEGER : row.instantMs;
}

/** Neighbours in rising order, put together as [from, to). */
function* runsOf(indices: readonly number[]): Generator<[number, number]> {
  let from = 0;
  for (let at = 1; at <= indices.length; at += 1) {
    const last = indices[at - 1] ?? 0;
    if (indices[at] === last + 1) continue;
    yield [indices[from] ?? 0, last + 1];
    from = at;
  }
}
