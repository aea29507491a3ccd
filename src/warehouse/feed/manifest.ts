/**
 * What tells a reader of a feed what it has: `manifest.json`, with which every reader begins (docs/feed.md), and
 * `datapackage.json`.
 */
import { z } from 'zod';
import { PermanentError } from '../../core/base/errors.ts';
import {
  type ColumnKind,
  type ContractColumn,
  type ContractSettings,
  type ContractTable,
  contractTables,
  defaultContract,
} from '../../core/contract/tables.ts';
import { type Units, unknownUnit } from '../../core/daily/units.ts';
import type { FeedFormat, FeedLedger, FeedTable, FeedTables, ReadFeedFile } from '../port/feed.ts';
import { columnOf } from '../../core/base/text.ts';
import { type KnownList, recordLists } from '../../core/definitions/record-list.ts';

// The tables of a feed: columns, order, and what says which run wrote a row. The one place that both engines, the schema in
// datapackage.json and the checksums go by; columns and keys are those of the contract (core/contract/tables.ts).

/** An xid and JSON are text, which every reader has. */
export type FeedKind = ColumnKind;

export interface FeedColumn {
  readonly name: string;
  readonly kind: FeedKind;
}

export interface FeedTableShape {
  readonly columns: readonly FeedColumn[];
  /** By which the rows of a file are sorted; no two rows have the same values in them. */
  readonly order: readonly string[];
  /** Columns of the run that wrote a row, and of the time. */
  readonly written?: { readonly run: string; readonly at: string };
  /** Columns that say when a row was stored: they are no part of what the service said, and of the checksum. */
  readonly unsummed: readonly string[];
}

const numberOfRestatement = 'restatement_no';

/** The tables of the feed as a contract describes them. The number of a restatement leads its table, and is its key. */
function feedContract(tables: readonly ContractTable[]): ReadonlyMap<FeedTable, ContractTable> {
  return new Map(
    tables.flatMap((table) => {
      const name = table.feedName as FeedTable | undefined;
      if (name === undefined) return [];
      const published = { ...table, columns: table.columns.filter(({ isOfWarehouse = false }) => !isOfWarehouse) };
      return [[name, name === 'restatements' ? numbered(published) : published] as const];
    }),
  );
}

function numbered(table: ContractTable): ContractTable {
  const isNumber = ({ name }: FeedColumn): boolean => name === numberOfRestatement;
  const number = table.columns.filter(isNumber).map((column) => ({ ...column, isRequired: true }));
  const others = table.columns.filter((column) => !isNumber(column));
  return { ...table, key: [numberOfRestatement], columns: [...number, ...others] };
}

/** The units of the columns of a table, as far as they are known; `unknown` where nobody has said one. */
export function feedUnits(table: FeedTable, contract: ContractSettings): Units {
  const columns = feedContract(contractTables(contract)).get(table)?.columns ?? [];
  return Object.fromEntries(columns.flatMap(({ name, unit }) => (unit === undefined ? [] : [[name, unit] as const])));
}

const described = feedContract(contractTables(defaultContract));

function columnsOf(table: FeedTable): readonly FeedColumn[] {
  return (described.get(table)?.columns ?? []).map(({ name, kind }) => ({ name, kind }));
}

const writing = ['inserted_run_id', 'changed_run_id', 'changed_at'];

/** A table whose rows say which run wrote them. */
function writtenTable(table: FeedTable, ...order: readonly string[]): FeedTableShape {
  const written = { run: 'changed_run_id', at: 'changed_at' };
  return { columns: columnsOf(table), order, written, unsummed: writing };
}

function recordShape({ table, targets, alias, key }: KnownList): FeedTableShape {
  return writtenTable(table, targets.column, columnOf(alias), columnOf(key));
}

export const feedTables: Readonly<Record<FeedTable, FeedTableShape>> = {
  daily_production: writtenTable('daily_production', 'uwi', 'production_day', 'date', 'xid'),
  well: writtenTable('well', 'source_id'),
  ...(Object.fromEntries(recordLists.map((list) => [list.table, recordShape(list)])) as Readonly<
    Record<KnownList['table'], FeedTableShape>
  >),
  // Half-open intervals of days that verified reads accounted for (docs/decisions/0005-coverage-is-kept-by-well-not-by-day.md).
  coverage: { columns: columnsOf('coverage'), order: ['uwi', 'from_day'], unsummed: [] },
  restatements: {
    columns: columnsOf('restatements'),
    order: [numberOfRestatement],
    written: { run: 'run_id', at: 'noticed_at' },
    unsummed: ['run_id', 'noticed_at', 'known_from', 'known_run_id'],
  },
};

export const feedTableNames = Object.keys(feedTables) as readonly FeedTable[];

/** Published whole, where something of them changed. */
export const wholeTables = ['well', ...recordLists.map(({ table }) => table), 'coverage'] as const;

export const manifestName = 'manifest.json';

/** Some 60,000 files. */
const mostBytes = 32 * 1024 * 1024;

const count = z.int().nonnegative();
const month = z.string().regex(/^\d{4}-\d{2}$/);
const sha256 = z.string().regex(/^[\da-f]{64}$/);
/** No `..`, and nothing absolute: a reader, and whoever removes old files, stays within the store. */
const fileName = z.string().regex(/^[a-z_]+\/(?:production_month=\d{4}-\d{2}\/)?part-[\w-]+\.(?:parquet|csv)$/);

const fileSchema = z.object({
  path: fileName,
  table: z.enum(feedTableNames),
  /** Of daily production. */
  month: month.optional(),
  /** Of restatements: the numbers of the first and the last row. */
  first: count.optional(),
  last: count.optional(),
  rows: count,
  bytes: count,
  sha256,
  checksum: z.string().regex(/^[\da-f]{32}$/),
  run: z.string().nullable(),
  /** Of a table that is published as a whole: differs where its rows do. */
  stamp: z.string().optional(),
});

const manifestSchema = z.object({
  feed: z.literal(1),
  feedId: z.string(),
  version: count,
  publishedAt: z.iso.datetime(),
  warehouse: z.string(),
  service: z.string().nullable(),
  format: z.enum(['parquet', 'csv']),
  /** Months that were touched, and are still to be published. */
  monthsDue: count,
  /** The highest number of a restatement in the feed; 0 for none. */
  lastRestatement: count,
  files: z.array(fileSchema),
  /** Files that an earlier version named last. */
  retired: z.array(z.object({ path: fileName, since: z.iso.datetime() })),
});

export type FeedManifest = z.output<typeof manifestSchema>;
export type ManifestFile = FeedManifest['files'][number];

export interface StoredManifest {
  readonly manifest: FeedManifest;
  readonly bytes: Buffer;
}

/** Undefined for a store without a feed. Throws PermanentError (`feed-manifest`) for what is no manifest. */
export async function readManifest(store: FeedStore): Promise<StoredManifest | undefined> {
  const bytes = await store.read(manifestName, mostBytes);
  if (bytes === undefined) return undefined;
  const parsed = manifestSchema.safeParse(jsonIn(bytes));
  if (parsed.success) return { manifest: parsed.data, bytes };
  throw new PermanentError('feed-manifest', `${store.address}/${manifestName} is no manifest of a feed`, {
    hint: 'If it was damaged, move it away: the next publication writes the feed again. If it is of a later wellsync, use that one.',
    cause: parsed.error,
  });
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** The bytes of a manifest, a line for each file, so that two versions can be compared by eye. */
export function manifestBytes(manifest: FeedManifest): Buffer {
  const { files, retired, ...head } = manifest;
  const lines = (items: readonly object[]): string => items.map((item) => `\n    ${JSON.stringify(item)}`).join(',');
  const text = JSON.stringify({ ...head, files: 0, retired: 0 }, undefined, 2);
  return Buffer.from(
    `${text.replace('"files": 0', () => `"files": [${lines(files)}]`).replace('"retired": 0', () => `"retired": [${lines(retired)}]`)}\n`,
  );
}

/** No name is used twice: a month that one run touches twice has two files. */
export function fileNameOf(
  file: { readonly table: FeedTable; readonly month?: string | undefined; readonly run: string | null },
  unique: string,
  format: FeedFormat,
): string {
  const folder = file.month === undefined ? file.table : `${file.table}/production_month=${file.month}`;
  const run = file.run === null ? '' : `${file.run.replaceAll(/[^\w-]/g, '-')}-`;
  return `${folder}/part-${run}${unique}.${format}`;
}

/** By table, then by month or number: the order of a manifest. */
export function inOrder(files: readonly ManifestFile[]): readonly ManifestFile[] {
  const keyOf = (file: ManifestFile): string =>
    `${file.table} ${file.month ?? ''} ${String(file.first ?? 0).padStart(16, '0')}`;
  return files.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}

/** The folder or the bucket of a feed. Names are paths with `/`. src/files has stores of this kind, and says how they fail. */
export interface FeedStore {
  /** Without secrets. */
  readonly address: string;
  read(name: string, mostBytes: number): Promise<Buffer | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes in the place of the bytes `before`, or of no file. Returns false, and leaves it, if the file holds other bytes. A
   * folder, and a store without conditional writes, may let two that write at the same time both pass.
   */
  replace(name: string, bytes: Uint8Array, before: Uint8Array | undefined): Promise<boolean>;
  /** Throws if the store has kept another size. */
  upload(name: string, path: string, content: StoredContent): Promise<void>;
  /** The file, readable by path once its size and digest were compared; undefined if there is none. */
  fetch(
    name: string,
    content: StoredContent,
    folder: string,
  ): Promise<({ readonly path: string } & AsyncDisposable) | undefined>;
  list(prefix: string): AsyncIterable<{ readonly name: string; readonly changedAtMs: number }>;
  remove(name: string): Promise<void>;
}

export interface StoredContent {
  readonly bytes: number;
  readonly sha256: string;
}

// What a publication stands on, what it is told, and what it tells.

export interface PublisherParts {
  readonly store: FeedStore;
  readonly ledger: FeedLedger;
  readonly tables: FeedTables;
  readonly readFile: ReadFeedFile;
  /** The id of the warehouse, and the service that it belongs to. */
  readonly owner: { readonly warehouse: string; readonly service: string | null };
  readonly settings: PublisherSettings;
  readonly now: () => number;
}

export interface PublisherSettings {
  readonly format: FeedFormat;
  /** For datapackage.json, and the units in files. */
  readonly contract: ContractSettings;
  /** Of one pass: each pass ends with a version that readers see. */
  readonly maxMonths: number;
  readonly keepHours: number;
  /** Folder of this host for files on their way, and the beginning of their names there. */
  readonly folder: string;
  readonly filePrefix: string;
  readonly leaseMs: number;
  /** How long to wait while another process publishes. */
  readonly waitMs: number;
}

export interface Published {
  /** The version of the manifest, and whether this call made it. */
  readonly version: number;
  readonly isNew: boolean;
  readonly months: number;
  /** Files that were written, and their rows. */
  readonly files: number;
  readonly rows: number;
  readonly restatements: number;
  /** Old files that were removed. */
  readonly removed: number;
  /** Months that commits have touched meanwhile. */
  readonly monthsDue: number;
}

export interface Pass {
  readonly holder: string;
  /** What is in place. */
  readonly stored: StoredManifest | undefined;
  /** The highest version that was ever published. */
  readonly highest: number;
  /** Whether every month is written again, whatever the file of it that is named. */
  readonly allMonths: boolean;
  /** The same of the tables, and of restatements whose file was lost. */
  readonly allTables: boolean;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

// `datapackage.json`: the tables of a feed with their columns, units and keys, as Frictionless Data Package v2 describes them
// (https://datapackage.org). The standard has no property for a unit of its own; it allows others, and `unit` is read as one.

export const datapackageName = 'datapackage.json';

const types: Readonly<Record<ColumnKind, string>> = {
  string: 'string',
  double: 'number',
  int32: 'integer',
  int64: 'integer',
  boolean: 'boolean',
  instant: 'datetime',
  day: 'date',
};

/** Of the files that this version names. Tables without a file are left out: a resource needs a path. */
export function datapackageBytes(manifest: FeedManifest, contract: ContractSettings): Buffer {
  const tables = feedContract(contractTables(contract));
  const names = [...new Set(manifest.files.map(({ table }) => table))];
  const resources = names.map((table) => {
    const files = manifest.files.filter((file) => file.table === table);
    const { columns = [], key = [], description = '' } = tables.get(table) ?? {};
    return {
      name: table.replaceAll('_', '-'),
      title: table,
      description,
      path: files.map(({ path }) => path),
      format: manifest.format,
      mediatype: manifest.format === 'csv' ? 'text/csv' : 'application/vnd.apache.parquet',
      encoding: 'utf-8',
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      schema: { fields: columns.map(fieldOf), primaryKey: key, missingValues: [''] },
    };
  });
  const datapackage = {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'wellsync-feed',
    id: manifest.feedId,
    version: String(manifest.version),
    created: manifest.publishedAt,
    resources,
  };
  return Buffer.from(`${JSON.stringify(datapackage, undefined, 2)}\n`);
}

/** A unit that nobody knows is left out. */
function fieldOf({ name, kind, format, description, unit, isRequired }: ContractColumn): object {
  return {
    name,
    type: types[kind],
    ...(format === 'uuid' ? { format } : {}),
    description,
    ...(unit === undefined || unit === unknownUnit ? {} : { unit }),
    ...(isRequired ? { constraints: { required: true } } : {}),
  };
}
