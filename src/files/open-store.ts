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

/** `onSecret` is called with each secret that the client of the store found (G10). */
export async function openStore(
  { url, endpoint, region, pathStyle = endpoint !== undefined, setting = 'files' }: StoreAddress,
  onSecret: (secret: string) => void,
): Promise<FileStore> {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(.*)$/.exec(url) ?? [];
  if (bucket === undefined) return new FolderStore(url.startsWith('file:') ? fileURLToPath(url) : url, setting);
  const { S3Store } = await import('./s3/s3-store.ts');
  return new S3Store(
    { bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, ''), endpoint, region, pathStyle, setting },
    onSecret,
  );
}
