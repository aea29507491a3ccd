import { describe, expect, test } from 'vitest';
import {
  decodeCheckpoint,
  encodeCheckpoint,
  startOfPush,
  type PushCheckpoint,
} from '../../src/core/push-checkpoint.ts';

const checkpoint: PushCheckpoint = {
  position: { byte: 1_234, line: 12, form: 'wide' },
  counts: { rows: 10, accepted: 9, rejectedByUs: 1, chunks: 1 },
  rejectsBytes: 99,
  firstRejects: ['line 5, column length: is negative'],
  unevenLists: { count: 7, first: ['N/P1 (line 2)'] },
};

/** What version 1 wrote: never changed, since it lies in warehouses. */
const version1 =
  '{"version":1,"position":{"byte":1234,"line":12,"form":"wide"},"counts":{"rows":10,"accepted":9,"rejectedByUs":1,' +
  '"chunks":1},"rejectsBytes":99,"firstRejects":["line 5, column length: is negative"],' +
  '"unevenLists":{"count":7,"first":["N/P1 (line 2)"]}}';

describe('the checkpoint of a push', () => {
  test('G7: is written as version 1 was', () => {
    expect(encodeCheckpoint(checkpoint)).toBe(version1);
  });

  test('G7: of version 1 is still read', () => {
    expect(decodeCheckpoint(version1)).toEqual(checkpoint);
  });

  test('is the same after its way through text, before the first slice as well', () => {
    expect(decodeCheckpoint(encodeCheckpoint(startOfPush))).toEqual(startOfPush);
  });

  test('of an unknown version is refused: going on from a guess would lose rows', () => {
    expect(() => decodeCheckpoint('{"version":2}')).toThrow('of version 2');
  });
});
