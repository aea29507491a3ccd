/**
 * Around `npm pack`: builds, and writes npm-shrinkwrap.json, the lock file without what is for development alone, so that who
 * installs the package gets the versions that the tests had. `--remove` removes it again: beside package-lock.json it would
 * take its place.
 */
import './setup/node-version.mjs';
import { rmSync, writeFileSync } from 'node:fs';
import { readLock } from './lock-rule.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runScript } from './setup/setup-error.mjs';

const file = 'npm-shrinkwrap.json';

await runScript(async () => {
  if (process.argv.includes('--remove')) {
    rmSync(file, { force: true });
    return 0;
  }
  await provideDependencies();
  await provideDistribution();
  const { packages, ...lock } = readLock('package-lock.json');
  const kept = Object.entries(packages).filter(([, found]) => !('dev' in found && found.dev === true));
  const root = packages[''];
  const { devDependencies: _, ...own } = root ?? {};
  const written = { ...lock, packages: { ...Object.fromEntries(kept), '': own } };
  writeFileSync(file, `${JSON.stringify(written, undefined, 2)}\n`);
  return 0;
});
