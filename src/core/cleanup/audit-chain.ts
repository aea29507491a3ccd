/**
 * The hash chain of the deletion audit: its rows, the hashed text, and the check that no row was changed, removed or
 * inserted (docs/design.md section 4.4, G6). Every row holds the hash of the previous one. Pure: the hash function is
 * an argument.
 */
import { counted } from '../base/text.ts';
import type { DeletionOutcome, Verification } from './outcome.ts';
import type { DeletionTarget } from './target.ts';

/**
 * intent     durable before its request is sent
 * outcome    the result of the request
 * withdrawn  the request was never sent, or the service did not process it
 */
export type AuditEvent = 'intent' | 'outcome' | 'withdrawn';

export interface AuditEntry extends DeletionTarget {
  readonly atMs: number;
  readonly event: AuditEvent;
  readonly runId: string;
  readonly planId: string;
  /** Ordinal of the target in the plan, and of the unit in the run. */
  readonly unit: number;
  /** Who applied the plan. */
  readonly requestedBy: string;
  /** Who retried the run last before this row; null in a run that nobody retried. */
  readonly retriedBy: string | null;
  readonly serviceUrl: string;
  readonly outcome: DeletionOutcome | null;
  readonly answer: number | null;
  readonly words: string | null;
  readonly verification: Verification | null;
}

export interface ChainedEntry extends AuditEntry {
  /** From 1, without gaps. */
  readonly seq: number;
  /** Which text was hashed; null, which is 1, in rows from before a retry was named. */
  readonly digestVersion: number | null;
  readonly previousHash: string;
  readonly hash: string;
}

/** The end of the chain. */
export interface AuditHead {
  readonly rows: number;
  readonly hash: string;
}

export type HashOf = (text: string) => string;

/** Head of a chain without rows. */
export const emptyHead: AuditHead = { rows: 0, hash: '0'.repeat(64) };

/** Of new rows. Version 2 has who retried the run. */
const digestVersion = 2;

/**
 * The hashed text: a JSON array, so that no two rows have the same text. The order of its fields is part of the stored
 * format. Undefined for a row that cannot be of its version.
 */
function canonicalText(entry: Omit<ChainedEntry, 'hash'>): string | undefined {
  const { seq, previousHash, atMs, event, runId, planId, unit, requestedBy, serviceUrl } = entry;
  const { kind, ownerId, sourceId, outcome, answer, words, verification, retriedBy } = entry;
  const fields = [previousHash, seq, atMs, event, runId, planId, unit, requestedBy, serviceUrl];
  const content = [kind, ownerId, sourceId, outcome, answer, words, verification];
  if (entry.digestVersion === null) return retriedBy === null ? JSON.stringify([...fields, ...content]) : undefined;
  if (entry.digestVersion !== digestVersion) return undefined;
  return JSON.stringify([digestVersion, ...fields, ...content, retriedBy]);
}

/** Undefined for a row that no version of wellsync has written. */
function hashOfRow(entry: Omit<ChainedEntry, 'hash'>, hashOf: HashOf): string | undefined {
  const text = canonicalText(entry);
  return text === undefined ? undefined : hashOf(text);
}

/** Links entries to the chain that ends at `head`. */
export function chain(head: AuditHead, entries: readonly AuditEntry[], hashOf: HashOf): readonly ChainedEntry[] {
  let { rows, hash } = head;
  return entries.map((entry) => {
    rows += 1;
    const linked = { ...entry, words: withoutHalves(entry.words), seq: rows, digestVersion, previousHash: hash };
    hash = hashOfRow(linked, hashOf) ?? hash;
    return { ...linked, hash };
  });
}

/** Replaces lone surrogates: a database does not return them unchanged. */
function withoutHalves(words: string | null): string | null {
  return words?.toWellFormed() ?? null;
}

const noKeptHash = 'or a later one is another than it was: no row has the hash that was kept';

export interface BrokenRow {
  readonly seq: number;
  readonly reason: string;
}

/** Checks a chain from its first row. `keptHash`: a hash that the chain had earlier and must still contain. */
export class ChainCheck {
  readonly #hashOf: HashOf;
  readonly #keptHash: string | undefined;
  readonly #retries = new Map<string, number>();
  #head = emptyHead;
  #hasKept = false;

  constructor(hashOf: HashOf, keptHash?: string) {
    this.#hashOf = hashOf;
    this.#keptHash = keptHash;
  }

  get head(): AuditHead {
    return this.#head;
  }

  /** The number of rows that a retry wrote, by who retried. */
  get retries(): ReadonlyMap<string, number> {
    return this.#retries;
  }

  /** Checks the next row, in the order of seq. Returns the first broken row; rows after it are not checked. */
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
    if (row.hash !== hashOfRow(row, this.#hashOf)) {
      return { seq: row.seq, reason: 'was changed after it was written' };
    }
    const { retriedBy } = row;
    if (retriedBy !== null) this.#retries.set(retriedBy, (this.#retries.get(retriedBy) ?? 0) + 1);
    this.#head = { rows: row.seq, hash: row.hash };
    this.#hasKept ||= row.hash === this.#keptHash;
    return undefined;
  }

  /** Checks that the chain ends where its separately stored head says. */
  end(stored: AuditHead): BrokenRow | undefined {
    const { rows, hash } = this.#head;
    if (stored.rows > rows)
      return { seq: rows + 1, reason: `is missing: the audit has ${counted(stored.rows, 'row')} by its head` };
    if (stored.rows < rows)
      return { seq: stored.rows + 1, reason: `was added: the audit has ${counted(stored.rows, 'row')} by its head` };
    if (stored.hash !== hash) return { seq: Math.max(1, rows), reason: 'is not the last row that was written' };
    return this.#keptHash === undefined || this.#hasKept ? undefined : { seq: 1, reason: noKeptHash };
  }
}
