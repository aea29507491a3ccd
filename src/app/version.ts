/** The version of the package, for the sources as well as for dist. */
import { existsSync, readFileSync } from 'node:fs';

export function versionOfPackage(): string {
  let file = new URL('package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) return 'unknown';
    file = above;
  }
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return version;
}
