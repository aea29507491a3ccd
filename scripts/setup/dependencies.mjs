/** Checks node_modules against package-lock.json, and installs when they differ. */
import { existsSync, readFileSync } from 'node:fs';
import { runLeashed } from './leash.mjs';
import { SetupError } from './setup-error.mjs';

/** @typedef {Record<string, { version?: string, optional?: boolean, devOptional?: boolean }>} LockedPackages */

/**
 * @param {string} file
 * @returns {LockedPackages | undefined} undefined if the file does not exist
 */
function packagesOf(file) {
  try {
    return /** @type {{ packages: LockedPackages }} */ (JSON.parse(readFileSync(file, 'utf8'))).packages;
  } catch {
    return undefined;
  }
}

/** npm writes a lock file of its own when an installation is complete; an interrupted installation has none. */
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

/**
 * The lock holds the platforms of scripts/lock-platforms.mjs. Throws SetupError on another one, unless its packages were
 * installed without the lock.
 */
function isServedByLock() {
  const engine = `node_modules/@duckdb/node-bindings-${process.platform}-${process.arch}`;
  const locked = packagesOf('package-lock.json') ?? {};
  if (Object.keys(locked).some((place) => place.startsWith(engine))) return true;
  if (existsSync(engine)) return false;
  throw new SetupError(
    `package-lock.json holds no engine of the warehouse for ${process.platform} ${process.arch}.\n` +
      'Take Linux, macOS or Windows on x64 or arm64, or a container on one of them (docker compose up --build).',
  );
}

/** Installs the packages of package-lock.json, unless they are installed. Throws SetupError. */
export async function provideDependencies() {
  if (!isServedByLock() || isInstalled()) return;
  console.log('Installing the packages of package-lock.json (npm ci) …');
  // `--include=dev`: an environment with NODE_ENV=production would leave out the compiler.
  const code = await runLeashed('npm', ['ci', '--include=dev', '--loglevel=error']);
  if (code !== 0) throw new SetupError(`npm ci ended with code ${code}; its words are above.`);
}
