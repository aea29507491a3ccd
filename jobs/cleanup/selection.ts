/**
 * Saved selections: targets in the configuration, which one run plans and applies within caps of their own
 * (docs/design.md section 4.4).
 */
import path from 'node:path';
import { UsageError } from '../../src/core/base/errors.ts';
import { listed, nearestName } from '../../src/core/base/text.ts';
import type { CleanupCaps } from '../../src/core/cleanup/plan.ts';
import type { DeletionTarget } from '../../src/core/cleanup/target.ts';
import type { Warehouse } from '../../src/warehouse/port/warehouse.ts';

/** A selection in the configuration: with a file or a query. */
export interface SavedSelection extends CleanupCaps {
  readonly file?: string | undefined;
  readonly query?: string | undefined;
  /** Deletes the targets of producing wells too. */
  readonly includeProducing: boolean;
}

/** Readers of lists of targets. Both throw UsageError with every fault of the list. */
export interface TargetLists {
  /** The targets of a CSV file, and the SHA-256 of its bytes in hexadecimal. */
  readFile(file: string): Promise<{ readonly targets: readonly DeletionTarget[]; readonly sha256: string }>;
  /** The targets that one SELECT on the warehouse returns. */
  readQuery(sql: string, warehouse: Warehouse): Promise<readonly DeletionTarget[]>;
}

export interface Selections {
  readonly saved: Readonly<Record<string, SavedSelection>>;
  /** Folder of the configuration file: paths of selections are relative to it. */
  readonly folder: string;
  readonly lists: TargetLists;
}

export interface ResolvedSelection {
  readonly targets: readonly DeletionTarget[];
  readonly caps: CleanupCaps;
  readonly includesProducing: boolean;
  /** Hash of the file with the targets; null for a query. */
  readonly sha256: string | null;
}

/** The targets of a selection, with its caps. Throws UsageError for an unknown name, and for a list with faults. */
export async function resolveSelection(
  name: string,
  { saved, folder, lists }: Selections,
  warehouse: Warehouse,
): Promise<ResolvedSelection> {
  const selection = saved[name];
  if (selection === undefined) throw unknownSelection(name, Object.keys(saved));
  const { file, query = '', maxTargets, maxShareOfWellsPercent, includeProducing: includesProducing } = selection;
  const limits = { caps: { maxTargets, maxShareOfWellsPercent }, includesProducing };
  if (file === undefined) return { targets: await lists.readQuery(query, warehouse), sha256: null, ...limits };
  // A resolved path is never `-`, which stands for standard input elsewhere.
  return { ...(await lists.readFile(path.resolve(folder, file))), ...limits };
}

/**
 * Throws UsageError if the file of a selection has changed since the run was requested: hosts may hold different files
 * under one relative path.
 */
export function refuseOtherFile(name: string, { sha256 }: ResolvedSelection, expectedSha256: string | null): void {
  if (expectedSha256 === null || sha256 === expectedSha256) return;
  throw new UsageError(
    `the file of the selection ${name} differs from the one that the run was requested with: nothing was planned and nothing was deleted`,
    {
      issues: [`requested with SHA-256 ${expectedSha256}, and this worker reads ${sha256 ?? 'a query'}`],
      hint: 'Give every host the same file, then run the selection again.',
    },
  );
}

function unknownSelection(name: string, known: readonly string[]): UsageError {
  const nearest = nearestName(name, known);
  const all = known.length === 0 ? 'It saves none.' : `It saves ${listed(known)}.`;
  return new UsageError(`the configuration saves no selection ${name} (cleanup.selections)`, {
    hint: nearest === undefined ? all : `Do you mean ${nearest}? ${all}`,
  });
}
