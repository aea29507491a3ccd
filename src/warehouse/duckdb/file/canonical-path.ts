import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** One name for one file, through symbolic links, even if the file or its directory does not exist yet. */
export function canonicalPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(canonicalPath(parent), basename(path));
  }
}
