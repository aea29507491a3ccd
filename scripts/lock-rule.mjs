/**
 * The rule of package-lock.json: npm installs nothing that it cannot verify. `node scripts/lock-rule.mjs [FILE]` lists
 * every entry that breaks it and ends with exit code 1.
 *
 * An optional package of another platform whose hash the registry does not tell is left out, together with its mention
 * in the package that names it: `npm ci` of npm 11 refuses a lock that mentions a package and does not hold it.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string} [resolved]
 * @property {boolean} [optional]
 * @property {boolean} [link]
 * @property {Record<string, string>} [optionalDependencies]
 */

/** @typedef {{ packages: Record<string, LockedPackage> }} Lock */

/**
 * @param {string} file
 * @returns {Lock}
 */
export function readLock(file) {
  return /** @type {Lock} */ (JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * A sentence for every entry that breaks the rule, in the order of the lock.
 * @param {Lock} lock
 * @returns {readonly string[]}
 */
export function brokenEntries({ packages }) {
  return Object.entries(packages).flatMap(([place, entry]) => [
    ...(place === '' ? [] : faultsOf(entry).map((fault) => `${place} ${fault}`)),
    ...Object.entries(entry.optionalDependencies ?? {})
      .filter((mention) => !isHeld(packages, place, mention))
      .map(([name]) => `${place} mentions ${name}, which the lock does not hold: npm ci refuses that`),
  ]);
}

/**
 * @param {LockedPackage} entry
 * @returns {readonly string[]}
 */
function faultsOf({ integrity, resolved, link }) {
  if (link === true) return ['is a link to a folder: only packages of the registry can be verified'];
  return [
    ...(/^sha512-\S+$/.test(integrity ?? '') ? [] : ['has no sha512 hash: npm would install it unverified']),
    // npm takes the registry of whoever installs; a lock that names one binds everybody to it.
    ...(resolved === undefined ? [] : [`names the address ${resolved}`]),
  ];
}

/**
 * The lock without the optional packages that have no hash, and without their mentions.
 * @param {Lock} lock
 * @returns {Lock}
 */
export function withoutUnverified(lock) {
  const left = Object.entries(lock.packages).filter(
    ([place, { integrity, optional }]) => place === '' || integrity !== undefined || optional !== true,
  );
  const packages = Object.fromEntries(left);
  /** @type {Array<[string, LockedPackage]>} */
  const mentioning = left.map(([place, entry]) => [place, withHeldMentions(packages, place, entry)]);
  return { ...lock, packages: Object.fromEntries(mentioning) };
}

/**
 * @param {Lock['packages']} packages
 * @param {string} place
 * @param {LockedPackage} entry
 * @returns {LockedPackage}
 */
function withHeldMentions(packages, place, entry) {
  const kept = Object.entries(entry.optionalDependencies ?? {}).filter((mention) => isHeld(packages, place, mention));
  const changed = { ...entry, optionalDependencies: Object.fromEntries(kept) };
  if (kept.length > 0) return changed;
  delete (/** @type {LockedPackage} */ (changed).optionalDependencies);
  return changed;
}

/**
 * Whether the package at `place` finds what it mentions, in its own folder or in one above it: two releases of a package
 * may be held, and only one of them for another platform.
 * @param {Lock['packages']} packages
 * @param {string} place
 * @param {readonly [name: string, range: string]} mention
 * @returns {boolean}
 */
function isHeld(packages, place, [name, range]) {
  for (let folder = place; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const found = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    if (found !== undefined) return majorOf(found.version ?? '') === majorOf(range);
    if (folder === '') return false;
  }
}

/**
 * `^14.23.0-beta.17` is of 14.
 * @param {string} version
 */
function majorOf(version) {
  return /\d+/.exec(version)?.[0];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const broken = brokenEntries(readLock(process.argv[2] ?? 'package-lock.json'));
  for (const sentence of broken) console.log(sentence);
  if (broken.length > 0) console.log('\nnpm run lock leaves the optional packages out whose hash is not known.');
  process.exitCode = broken.length === 0 ? 0 : 1;
}
