/** Finds the version of the package, from its sources as well as from dist. */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const packageSchema = z.object({ version: z.string() });

export function versionOfPackage(): string {
  let file = new URL('package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) return 'unknown';
    file = above;
  }
  return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}
