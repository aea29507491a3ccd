/**
 * `npm run lock`: brings package-lock.json to the rule of scripts/lock-rule.mjs, after an `npm install` that changed it.
 * npm asks the registry again for a package that lacks a build for a platform: what is once left out of a lock, npm does
 * not look for by itself.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { brokenEntries, readLock, withoutUnverified } from './lock-rule.mjs';
import { buildsFor, nativePackages, platforms, withoutBuild } from './lock-platforms.mjs';

const file = 'package-lock.json';

/** @param {import('./lock-rule.mjs').Lock} lock */
function write(lock) {
  writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
}

/**
 * The places of the packages that lack a build which they could have, each with its builds.
 * @param {import('./lock-rule.mjs').Lock['packages']} packages
 */
function incompletePlaces(packages) {
  const lacking = platforms.flatMap((platform) =>
    buildsFor(packages, platform)
      .missing.filter(({ name }) => withoutBuild[name]?.includes(platform.name) !== true)
      .map(({ place }) => place),
  );
  const incomplete = nativePackages(packages).filter(({ place }) => lacking.includes(place));
  return new Set(incomplete.flatMap(({ place, builds }) => [place, ...builds]));
}

const before = readLock(file);
const incomplete = incompletePlaces(before.packages);
if (incomplete.size > 0) {
  const packages = Object.entries(before.packages).filter(([place]) => !incomplete.has(place));
  write({ ...before, packages: Object.fromEntries(packages) });
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status } = spawnSync(npm, ['install', '--package-lock-only'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    write(before);
    throw new Error(`npm install ended with code ${status}: ${file} is as it was. Its words are above.`);
  }
}
const asked = readLock(file);
const verified = withoutUnverified(asked);
write(verified);
const leftOut = Object.keys(asked.packages).length - Object.keys(verified.packages).length;
console.log(`Left out of ${file}: ${leftOut} packages that have no hash, or serve no platform that it holds.`);
const broken = brokenEntries(verified);
for (const sentence of broken) console.log(sentence);
process.exitCode = broken.length === 0 ? 0 : 1;
