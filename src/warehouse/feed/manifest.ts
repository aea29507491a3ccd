/** `manifest.json`, which every reader of a feed begins with (docs/feed.md). */
import { z } from 'zod';
import { PermanentError } from '../../core/base/errors.ts';
import type { FeedFormat, FeedTable } from '../port/feed.ts';
import { feedTableNames } from './tables.ts';

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
