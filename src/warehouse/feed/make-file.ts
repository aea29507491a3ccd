/** Makes one file of a feed: written here, read back, and copied into the store under a name that is never used again. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { AbortedError } from '../../core/base/errors.ts';
import { onDisk } from '../../core/base/file-fault.ts';
import type { FeedRows } from '../port/feed.ts';
import { fileNameOf, type ManifestFile } from './manifest.ts';
import type { PublisherParts } from './publication.ts';

interface Making {
  readonly signal: AbortSignal;
  /** The file of these rows that the manifest names. */
  readonly known?: ManifestFile | undefined;
  readonly stamp?: string;
  /** Whether a file without rows is one as well. */
  readonly isKeptEmpty?: boolean;
}

/** Returns `known` if it has these very rows already, undefined where there are none. Throws AbortedError on the signal. */
export async function makeFile(
  { store, tables, readFile, settings }: PublisherParts,
  rows: FeedRows,
  { signal, known, stamp, isKeptEmpty = false }: Making,
): Promise<ManifestFile | undefined> {
  if (signal.aborted) throw new AbortedError();
  const { format, folder } = settings;
  const unique = randomBytes(4).toString('hex');
  const file = path.join(folder, `${settings.filePrefix}feed-${process.pid}-${unique}.${format}`);
  await onDisk(folder, () => mkdir(folder, { recursive: true }));
  try {
    await tables.writeFile(rows, { path: file, format });
    // Of another reading than the one that wrote it: a file that does not read back is never named.
    const content = await readFile(rows.table, { path: file, format });
    if (content.rows === 0 && !isKeptEmpty) return undefined;
    const digest = await onDisk(file, () => digestOf(file));
    const range = rows.table === 'restatements' ? { first: rows.after + 1, last: rows.last } : {};
    const about = { table: rows.table, ...(rows.table === 'daily_production' ? { month: rows.month } : {}), ...range };
    const made = { ...about, ...digest, ...content, ...(stamp === undefined ? {} : { stamp }) };
    if (known?.sha256 === digest.sha256) return stamp === known.stamp ? known : { ...known, ...made };
    const name = fileNameOf(made, unique, format);
    await store.upload(name, file, digest);
    return { path: name, ...made };
  } finally {
    await rm(file, { force: true });
  }
}

async function digestOf(file: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const block of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    hash.update(block as Buffer);
    bytes += (block as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
