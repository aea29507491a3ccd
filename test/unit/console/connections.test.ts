/** Which addresses count as one client. */
import { expect, test } from 'vitest';
import { networkOf } from '../../../src/console/admission.ts';

test.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '::ffff:10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['1:2:3:4:5:6:7::', '1:2:3:4'],
  [undefined, undefined],
])('%s is of %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
