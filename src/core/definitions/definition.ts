/**
 * Merge of a complete answer about one target: the time series definitions of a piece of equipment, or a well
 * (docs/design.md section 4.2). The rules are those of daily production, for few records.
 */
import type { Fault } from '../base/errors.ts';
import { exceeds, type ShrinkGuard } from '../daily/shrink-guard.ts';
import { laterStands } from '../daily/read-order.ts';
import { rowsOfTarget, type UnitOutcome } from '../run/run.ts';

/** The parts of a record that the merge compares. */
export interface Definition {
  /** Identity of the record within its target. */
  readonly key: string;
  /** Name that the operator uses. A new key with the alias of a record that left replaces that record. */
  readonly alias: string;
  /** Comparable content, alias included: equal for two versions with the same values. */
  readonly content: string;
}

/** The change of one record: new, changed (under its own or a new key), or removed. */
export type DefinitionChange<T extends Definition> =
  | { readonly kind: 'inserted'; readonly next: T }
  | { readonly kind: 'updated' | 'replaced'; readonly old: T; readonly next: T }
  | { readonly kind: 'removed'; readonly old: T };

interface DefinitionComparison<T extends Definition> {
  readonly changes: readonly DefinitionChange<T>[];
  readonly unchanged: number;
  /** Records that repeat a key of the same answer; the last one wins. */
  readonly repeated: number;
}

/**
 * Compares the answer with the stored records of one target. Every record read is inserted, updated, unchanged or
 * repeated (G2).
 */
export function compareDefinitions<T extends Definition>(
  stored: readonly T[],
  read: readonly T[],
): DefinitionComparison<T> {
  const coming = new Map(read.map((record) => [record.key, record]));
  const current = new Map(stored.map((record) => [record.key, record]));
  const gone = stored.filter(({ key }) => !coming.has(key));
  const changes: DefinitionChange<T>[] = [];
  let unchanged = 0;
  for (const next of coming.values()) {
    const old = current.get(next.key);
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
  const index = gone.findIndex((record) => record.alias === alias);
  return index < 0 ? undefined : gone.splice(index, 1)[0];
}

/** A hold that stands: records that the service no longer has stay until a person releases them. */
export interface HeldDefinitions {
  /** Records that are missing. */
  readonly rows: number;
  /** The records that a person was shown and released, and the run that lets them go. */
  readonly release: { readonly runId: string; readonly rows: number } | undefined;
}

/** What a merge of one target does. */
export interface SettledDefinitions<T extends Definition> {
  readonly outcome: UnitOutcome;
  readonly changes: readonly DefinitionChange<T>[];
  /** The hold after it; undefined if none stands. `isNew`: it begins here. */
  readonly hold: { readonly rows: number; readonly isNew: boolean } | undefined;
}

/**
 * The outcome of a target's unit, and the changes to apply. New and changed records are stored; those that left stay where
 * the guard is exceeded, or where a hold stands, until as many are released or they are back
 * (docs/decisions/0025-a-hold-stands-until-it-is-released.md). Lists of definitions are short, so an answer without any
 * record is held whatever number of rows the guard allows.
 */
export function settleDefinitions<T extends Definition>(
  answer: { readonly unit: number; readonly target: string; readonly read: number },
  stored: number,
  { changes, unchanged, repeated }: DefinitionComparison<T>,
  {
    guard,
    runId,
    hold,
  }: { readonly guard: ShrinkGuard; readonly runId: string; readonly hold?: HeldDefinitions | undefined },
): SettledDefinitions<T> {
  const count = (...kinds: readonly DefinitionChange<T>['kind'][]): number =>
    changes.filter(({ kind }) => kinds.includes(kind)).length;
  const leaving = count('removed');
  const isHeld =
    leaving > 0 &&
    !guard.allow &&
    !isReleased(leaving, hold, runId) &&
    (hold !== undefined || isSuspicious(answer, stored, leaving, guard));
  const outcome: UnitOutcome = {
    unit: answer.unit,
    state: isHeld ? 'held' : 'done',
    counts: {
      read: answer.read,
      inserted: count('inserted'),
      updated: count('updated', 'replaced'),
      unchanged,
      repeated,
      removed: isHeld ? 0 : leaving,
      heldRows: isHeld ? leaving : 0,
      ...rowsOfTarget(stored > 0 || answer.read > 0),
    },
    ...(isHeld ? { fault: heldFault(answer.target, leaving, stored, runId) } : {}),
  };
  return {
    outcome,
    changes: isHeld ? changes.filter(({ kind }) => kind !== 'removed') : changes,
    // What is more than was released is a hold of its own.
    hold: isHeld ? { rows: leaving, isNew: hold === undefined || hold.release?.runId === runId } : undefined,
  };
}

function isReleased(leaving: number, hold: HeldDefinitions | undefined, runId: string): boolean {
  return hold?.release?.runId === runId && leaving <= hold.release.rows;
}

function isSuspicious(
  { read }: { readonly read: number },
  stored: number,
  leaving: number,
  guard: ShrinkGuard,
): boolean {
  return read === 0 || exceeds(stored, leaving, guard);
}

/** The outcome of an answer that a later read stands before: what it has otherwise counts as repeated (G2). */
export function outcomeOfOlder(
  { unit, read }: { readonly unit: number; readonly read: number },
  stored: number,
  { unchanged }: Pick<DefinitionComparison<Definition>, 'unchanged'>,
): UnitOutcome {
  const changed = { inserted: 0, updated: 0, removed: 0, heldRows: 0 };
  return {
    unit,
    state: 'done',
    counts: { read, ...changed, unchanged, repeated: read - unchanged, ...rowsOfTarget(stored > 0) },
    notices: [laterStands],
  };
}

function heldFault(target: string, leaving: number, stored: number, runId: string): Fault {
  return {
    code: 'rows-held',
    message: `${target}: the service no longer has ${leaving} of the ${stored} records; they stay until they are released`,
    action: { kind: 'release-rows', runId },
  };
}
