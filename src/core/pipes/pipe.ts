/** A network pipe: its fields, what tells two rows apart, and which of them may travel together. Pure. */

/**
 * The ten fields (docs/interface.md section 2.3; how each is read: docs/design.md section 3), in the documented order, which is
 * also the order in a request body.
 */
export const pipeFields = [
  'sourceNetworkId',
  'sourceId',
  'date',
  'upstreamSourceId',
  'downstreamSourceId',
  'enabled',
  'length',
  'trueVerticalDepth',
  'innerDiameter',
  'roughness',
] as const;
export type PipeField = (typeof pipeFields)[number];

/** Fields with one number for each segment. */
export const listFields = ['length', 'trueVerticalDepth', 'innerDiameter', 'roughness'] as const;
export type ListField = (typeof listFields)[number];

/** Bounds of the numbers of a list field. An absent bound does not apply. */
export interface NumberLimit {
  readonly min?: number;
  readonly max?: number;
  /** Exclusive minimum. */
  readonly above?: number;
}

export type PipeLimits = Readonly<Partial<Record<ListField, NumberLimit>>>;

export const defaultPipeLimits: PipeLimits = { length: { min: 0 }, innerDiameter: { above: 0 } };

// What tells two rows of pipes apart, and which of them may travel together (docs/design.md section 4.3).

/**
 * By what the service tells pipes apart: `unknown`: by network and source id, or by these and the date; `with-date`: by
 * all three.
 */
export const pipeIdentities = ['unknown', 'with-date'] as const;
export type PipeIdentity = (typeof pipeIdentities)[number];

/** The version of a pipe without a date. */
export const undated = '';

const dateTimeParts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * The version that a date names: equal for two texts of one instant, to the last digit of a fraction. A date without an
 * offset equals such dates alone, since nothing tells its zone. `text` is a date-time as the reader accepts it.
 */
export function versionOfDate(text: string): string {
  const match = dateTimeParts.exec(text);
  if (match === null) return text;
  const [, day = '', minute = '', second = '00', fraction = '', offset] = match;
  const local = `${day}T${minute}:${second}`;
  const digits = fraction.replace(/0+$/, '');
  const tail = digits === '' ? '' : `.${digits}`;
  if (offset === undefined) return local + tail;
  const instantMs = Date.parse(`${local}Z`) - offsetMs(offset);
  return `${new Date(instantMs).toISOString().slice(0, -'.000Z'.length)}${tail}Z`;
}

function offsetMs(offset: string): number {
  if (offset === 'Z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''));
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** One version of a pipe. */
export interface PipeKey {
  readonly network: string;
  readonly sourceId: string;
  readonly version: string;
}

/** No id and no version holds a NUL, so texts are unique. */
export function textOfKey({ network, sourceId, version }: PipeKey): string {
  return [network, sourceId, version].join('\u0000');
}

/** Rows with the same key are sent in the order of the file, one request after the other. */
export function orderKey({ key, version }: { readonly key: string; readonly version: string }, identity: PipeIdentity) {
  return identity === 'with-date' ? `${key}\u0000${version}` : key;
}

/** One pipe a line (`wide`), one segment of a pipe a line (`long`), or detected from the file. */
type FileForm = 'auto' | 'wide' | 'long';

/** The form by which a pushed content is known: how its file is read, and by what the service tells pipes apart. */
export type PushForm = FileForm | `${FileForm} with-date`;

/** Pushes of earlier versions have the name of their file's form: so has one of a service of unknown identity. */
export function pushFormOf(form: FileForm, identity: PipeIdentity): PushForm {
  return identity === 'with-date' ? `${form} with-date` : form;
}

// Counts the pipes of a file that have several dates, in bounded memory (G8).

/** Slots of the table at most: 12 bytes each. */
const mostSlots = 2 ** 20;
const fewestSlots = 2 ** 10;
/** Filled slots at which a table is full. */
const mostFilled = 0.6;
const slotWords = 3;

export interface VersionCount {
  /** Pipes with two versions or more. */
  readonly pipesWithSeveralDates: number;
  /** Whether there were more pipes than the table holds (629,145), so that the count is the least that it can be. */
  readonly isLeast: boolean;
}

/**
 * A hash table of the pipes: 64 bits of each key, and 31 of the version that came first. Two of 600,000 pipes have the
 * same bits in one of a hundred million files.
 */
export class PipeVersions {
  #slots = fewestSlots;
  #table = new Uint32Array(fewestSlots * slotWords);
  #known = 0;
  #several = 0;
  #isLeast = false;

  add({ key, version }: { readonly key: string; readonly version: string }): void {
    const low = hashOf(key, 0x811c9dc5, 0x01000193);
    // Bits that are never all 0: those of an empty slot.
    const high = (hashOf(key, 0x2545f491, 0x5bd1e995) | 1) >>> 0;
    const at = this.#find(low, high);
    if (this.#table[at + 1] === high) this.#record(at, versionBits(version));
    else if (this.#known < mostSlots * mostFilled) this.#insert(at, low, high, versionBits(version));
    else this.#isLeast = true;
  }

  get count(): VersionCount {
    return { pipesWithSeveralDates: this.#several, isLeast: this.#isLeast };
  }

  #record(at: number, bits: number): void {
    if (this.#table[at + 2] === 0 || this.#table[at + 2] === bits) return;
    this.#table[at + 2] = 0;
    this.#several += 1;
  }

  #insert(at: number, low: number, high: number, bits: number): void {
    this.#put(at, low, high, bits);
    this.#known += 1;
    if (this.#known >= this.#slots * mostFilled && this.#slots < mostSlots) this.#grow();
  }

  #put(at: number, low: number, high: number, bits: number): void {
    this.#table[at] = low;
    this.#table[at + 1] = high;
    this.#table[at + 2] = bits;
  }

  /** The place of these bits, or the empty one for them. */
  #find(low: number, high: number): number {
    let slot = (low ^ (high >>> 7)) & (this.#slots - 1);
    for (;;) {
      const at = slot * slotWords;
      const found = this.#table[at + 1];
      if (found === 0 || (found === high && this.#table[at] === low)) return at;
      slot = (slot + 1) & (this.#slots - 1);
    }
  }

  #grow(): void {
    const before = this.#table;
    this.#slots *= 2;
    this.#table = new Uint32Array(this.#slots * slotWords);
    for (let at = 0; at < before.length; at += slotWords) {
      const [low = 0, high = 0, bits = 0] = before.subarray(at, at + slotWords);
      if (high !== 0) this.#put(this.#find(low, high), low, high, bits);
    }
  }
}

/** Never 0, which stands for several versions. */
function versionBits(version: string): number {
  return (hashOf(version, 0x9e3779b9, 0x01000193) | 1) >>> 0;
}

function hashOf(text: string, seed: number, factor: number): number {
  let hash = seed;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), factor);
  // Mixes the high bits into the low ones.
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
