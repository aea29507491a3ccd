/** Which files of an inbox are taken, when, and under which names they end (docs/inbox.md). */

/** What becomes of a file: its pipes are pushed, or the targets in it are planned. Also the name of its folder. */
export const inboxKinds = ['network-pipes', 'cleanup'] as const;
export type InboxKind = (typeof inboxKinds)[number];

/** A name that ends otherwise, or begins with a dot, is of a file that is still being copied, or of none for wellsync. */
export function isTakenName(name: string): boolean {
  return !name.startsWith('.') && /\.csv(?:\.gz)?$/i.test(name);
}

/** `NAME.again.csv`: content that was pushed is pushed again. */
export function isAgainName(name: string): boolean {
  return /\.again\.csv(?:\.gz)?$/i.test(name);
}

export const reportName = 'report.json';

/** The name of the rejected rows beside the file that they are of. */
export function rejectsNameBeside(name: string): string {
  return name.toLowerCase() === 'rejects.csv' ? 'rejected-rows.csv' : 'rejects.csv';
}

/** What a look at a file shows of it: other bytes have another one. */
export interface Sighting {
  readonly inode: string;
  readonly bytes: number;
  readonly changedAtNs: string;
}

export function isSameSighting(one: Sighting, other: Sighting): boolean {
  return one.inode === other.inode && one.bytes === other.bytes && one.changedAtNs === other.changedAtNs;
}

/**
 * Knows which files have stopped changing: those that looked the same at looks of this process for `settleMs`. The clock
 * is the caller's and never goes back, so that no other clock counts, that of a network file system neither.
 */
export class Settling {
  readonly #settleMs: number;
  #seen = new Map<string, { readonly sighting: Sighting; readonly sinceMs: number }>();

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** One look at all files that are there, by a key for each; forgets the others. Returns the keys of those that have settled. */
  poll(files: ReadonlyMap<string, Sighting>, nowMs: number): ReadonlySet<string> {
    const seen = new Map<string, { readonly sighting: Sighting; readonly sinceMs: number }>();
    const settled = new Set<string>();
    for (const [key, sighting] of files) {
      const known = this.#seen.get(key);
      const sinceMs = known !== undefined && isSameSighting(known.sighting, sighting) ? known.sinceMs : nowMs;
      seen.set(key, { sighting, sinceMs });
      if (nowMs - sinceMs >= this.#settleMs) settled.add(key);
    }
    this.#seen = seen;
    return settled;
  }
}
