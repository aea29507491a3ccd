import { describe, expect, it } from 'vitest';
import {
  OutageError,
  outageOfUnits,
  PermanentError,
  TransientError,
  UnreachableError,
  WarehouseGoneError,
} from '../../../../src/core/base/errors.ts';
import { decideUnit, isForAll } from '../../../../src/core/run/retry-decision.ts';

const full = new OutageError('warehouse', 'warehouse-io', 'full');
const down = new TransientError('refused', 'down', { serviceDown: true });
const slow = new TransientError('timeout', 'slow');

describe('the part that a chunk waits for', () => {
  it.each([
    ['one of our own, if any unit met its outage', [slow, down, full], 'warehouse'],
    ['not the service, for which requests wait before they are sent', [down, down], undefined],
    ['none, if none was out of order', [down, slow], undefined],
    ['none without errors', [], undefined],
  ])('is %s', (_title, errors, part) => {
    expect(outageOfUnits(errors)).toBe(part);
  });
});

describe('an outage of an own part', () => {
  it('is tried again, and no other unit is begun', () => {
    for (const error of [full, new UnreachableError('redis', 'gone')]) {
      expect(decideUnit(error)).toBe('try-again');
      expect(isForAll(error)).toBe(true);
    }
    expect(isForAll(new PermanentError('refused', 'no'))).toBe(false);
  });

  it('hands the work back where the warehouse is gone', () => {
    expect(decideUnit(new WarehouseGoneError('w'))).toBe('hand-back');
  });
});
