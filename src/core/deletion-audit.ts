/**
 * Owns the chain of the deletion audit: what a row says, the text that its hash is made of, and the check that no row was
 * changed, left out or put in (DESIGN.md section 4.4, G6). Every row holds the hash of the one before it. Pure: the hash
 * function comes in.
 */
import type { DeletionOutcome, Verification } from './deletion-outcome.ts';
import type { DeletionTarget } from './deletion-target.ts';

/**
 * intent     durable before its request goes out
 * outcome    what became of it
 * withdrawn  the intent came to nothing: its request was never sent, or the service did not take it up
 */
export type AuditEvent = 'intent' | 'outcome' | 'withdrawn';

export interface AuditEntry extends DeletionTarget {
  readonly atMs: number;
  readonly event: AuditEvent;
  readonly runId: string;
  readonly planId: string;
  /** The target's place in the plan, and the unit of the run. */
  readonly unit: number;
  /** Who had the plan applied. */
  readonly requestedBy: string;
  readonly serviceUrl: string;
  readonly outcome: DeletionOutcome | null;
  readonly answer: number | null;
  readonly words: string | null;
  readonly verification: Verification | null;
}

export interface ChainedEntry extends AuditEntry {
  /** From 1, without gaps. */
  readonly seq: number;
  readonly previousHash: string;
  readonly hash: string;
}

/** Where the chain ends. */
export interface AuditHead {
  readonly rows: number;
  readonly hash: string;
}

export type HashOf = (text: string) => string;

/** Of a chain without a row. */
export const emptyHead: AuditHead = { rows: 0, hash: '0'.repeat(64) };

/** The text that is hashed: a JSON array, so that no two rows have the same one. Its order is part of the stored format. */
function canonicalText(entry: Omit<ChainedEntry, 'hash'>): string {
  const { seq, previousHash, atMs, event, runId, planId, unit, requestedBy, serviceUrl } = entry;
  const { kind, ownerId, sourceId, outcome, answer, words, verification } = entry;
  const place = [previousHash, seq, atMs, event, runId, planId, unit, requestedBy, serviceUrl];
  const content = [kind, ownerId, sourceId, outcome, answer, words, verification];
  return JSON.stringify([...place, ...content]);
}

/** Links entries to the chain that ends with `head`. */
export function chain(head: AuditHead, entries: readonly AuditEntry[], hashOf: HashOf): readonly ChainedEntry[] {
  let { rows, hash } = head;
  return entries.map((entry) => {
    rows += 1;
    const linked = { ...withoutHalves(entry), seq: rows, previousHash: hash };
    hash = hashOf(canonicalText(linked));
    return { ...linked, hash };
  });
}

/** Halves of surrogate pairs do not come back from a database as they went in. */
function withoutHalves(entry: AuditEntry): AuditEntry {
  return { ...entry, words: entry.words?.replaceAll(/\p{Surrogate}/gu, '\uFFFD') ?? null };
}

const noKeptHash = 'or a later one is another than it was: no row has the hash that was kept';

export interface BrokenRow {
  readonly seq: number;
  readonly reason: string;
}

/** Follows a chain from its first row on; `keptHash` is one that it had earlier, and must have still. */
export class ChainCheck {
  readonly #hashOf: HashOf;
  readonly #keptHash: string | undefined;
  #head = emptyHead;
  #hasKept = false;

  constructor(hashOf: HashOf, keptHash?: string) {
    this.#hashOf = hashOf;
    this.#keptHash = keptHash;
  }

  get head(): AuditHead {
    return this.#head;
  }

  /** Takes the next row, by seq. The first that is broken is told, and nothing after it is worth a look. */
  take(row: ChainedEntry): BrokenRow | undefined {
    const expected = this.#head.rows + 1;
    if (row.seq < 1) return { seq: 1, reason: `was added: it has the number ${row.seq}` };
    if (row.seq !== expected) {
      const reason = row.seq > expected ? `is missing: the next one is row ${row.seq}` : 'is there more than once';
      return { seq: Math.min(row.seq, expected), reason };
    }
    if (row.previousHash !== this.#head.hash) {
      return { seq: row.seq, reason: 'does not follow the row before it: one of the two was replaced' };
    }
    if (row.hash !== this.#hashOf(canonicalText(row)))
      return { seq: row.seq, reason: 'was changed after it was written' };
    this.#head = { rows: row.seq, hash: row.hash };
    this.#hasKept ||= row.hash === this.#keptHash;
    return undefined;
  }

  /** Whether the chain ends where its head, which is kept apart from it, says. */
  end(stored: AuditHead): BrokenRow | undefined {
    const { rows, hash } = this.#head;
    if (stored.rows > rows)
      return { seq: rows + 1, reason: `is missing: the audit has ${stored.rows} rows by its head` };
    if (stored.rows < rows)
      return { seq: stored.rows + 1, reason: `was added: the audit has ${stored.rows} rows by its head` };
    if (stored.hash !== hash) return { seq: Math.max(1, rows), reason: 'is not the last row that was written' };
    return this.#keptHash === undefined || this.#hasKept ? undefined : { seq: 1, reason: noKeptHash };
  }
}
