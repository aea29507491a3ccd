/** A feed as a pipeline reads it (docs/feed.md), by another library than the one that wrote it; and its publisher. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { defaultContract } from '../../src/core/contract/tables.ts';
import { FolderStore } from '../../src/files/folder-store.ts';
import { readFeedFile } from '../../src/warehouse/duckdb/feed-copy.ts';
import {
  type FeedManifest,
  type FeedStore,
  feedTableNames,
  type ManifestFile,
  type Published,
  type PublisherParts,
} from '../../src/warehouse/feed/manifest.ts';
import { publishFeed } from '../../src/warehouse/feed/publish.ts';
import { type VerifiedFeed, verifyFeed } from '../../src/warehouse/feed/verify.ts';
import type { FeedTable } from '../../src/warehouse/port/feed.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';

/** Instants and days as text, as the warehouse answers them. */
export type FeedRow = Readonly<Record<string, unknown>>;

export interface ReadFeed {
  readonly manifest: FeedManifest;
  /** By table, in the order of the manifest and of the files. */
  readonly rows: Readonly<Record<FeedTable, readonly FeedRow[]>>;
}

/** The bytes of a file of a feed, by its name. */
export type ReadBytes = (name: string) => Promise<Buffer>;

export function inFolder(folder: string): ReadBytes {
  return (name) => readFile(path.join(folder, name));
}

/** The whole feed. Throws for a file that is not the one that the manifest names. */
export async function readFeed(read: ReadBytes): Promise<ReadFeed> {
  const manifest = await readManifestOf(read);
  const rows = Object.fromEntries(feedTableNames.map((table): [string, FeedRow[]] => [table, []])) as Record<
    FeedTable,
    FeedRow[]
  >;
  for (const file of manifest.files) for (const row of await readFeedRows(read, file)) rows[file.table].push(row);
  return { manifest, rows };
}

async function readManifestOf(read: ReadBytes): Promise<FeedManifest> {
  return JSON.parse(String(await read('manifest.json'))) as FeedManifest;
}

/** Throws where bytes, digest or number of rows are others than the manifest says. */
export async function readFeedRows(read: ReadBytes, file: ManifestFile): Promise<readonly FeedRow[]> {
  const bytes = await read(file.path);
  const found = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  if (found.bytes !== file.bytes || found.sha256 !== file.sha256) throw new Error(`${file.path} is another file`);
  const rows = file.path.endsWith('.csv') ? csvRowsOf(bytes) : await parquetRowsOf(bytes);
  if (rows.length !== file.rows) throw new Error(`${file.path} has ${rows.length} rows`);
  return rows;
}

async function parquetRowsOf(bytes: Buffer): Promise<readonly FeedRow[]> {
  // A view of a pool would give the reader the bytes of others.
  const file = new Uint8Array(bytes).buffer;
  const rows = (await parquetReadObjects({ file, compressors })) as FeedRow[];
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(name, value)])));
}

function csvRowsOf(bytes: Buffer): readonly FeedRow[] {
  return parse(bytes, { columns: true });
}

const dayColumns = ['production_day', 'from_day', 'to_day'];

function shown(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (!(value instanceof Date)) return value;
  return dayColumns.includes(name) ? value.toISOString().slice(0, 10) : value.toISOString();
}

export interface FeedUnderTest extends AsyncDisposable {
  /** Where the feed lies. */
  readonly folder: string;
  /** Options override; `hours` moves the clock of the publisher. */
  publish(options?: PublishOptions): Promise<Published>;
  verify(options?: PublishOptions): Promise<VerifiedFeed>;
  read(): Promise<ReadFeed>;
  manifest(): Promise<FeedManifest>;
}

export interface PublishOptions {
  readonly warehouse?: WarehouseHandle;
  readonly all?: boolean;
  readonly hours?: number;
  readonly settings?: Partial<PublisherParts['settings']>;
  /** Of another warehouse: the files of tests are copies of one, and have its id. */
  readonly warehouseId?: string;
  readonly place?: FeedStore;
  readonly signal?: AbortSignal;
}

/** A feed of the warehouse in a folder of its own. */
export async function openFeed(warehouse: WarehouseHandle): Promise<FeedUnderTest> {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-feed-'));
  const folder = await mkdtemp(path.join(root, 'place-'));
  const partsOf = async ({ hours = 0, ...options }: PublishOptions): Promise<PublisherParts> => {
    const from = options.warehouse ?? warehouse;
    const { warehouseId } = { ...(await from.ledger.ownership.read()), ...options };
    return {
      store: options.place ?? new FolderStore(folder, 'feed'),
      ledger: from.ledger.feed,
      tables: from.feedTables,
      readFile: readFeedFile,
      owner: { warehouse: warehouseId, service: 'service.example' },
      settings: {
        format: 'parquet',
        contract: defaultContract,
        maxMonths: 24,
        keepHours: 48,
        folder: path.join(root, 'spool'),
        filePrefix: '',
        leaseMs: 30_000,
        waitMs: 60_000,
        ...options.settings,
      },
      now: () => Date.now() + hours * 3_600_000,
    };
  };
  return {
    folder,
    publish: async (options = {}) => {
      const { all = false, signal = new AbortController().signal } = options;
      return publishFeed(await partsOf(options), { all, signal });
    },
    verify: async (options = {}) => {
      const parts = await partsOf(options);
      return verifyFeed({ ...parts, ...parts.settings }, { signal: new AbortController().signal });
    },
    read: () => readFeed(inFolder(folder)),
    manifest: () => readManifestOf(inFolder(folder)),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}
