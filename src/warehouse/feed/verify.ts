/** Looks at every file that a manifest names, and at what the warehouse has: what a reader would find. */
import { AbortedError, TransientError, UsageError } from '../../core/base/errors.ts';
import type { ContractSettings } from '../../core/contract/tables.ts';
import {
  datapackageBytes,
  datapackageName,
  type FeedManifest,
  type ManifestFile,
  type PublisherParts,
  readManifest,
} from './manifest.ts';

type VerifierParts = Pick<PublisherParts, 'store' | 'ledger' | 'readFile' | 'owner'> & {
  readonly contract: ContractSettings;
  /** Folder of this host for copies of files. */
  readonly folder: string;
};

export interface FeedFault {
  /** A file of the store, or a month. */
  readonly what: string;
  readonly fault: string;
}

export interface VerifiedFeed {
  readonly address: string;
  /** Undefined where nothing was published yet. */
  readonly manifest: FeedManifest | undefined;
  readonly faults: readonly FeedFault[];
}

export interface VerifyHow {
  readonly signal: AbortSignal;
  /** Called after each file. */
  readonly onFile?: (files: number, of: number) => void;
}

/** Throws as the store and the warehouse do, and PermanentError for a manifest that cannot be read. */
export async function verifyFeed(parts: VerifierParts, how: VerifyHow): Promise<VerifiedFeed> {
  const { store } = parts;
  const manifest = (await readManifest(store))?.manifest;
  if (manifest === undefined) return { address: store.address, manifest, faults: [] };
  const faults: FeedFault[] = [];
  for (const [index, file] of manifest.files.entries()) {
    if (how.signal.aborted) throw new AbortedError();
    const fault = await faultOf(parts, file);
    if (fault !== undefined) faults.push({ what: file.path, fault });
    how.onFile?.(index + 1, manifest.files.length);
  }
  const { warehouse } = manifest;
  if (warehouse !== parts.owner.warehouse) {
    faults.push({ what: 'manifest.json', fault: `it is of another warehouse, ${warehouse}` });
  }
  faults.push(...(await descriptionFaults(parts, manifest)), ...(await rowFaults(parts, manifest)));
  return { address: store.address, manifest, faults };
}

async function faultOf({ store, readFile, folder }: VerifierParts, file: ManifestFile): Promise<string | undefined> {
  try {
    await using local = await store.fetch(file.path, file, folder);
    if (local === undefined) return 'it is missing';
    const format = file.path.endsWith('.csv') ? 'csv' : 'parquet';
    const { rows, checksum } = await readFile(file.table, { path: local.path, format });
    if (rows !== file.rows) return `it has ${rows} rows, and the manifest says ${file.rows}`;
    return checksum === file.checksum ? undefined : 'its rows are not those that were published';
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    if (error instanceof TransientError && error.code === 'file-damaged')
      return error.message.replace(/^.* is not the file that was put there: /, '');
    throw error;
  }
}

async function descriptionFaults(
  { store, contract }: VerifierParts,
  manifest: FeedManifest,
): Promise<readonly FeedFault[]> {
  const described = datapackageBytes(manifest, contract);
  const found = await store.read(datapackageName, described.length + 1_024).catch(damagedIsOther);
  if (found?.equals(described) === true) return [];
  return [{ what: datapackageName, fault: found === undefined ? 'it is missing' : 'it is of another version' }];
}

function damagedIsOther(error: unknown): Buffer {
  if (error instanceof TransientError && error.code === 'file-damaged') return Buffer.alloc(0);
  throw error;
}

/** A month has the rows that the warehouse has, unless it is due (G2). */
async function rowFaults(
  { ledger, store, owner }: VerifierParts,
  manifest: FeedManifest,
): Promise<readonly FeedFault[]> {
  if (manifest.warehouse !== owner.warehouse) return [];
  const rows = await ledger.rowsByMonth();
  // After the rows: a commit in between makes its months due.
  const due = new Set((await ledger.due(allMonths)).months.map(({ month }) => month));
  // A publication meanwhile would have made months right that were due.
  if ((await readManifest(store))?.manifest.version !== manifest.version) return [];
  const published = new Map(
    manifest.files.flatMap((file) => (file.month === undefined ? [] : [[file.month, file.rows] as const])),
  );
  const months = [...new Set([...rows.keys(), ...published.keys()])].toSorted();
  return months.flatMap((month) => {
    const [here, there] = [rows.get(month) ?? 0, published.get(month) ?? 0];
    if (here === there || due.has(month)) return [];
    return [{ what: month, fault: `the warehouse has ${here} rows of this month, and the feed ${there}` }];
  });
}

/** Of any calendar. */
const allMonths = 1_000_000;
