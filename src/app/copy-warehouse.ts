import type { Config } from '../../config/schema.ts';
import type { CopiedRows, CopyWatch } from '../warehouse/copy/copy-tables.ts';
import { copyWarehouse, type CopyEnds } from '../warehouse/copy/copy-warehouse.ts';
import { knownSecrets } from './known-secrets.ts';

export type { CopiedRows, CopyWatch };

/** Copies a warehouse as `copyWarehouse` does, with the settings of the configuration. */
export function copyConfigured(config: Config, ends: CopyEnds, watch: CopyWatch): Promise<readonly CopiedRows[]> {
  const { url: _unused, ...settings } = config.warehouse;
  return copyWarehouse(ends, { ...settings, now: Date.now, secrets: knownSecrets }, watch);
}
