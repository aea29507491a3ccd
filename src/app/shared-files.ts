/** The files that several hosts share, by the configuration. */
import path from 'node:path';
import type { Config } from '../../config/schema.ts';
import { SharedFiles } from '../files/shared-files.ts';
import type { Ledger } from '../warehouse/port/warehouse.ts';
import { knownSecrets } from './known-secrets.ts';

/** Undefined without files.url: files lie where they were pushed from. */
export function sharedFilesOf({ files, dataDir }: Config, { ownership }: Ledger): SharedFiles | undefined {
  const { url, endpoint, region, pathStyle } = files;
  if (url === undefined) return undefined;
  return new SharedFiles({
    open: async () => {
      const { openStore } = await import('../files/open-store.ts');
      return openStore({ url, endpoint, region, pathStyle }, (secret) => knownSecrets.addToken(secret));
    },
    warehouseId: async () => (await ownership.read()).warehouseId,
    copiesFolder: path.join(dataDir, 'spool'),
  });
}
