/** Who owns an inbox, and what tells the copy of a warehouse from its original. */
import { describe, expect, test } from 'vitest';
import { inboxRefused, isSameLocation, relationTo } from '../../../../src/core/pipes/inbox.ts';

const owner = {
  warehouseId: 'w',
  placeId: 'p',
  service: 'https://a',
  warehouse: 'duckdb:/a/w.duckdb',
  host: 'one',
  sinceMs: 0,
};

describe('an installation', () => {
  test.each([
    ['itself, on another host and under another path', { host: 'two', warehouse: 'duckdb:/b' }, [], 'same'],
    ['one whose service has a new key', { service: 'production' }, ['production', 'https://a'], 'renamed'],
    ['one of a service that it never had', { service: 'https://b' }, ['https://b'], 'other'],
    ['another warehouse of the same service', { warehouseId: 'v' }, [], 'other'],
    ['one without a warehouse', { warehouseId: undefined, placeId: undefined }, [], 'other'],
    ['a copy', { placeId: 'q' }, [], 'copy'],
    ['a copy that has not been told from its original', { placeId: undefined }, [], 'copy'],
    ['a copy that was renamed', { placeId: 'q', service: 'b' }, ['https://a'], 'copy'],
  ] as const)('is to an owner: %s', (_, change, names, relation) => {
    expect(relationTo(owner, { ...owner, ...change }, names)).toBe(relation);
  });

  test('on a server is one for all its hosts', () => {
    const shared = { ...owner, placeId: null };
    expect(relationTo(shared, { ...shared, host: 'two' }, [])).toBe('same');
  });
});

test('a place is the same where it was moved or restored, and another one where it was copied', () => {
  const kept = { id: 'p', host: 'one', folder: '/data', mark: '7-1' };
  expect(isSameLocation(kept, { host: 'two', folder: '/mnt', mark: '7-1' })).toBe(true);
  expect(isSameLocation(kept, { host: 'one', folder: '/data', mark: '9-2' })).toBe(true);
  expect(isSameLocation(kept, { host: 'one', folder: '/copy', mark: '9-2' })).toBe(false);
  expect(isSameLocation(kept, { host: 'two', folder: '/data', mark: '9-2' })).toBe(false);
});

test('G11: a refusal names both owners and the way out', () => {
  const own = { ...owner, warehouseId: 'v', service: 'https://b', host: 'two' };
  const error = inboxRefused([{ kind: 'owned', root: '/in/cleanup', owner, isCopy: false }], own);
  expect(error.message).toBe('the inbox belongs to another installation: nothing in it was touched');
  expect(error.issues.join('\n')).toMatch(/\/in\/cleanup belongs to service https:\/\/a[^]*service https:\/\/b/);
  expect(error.action).toEqual({ kind: 'adopt-inbox' });
});
