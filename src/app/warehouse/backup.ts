/** A copy of the warehouse, made while workers work, that no worker takes for the original (docs/operating.md). */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { OutageError, UsageError } from '../../core/base/errors.ts';
import { fileOutage, writeReason } from '../../core/base/file-fault.ts';
import type { AuditHead } from '../../core/cleanup/audit-chain.ts';
import { interruptRuns } from '../../runs/finish-run.ts';
import type { CopiedRows, CopyWatch } from '../../warehouse/copy.ts';
import { type CopyEnds, copyWarehouse } from '../../warehouse/two-warehouses.ts';
import { createWarehouse } from '../../warehouse/create-warehouse.ts';
import type { WarehouseHandle } from '../../warehouse/port/warehouse.ts';
import type { App } from '../app.ts';
import { knownSecrets } from '../service/service-settings.ts';
import { versionOfPackage } from '../version.ts';
import { asideOf, moveToNew, moveOver } from './query-file.ts';

export interface Backup {
  /** Absolute path. */
  readonly file: string;
  /** Null for a warehouse of an earlier version, which is copied as it is, with the identity of the original. */
  readonly warehouseId: string | null;
  /** Ids of the runs that are `interrupted` in the copy. */
  readonly interrupted: readonly string[];
  /** The end of the audit in the copy: the original must contain it (`audit verify --kept`). */
  readonly auditHead: AuditHead | null;
}

/**
 * Copies the warehouse to `target`, which appears whole, in one file and on the disk, or not at all. Throws UsageError if
 * a file is there and `force` is false, if it is the warehouse itself by any name, or if it cannot be written;
 * OutageError if its disk is full or fails.
 */
export async function backUp(app: App, target: string, force: boolean): Promise<Backup> {
  const file = path.resolve(target);
  if (app.warehouse.isAt(file)) throw new UsageError(`${file} is the warehouse itself: nothing was copied`);
  if (!force && existsSync(file)) throw taken(file);
  refuseForeignLog(file);
  const aside = asideOf(file);
  try {
    await app.warehouse.copyTo(aside);
    const made = await finished(aside, app);
    if (force) await moveOver(aside, file);
    else if (!(await moveToNew(aside, file))) throw taken(file);
    return { file, ...made };
  } catch (error) {
    throw copyFault(error, file);
  } finally {
    for (const ending of ['', '.wal', '.tmp']) await rm(`${aside}${ending}`, { recursive: true, force: true });
  }
}

const unchanged = { warehouseId: null, interrupted: [], auditHead: null };

/** Sets the copy apart, if its schema is that of this version, and leaves all of it in the one file. */
async function finished(aside: string, app: App): Promise<Omit<Backup, 'file'>> {
  const { memoryLimitMb, threads, lockWaitMs } = app.config.warehouse;
  const copy = createWarehouse(`duckdb:${aside}`, { memoryLimitMb, threads, lockWaitMs, now: Date.now });
  try {
    const { isCurrent } = await copy.describe();
    const made = isCurrent ? await setApart(copy, app) : unchanged;
    await copy.foldLog();
    return made;
  } finally {
    await copy.close();
  }
}

/** Gives the copy an identity of its own, and ends its runs, which go on in the original. */
async function setApart(copy: WarehouseHandle, { jobs }: App): Promise<Omit<Backup, 'file'>> {
  const auditHead = await copy.ledger.deletions.head();
  const interrupted = await interruptRuns({
    ledger: copy.ledger,
    jobs,
    location: copy.location,
    version: versionOfPackage(),
    now: Date.now,
  });
  const warehouseId = await copy.ledger.ownership.renew();
  return { warehouseId, interrupted, auditHead };
}

function taken(file: string): UsageError {
  return new UsageError(`there is a file ${file} already: nothing was copied`, { action: { kind: 'overwrite' } });
}

/** The engine would read it into the copy at its first opening. */
function refuseForeignLog(file: string): void {
  const log = `${file}.wal`;
  if (!existsSync(log)) return;
  throw new UsageError(`${log} is the log of another database, and would be mixed into the copy: nothing was copied`, {
    hint: 'Remove it, or name another file.',
  });
}

/** In the words of the copy: the file that could not be written is one beside it. */
function copyFault(error: unknown, file: string): unknown {
  const text = (reason: string) => `the copy ${file} cannot be written: ${reason}`;
  if (error instanceof OutageError && error.code === 'warehouse-io') return outage(text(error.message), error);
  const reason = writeReason(error);
  if (reason === undefined) return error;
  if (fileOutage(error, file) !== undefined) return outage(text(reason), error);
  return new UsageError(text(reason), { hint: 'Name a place where this user may write.', cause: error });
}

function outage(message: string, cause: unknown): OutageError {
  return new OutageError('disk', 'file-trouble', message, {
    hint: 'Make room on that disk, or name a place on another one. Nothing was copied.',
    cause,
  });
}

export type { CopiedRows, CopyWatch };

/** Copies a warehouse as `copyWarehouse` does, with the settings of the configuration. */
export function copyConfigured(config: Config, ends: CopyEnds, watch: CopyWatch): Promise<readonly CopiedRows[]> {
  const { url: _unused, ...settings } = config.warehouse;
  return copyWarehouse(ends, { ...settings, now: Date.now, secrets: knownSecrets }, watch);
}
