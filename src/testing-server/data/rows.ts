/**
 * Rows of daily production as JSON text, so that every value is sent as given: one row, and those of a well in compact
 * form.
 */
import { type Node, parseTree } from 'jsonc-parser';
import { hash as digestOf } from 'node:crypto';

export interface DailyRow {
  /** The xid, or the JSON of a value of another type in its place. */
  readonly xid: string;
  /** Instant of `date`, milliseconds since 1970-01-01T00:00Z; NaN when the date cannot be read. */
  readonly instantMs: number;
  /** The record as served: `xid` and `date` first, then the other fields in the given order. */
  readonly text: string;
}

export interface WellRow {
  readonly uwi: string;
  readonly row: DailyRow;
}

/**
 * A record made by a test: `uwi` and the fields to serve, valid or not. An absent `xid` is derived from uwi and date.
 */
export interface GivenRecord {
  readonly uwi: string;
  readonly [field: string]: unknown;
}

/**
 * The row of a JSON line with `uwi`; its other values are kept as written. Throws SyntaxError or TypeError with the
 * reason.
 */
export function rowFromText(text: string): WellRow {
  const record: unknown = JSON.parse(text);
  if (!isGivenRecord(record)) throw new TypeError('it is not a JSON object with a text "uwi"');
  const members = objectMembers(text);
  const xid = record['xid'] === undefined ? deriveXid(record.uwi, record['date']) : record['xid'];
  const rest = members.filter(({ name }) => name !== 'uwi' && name !== 'xid' && name !== 'date');
  const date = members.find(({ name }) => name === 'date');
  const served = [{ name: 'xid', raw: JSON.stringify(xid) }, ...(date === undefined ? [] : [date]), ...rest];
  return {
    uwi: record.uwi,
    row: {
      xid: typeof xid === 'string' ? xid : JSON.stringify(xid),
      instantMs: instantOf(record['date']),
      text: `{${served.map(({ name, raw }) => `${JSON.stringify(name)}:${raw}`).join(',')}}`,
    },
  };
}

function isGivenRecord(value: unknown): value is GivenRecord {
  return typeof value === 'object' && value !== null && 'uwi' in value && typeof value.uwi === 'string';
}

/** The derived xid of a well's row at an instant, however its date is written. */
export function deriveXid(uwi: string, date: unknown): string {
  const instantMs = instantOf(date);
  return derivedUuid(`${uwi}\n${Number.isNaN(instantMs) ? String(date) : new Date(instantMs).toISOString()}`);
}

const dateTimePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO date-time; without an offset it is in UTC. NaN for any other value. */
export function instantOf(date: unknown): number {
  const parts = typeof date === 'string' ? dateTimePattern.exec(date) : null;
  if (parts === null) return Number.NaN;
  const [text, , , offset = 'Z'] = parts;
  const time = text.slice(0, text.length - (parts[3]?.length ?? 0));
  return Date.parse(
    `${time}${offset === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '') || '00'}`}`,
  );
}

/**
 * The row with its date written at another offset ("+02:00", "+0200", "+02"), for the same instant. A row without a readable date is
 * unchanged.
 */
function withDateOffset(text: string, instantMs: number, offset: string): string {
  if (Number.isNaN(instantMs)) return text;
  return text.replace(/^(\{"xid":[^,]*,"date":)"[^"]*"/, `$1"${dateAt(instantMs, offset)}"`);
}

function dateAt(instantMs: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''));
  const shiftMs = (offset.startsWith('-') ? -minutes : minutes) * 60_000;
  return new Date(instantMs + shiftMs).toISOString().replace(/(\.000)?Z$/, offset);
}

/**
 * Slices JSON text without parsing its values, so that a number keeps its text (38.211669000000001). Every function
 * takes text that JSON.parse has accepted.
 */
interface JsonMember {
  readonly name: string;
  readonly raw: string;
}

export function arrayItems(text: string): string[] {
  return childrenOf(parseTree(text)).map((item) => slice(text, item));
}

export function objectMembers(text: string): JsonMember[] {
  return childrenOf(parseTree(text)).map((member) => {
    const [name, value] = childrenOf(member);
    return { name: String(name?.value), raw: slice(text, value) };
  });
}

function childrenOf(node: Node | undefined): readonly Node[] {
  return node?.children ?? [];
}

function slice(text: string, node: Node | undefined): string {
  return node === undefined ? '' : text.slice(node.offset, node.offset + node.length);
}

// The rows of one well in compact form: one buffer of JSON in order of date, from which pages are copied.

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

// Reproducible random numbers: the same seed gives the same numbers on every machine.

/** Next number in [0, 1). */
export type Random = () => number;

const TWO_TO_32 = 2 ** 32;

/** FNV-1a hash, 32 bits. */
function hash32(bytes: Uint8Array, seed = 0): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return mix(hash);
}

/** A generator (mulberry32) whose sequence depends only on `seed`. */
export function createRandom(seed: string): Random {
  let state = hash32(Buffer.from(seed));
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mix(state) / TWO_TO_32;
  };
}

/** A number in [0, 1) from a hash: a draw that belongs to the hashed value, not to a sequence. */
export function shareOf(hash: number): number {
  return hash / TWO_TO_32;
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/** A whole number from `low` to `high`, both inclusive. */
export function wholeBetween(random: Random, low: number, high: number): number {
  return Math.floor(between(random, low, high + 1));
}

export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** A version 5 style uuid: the same name always gives the same uuid. */
export function derivedUuid(name: string): string {
  const hex = digestOf('sha1', `wellsync testing server\n${name}`);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
