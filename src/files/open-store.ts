/** Opens the store that `files.url` or `feed.url` names; the client of S3 is loaded only where one is. */
import { fileURLToPath } from 'node:url';
import { FolderStore } from './folder-store.ts';
import type { FileStore, StoreSetting } from './port.ts';

export interface StoreAddress {
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
  if (folder !== undefined) return new FolderStore(folder, setting);
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)(.*)$/.exec(url) ?? [];
  const { S3Store } = await import('./s3/s3-store.ts');
  return new S3Store(
    { bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, ''), endpoint, region, pathStyle, setting },
    onSecret,
  );
}
