/**
 * Decides what a complete answer about a target may do to what the warehouse has of it: the time series definitions of a
 * piece of equipment, or a well (DESIGN.md section 4.2). The rules are those of daily production, over few records.
 */
import type { Fault } from './errors.ts';
import { isHeld, type ShrinkGuard } from './merge.ts';
import type { UnitOutcome } from './run.ts';

/** A record as it is compared. */
export interface Definition {
  /** What identifies it within its target. */
  readonly key: string;
  /** What the operator knows it by: a record that comes under a new key with the alias of one that left is the same. */
  readonly alias: string;
  /** Equal where two versions say the same, the alias included. */
  readonly content: string;
}

/** One record: new, changed (under its own or a new key), or no longer there. */
export type DefinitionChange<T extends Definition> =
  | { readonly kind: 'inserted'; readonly next: T }
  | { readonly kind: 'updated' | 'replaced'; readonly old: T; readonly next: T }
  | { readonly kind: 'removed'; readonly old: T };

export interface DefinitionComparison<T extends Definition> {
  readonly changes: readonly DefinitionChange<T>[];
  readonly unchanged: number;
  /** Came more than once in the answer; the last one wins. */
  readonly repeated: number;
}

/** What the answer makes of what is stored, both of one target. Every record read is inserted, updated, unchanged or repeated (G2). */
export function compareDefinitions<T extends Definition>(
  stored: readonly T[],
  read: readonly T[],
): DefinitionComparison<T> {
  const coming = new Map(read.map((record) => [record.key, record]));
  const standing = new Map(stored.map((record) => [record.key, record]));
  const gone = stored.filter(({ key }) => !coming.has(key));
  const changes: DefinitionChange<T>[] = [];
  let unchanged = 0;
  for (const next of coming.values()) {
    const old = standing.get(next.key);
    const renamed = old === undefined ? takeByAlias(gone, next.alias) : undefined;
    if (renamed !== undefined) changes.push({ kind: 'replaced', old: renamed, next });
    else if (old === undefined) changes.push({ kind: 'inserted', next });
    else if (old.content === next.content) unchanged += 1;
    else changes.push({ kind: 'updated', old, next });
  }
  changes.push(...gone.map((old) => ({ kind: 'removed', old }) as const));
  return { changes, unchanged, repeated: read.length - coming.size };
}

function takeByAlias<T extends Definition>(gone: T[], alias: string): T | undefined {
  const place = gone.findIndex((record) => record.alias === alias);
  return place < 0 ? undefined : gone.splice(place, 1)[0];
}

/**
 * The outcome of a target's unit, and the changes that it lets through: a held target loses nothing, what is new and
 * changed is taken (docs/decisions/0003). Lists of definitions are short, so an answer without any record is held
 * whatever the guard's number of rows is.
 */
export function settleDefinitions<T extends Definition>(
  reading: { readonly unit: number; readonly target: string; readonly read: number },
  stored: number,
  { changes, unchanged, repeated }: DefinitionComparison<T>,
  guard: ShrinkGuard,
): { readonly outcome: UnitOutcome; readonly changes: readonly DefinitionChange<T>[] } {
  const tally = (...kinds: readonly DefinitionChange<T>['kind'][]): number =>
    changes.filter(({ kind }) => kinds.includes(kind)).length;
  const leaving = tally('removed');
  const isEmptied = !guard.allow && reading.read === 0 && leaving > 0;
  const held = isEmptied || isHeld({ stored, leaving }, guard);
  const outcome: UnitOutcome = {
    unit: reading.unit,
    state: held ? 'held' : 'done',
    counts: {
      read: reading.read,
      inserted: tally('inserted'),
      updated: tally('updated', 'replaced'),
      unchanged,
      repeated,
      removed: held ? 0 : leaving,
      heldRows: held ? leaving : 0,
    },
    ...(held ? { fault: heldFault(reading.target, leaving, stored) } : {}),
  };
  return { outcome, changes: held ? changes.filter(({ kind }) => kind !== 'removed') : changes };
}

function heldFault(target: string, leaving: number, stored: number): Fault {
  return {
    code: 'shrink-held',
    message: `${target}: the service no longer has ${leaving} of the ${stored} records; none was removed`,
    hint: 'If the service is right, export it again with --allow-shrink.',
  };
}
