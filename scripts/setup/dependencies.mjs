/** Owns the question whether node_modules is what package-lock.json says, and the installation where it is not. */
import { readFileSync } from 'node:fs';
import { runLeashed } from './leash.mjs';
import { SetupError } from './setup-error.mjs';

/** @typedef {Record<string, { version?: string, optional?: boolean, devOptional?: boolean }>} LockedPackages */

/**
 * @param {string} file
 * @returns {LockedPackages | undefined} undefined where there is no such file
 */
function packagesOf(file) {
  try {
    return /** @type {{ packages: LockedPackages }} */ (JSON.parse(readFileSync(file, 'utf8'))).packages;
  } catch {
    return undefined;
  }
}

/** npm keeps what it installed in a lock file of its own, written last: an installation that broke off has none. */
function isInstalled() {
  const wanted = packagesOf('package-lock.json');
  const installed = packagesOf('node_modules/.package-lock.json');
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted).every(([place, { version, optional, devOptional }]) => {
    if (place === '') return true;
    // An optional package may be missing: it is for another platform.
    return installed[place] === undefined
      ? optional === true || devOptional === true
      : installed[place].version === version;
  });
}

/** Installs what package-lock.json names, unless it is there. */
export async function provideDependencies() {
  if (isInstalled()) return;
  console.log('Installing the packages of package-lock.json (npm ci) …');
  // `--include=dev`, since an environment with NODE_ENV=production would leave out the compiler.
  const code = await runLeashed('npm', ['ci', '--include=dev', '--loglevel=error']);
  if (code !== 0) throw new SetupError(`npm ci ended with code ${code}; its words are above.`);
}
