/**
 * The rule of package-lock.json: npm installs nothing that it cannot verify, on every platform of lock-platforms.mjs, and
 * nothing that refuses a Node of package.json. `node scripts/lock-rule.mjs [FILE]` lists every entry that breaks it and
 * ends with exit code 1.
 *
 * What serves none of these platforms is left out, together with its mention in the package that names it: `npm ci` of
 * npm 11 refuses a lock that mentions a package and does not hold it.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { subset } from 'semver';
import { forPlatforms, positionOf, platformFaults } from './lock-platforms.mjs';

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string} [resolved]
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 * @property {boolean} [link]
 * @property {readonly string[]} [os]
 * @property {readonly string[]} [cpu]
 * @property {readonly string[]} [libc]
 * @property {Record<string, string> | readonly string[]} [engines]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 */

/** @typedef {{ packages: Record<string, LockedPackage> }} Lock */

/** Of Node 20.19.0, the oldest that package.json allows. */
const npmRange = '>=10.8.2';

/**
 * @param {string} file
 * @returns {Lock}
 */
export function readLock(file) {
  return /** @type {Lock} */ (JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * A sentence for every entry that breaks the rule, in the order of the lock, then for every platform that is not held.
 * @param {Lock} lock
 * @returns {readonly string[]}
 */
export function brokenEntries({ packages }) {
  const broken = Object.entries(packages).flatMap(([place, entry]) => [
    ...(place === '' ? [] : faultsOf(entry).map((fault) => `${place} ${fault}`)),
    ...(place === '' ? [] : engineFaults(entry, packages['']).map((fault) => `${place} ${fault}`)),
    ...Object.entries(entry.optionalDependencies ?? {})
      .filter((mention) => !isHeld(packages, place, mention))
      .map(([name]) => `${place} mentions ${name}, which the lock does not hold: npm ci refuses that`),
  ]);
  return [...broken, ...platformFaults(packages)];
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
 * What would be EBADENGINE of `npm ci`, on any Node that the project allows.
 * @param {LockedPackage} entry
 * @param {LockedPackage | undefined} root
 * @returns {readonly string[]}
 */
function engineFaults({ engines }, root) {
  const wanted = { node: wordsOf(root?.engines)['node'], npm: npmRange };
  const taken = wordsOf(engines);
  return Object.entries(wanted).flatMap(([program, range]) => {
    const allowed = taken[program];
    if (range === undefined || allowed === undefined || subset(range, allowed)) return [];
    return [`takes ${program} ${allowed}, and not all of ${range}: npm warns of EBADENGINE`];
  });
}

/**
 * Without those that a list names: npm does not check these.
 * @param {LockedPackage['engines']} engines
 * @returns {Record<string, string>}
 */
function wordsOf(engines) {
  return engines === undefined || Array.isArray(engines) ? {} : /** @type {Record<string, string>} */ (engines);
}

/**
 * The lock without the optional packages that have no hash or serve no platform, and without their mentions.
 * @param {Lock} lock
 * @returns {Lock}
 */
export function withoutUnverified(lock) {
  const verified = Object.entries(lock.packages).filter(
    ([place, { integrity, optional }]) => place === '' || integrity !== undefined || optional !== true,
  );
  const packages = forPlatforms(Object.fromEntries(verified));
  /** @type {Array<[string, LockedPackage]>} */
  const mentioning = Object.entries(packages).map(([place, entry]) => [
    place,
    withHeldMentions(packages, place, entry),
  ]);
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
 * Whether the package at `place` finds what it mentions: two releases of a package may be held, and only one of them for
 * another platform.
 * @param {Lock['packages']} packages
 * @param {string} place
 * @param {readonly [name: string, range: string]} mention
 * @returns {boolean}
 */
function isHeld(packages, place, [name, range]) {
  const found = positionOf(packages, place, name);
  return found !== undefined && majorOf(packages[found]?.version ?? '') === majorOf(range);
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
  if (broken.length > 0)
    console.log('\nnpm run lock asks the registry for what the lock lacks, and says what it does not have.');
  process.exitCode = broken.length === 0 ? 0 : 1;
}
