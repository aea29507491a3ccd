/** Opens the store that `files.url` or `feed.url` names; the client of S3 is loaded only where one is. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { PermanentError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import { FolderStore } from './folder-store.ts';
import type { FileStore, StoreSetting } from './port.ts';

interface StoreAddress {
  /** An absolute path, `file:///PATH`, or `s3://BUCKET/PREFIX`. */
  readonly url: string;
  /** For S3: the address of a store other than AWS. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** By default true with an endpoint. */
  readonly pathStyle: boolean | undefined;
  /** Of which the address is; for messages. */
  readonly setting?: StoreSetting;
}

/** The folder that an address names; undefined for a bucket. */
export function folderOfAddress(url: string): string | undefined {
  if (url.startsWith('s3:')) return undefined;
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

/** `onSecret` is called with each secret that the client of the store found (G10). */
export async function openStore(
  { url, endpoint, region, pathStyle = endpoint !== undefined, setting = 'files' }: StoreAddress,
  onSecret: (secret: string) => void,
): Promise<FileStore> {
  const folder = folderOfAddress(url);
  if (folder !== undefined) return withSteps<FileStore>('store', new FolderStore(folder, setting));
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)(.*)$/.exec(url) ?? [];
  const { S3Store } = await import('./s3-store.ts');
  const location = { bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, ''), endpoint, region, pathStyle, setting };
  return withSteps<FileStore>('store', new S3Store(location, onSecret));
}

// Whether a store does what wellsync asks of it: a small file is written, read and removed.

/**
 * Returns the address of the store. Throws as its calls do, and PermanentError (`files-check`) where a read does not see the
 * last write.
 */
export async function checkStore(store: FileStore): Promise<string> {
  const [name, text] = [`check/${randomUUID()}`, 'wellsync doctor'];
  await store.write(name, Buffer.from(text));
  const found = await store.read(name, text.length);
  await store.remove(name);
  if (String(found) === text && (await store.stat(name)) === undefined) return store.address;
  throw new PermanentError(
    'files-check',
    `${store.address} does not give back what was written, or does not remove it`,
    { hint: 'wellsync needs a store in which a read sees the last write at once.' },
  );
}
