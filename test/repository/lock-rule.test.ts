/** Checks that the rule of package-lock.json can fail, and that what mends a lock keeps what can be verified. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { brokenEntries, readLock, withoutUnverified } from '../../scripts/lock-rule.mjs';

const integrity = 'sha512-iUfCFJN8ZIresSnpTfiIkhF3s8X==';
const lockOf = (packages: Parameters<typeof brokenEntries>[0]['packages']) => ({
  packages: { '': { version: '0.1.0' }, ...packages },
});

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

  test('holds the native code of the engine for the platform of the image', () => {
    const places = Object.keys(readLock('package-lock.json').packages);
    expect(places).toContain('node_modules/@duckdb/node-bindings-linux-x64');
    expect(places).toContain('node_modules/@duckdb/node-bindings-linux-x64-musl');
  });
});

test('no package runs a script of its own when it is installed', () => {
  expect(readFileSync('.npmrc', 'utf8')).toMatch(/^ignore-scripts=true$/m);
});
