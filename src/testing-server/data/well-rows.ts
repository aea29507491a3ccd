/** The rows of one well in compact form: one buffer of JSON in order of date, from which pages are copied. */
import { type DailyRow, withDateOffset } from './daily-row.ts';
import { hash32 } from './random.ts';

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
const COMMA = Buffer.from(',');
/** End of a row's xid: `{"xid":"` and 36 characters. */
const XID_END = 44;

export class WellRows {
  readonly count: number;
  readonly ascending: Uint32Array;
  /** The rows, joined by commas: neighbouring rows are served as one slice. */
  readonly #bytes: Buffer;
  /** Row i is the slice [starts[i], starts[i + 1] - 1). */
  readonly #starts: Uint32Array;
  readonly #instantsMs: Float64Array;
  #shuffle: { readonly seed: number; readonly indices: Uint32Array } | undefined;

  /** Sorts the rows by date; rows without a readable date come last. */
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

  /** Instant of a row; NaN when its date cannot be read. */
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

  /** Hash of a row's xid, for draws that do not depend on other rows. */
  hash(index: number, seed: number): number {
    const start = this.#starts[index] ?? 0;
    return hash32(this.#bytes.subarray(start, start + XID_END), seed);
  }

  /** Indices of all rows, in an order that depends only on the seed and the xids. */
  shuffled(seed: number): Uint32Array {
    if (this.#shuffle?.seed !== seed) {
      const hashes = Uint32Array.from({ length: this.count }, (_, index) => this.hash(index, seed));
      const indices = this.ascending.toSorted((left, right) => (hashes[left] ?? 0) - (hashes[right] ?? 0));
      this.#shuffle = { seed, indices };
    }
    return this.#shuffle.indices;
  }

  /** A JSON array of the given rows, in that order; `dateOffset` rewrites their dates. */
  page(indices: readonly number[], dateOffset: string | null): Buffer {
    if (dateOffset !== null) {
      const texts = indices.map((index) => withDateOffset(this.text(index), this.instantMs(index), dateOffset));
      return Buffer.from(`[${texts.join(',')}]`);
    }
    const slices: Buffer[] = [OPEN];
    for (const [from, to] of runsOf(indices)) {
      if (slices.length > 1) slices.push(COMMA);
      slices.push(this.#slice(from, to));
    }
    return Buffer.concat([...slices, CLOSE]);
  }

  #slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#starts[from], (this.#starts[to] ?? 0) - 1);
  }
}

function sortKey(row: DailyRow): number {
  return Number.isNaN(row.instantMs) ? Number.MAX_SAFE_INTEGER : row.instantMs;
}

/** Runs of consecutive indices, as [from, to). */
function* runsOf(indices: readonly number[]): Generator<[number, number]> {
  let from = 0;
  for (let at = 1; at <= indices.length; at += 1) {
    const last = indices[at - 1] ?? 0;
    if (indices[at] === last + 1) continue;
    yield [indices[from] ?? 0, last + 1];
    from = at;
  }
}
