import { describe, expect, it } from 'vitest';
import { unknownFault } from '../../../../src/core/run/run.ts';

interface Found {
  readonly total: number;
  readonly unknown: number;
  /** As many as units, unless a well has several. */
  readonly unknownTargets?: number;
  readonly withRows: number;
  readonly unknownWithRows: number;
}

const oneWell = { total: 5, unknown: 5, unknownTargets: 1 };

function faultOf({ total, unknown, unknownTargets = unknown, withRows: targetsWithRows, unknownWithRows }: Found) {
  const units = { total, unknown, done: total - unknown, held: 0, failed: 0, cancelled: 0 };
  return unknownFault(
    { units, counts: { targetsWithRows, unknownTargets, unknownWithRows } },
    { one: 'well', many: 'wells' },
  );
}

describe('a run that finds wells unknown', () => {
  it.each([
    ['a well that never had a row', { total: 1, unknown: 1, withRows: 0, unknownWithRows: 0 }],
    ['three of four wells with rows', { total: 9, unknown: 3, withRows: 4, unknownWithRows: 3 }],
    ['a fifth of the wells with rows', { total: 40, unknown: 4, withRows: 20, unknownWithRows: 4 }],
    ['many wells that never had a row', { total: 40, unknown: 30, withRows: 10, unknownWithRows: 0 }],
    ['the five gaps of a well that never had a row', { ...oneWell, withRows: 0, unknownWithRows: 0 }],
    ['no well of none', { total: 0, unknown: 0, withRows: 0, unknownWithRows: 0 }],
  ])('is no fault: %s', (_what, found) => {
    expect(faultOf(found)).toBeUndefined();
  });

  it.each([
    ['the well', { total: 1, unknown: 1, withRows: 1, unknownWithRows: 1 }],
    ['the well', { ...oneWell, withRows: 1, unknownWithRows: 1 }],
    ['any of the 2 wells', { total: 2, unknown: 2, withRows: 0, unknownWithRows: 0 }],
    ['5 of the 20 wells that have rows', { total: 40, unknown: 5, withRows: 20, unknownWithRows: 5 }],
  ])('is a fault, perhaps of the address: %s', (wells, found) => {
    expect(faultOf(found)).toEqual({
      code: 'targets-unknown',
      message: `the service does not know ${wells} (404): is its address right?`,
      action: { kind: 'check-address', setting: 'service.url' },
    });
  });
});
