/** Who else can read a file that holds a secret. */
import { expect, test } from 'vitest';
import { secretReadersOf } from '../../../../src/app/health/health.ts';

test.each([
  ['of its owner alone', 0o600, 1000, 1000, undefined],
  ['that its owner only reads', 0o400, 0, 0, undefined],
  ['that everybody can read', 0o644, 1000, 1000, 'everybody'],
  ['that everybody but its group can read', 0o604, 0, 1000, 'everybody'],
  ['that its group can read', 0o640, 1000, 1000, 'group'],
  ['of root, handed out to a group of this process', 0o440, 0, 2000, undefined],
  ['of root, for a group of others', 0o640, 0, 50, 'group'],
  ['of root, that everybody can read', 0o444, 0, 2000, 'everybody'],
])('a file %s', (_, mode, uid, gid, readers) => {
  expect(secretReadersOf({ mode, uid, gid }, [1000, 2000])).toBe(readers);
});
