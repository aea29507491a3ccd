import { describe, expect, test } from 'vitest';
import {
  decodeCheckpoint,
  encodeCheckpoint,
  startOfPush,
  type PushCheckpoint,
} from '../../../../src/core/pipes/checkpoint.ts';

const checkpoint: PushCheckpoint = {
  position: { byte: 1_234, line: 12, form: 'wide' },
  counts: { rows: 10, accepted: 9, rejectedByUs: 1, chunks: 1 },
  rejectsBytes: 99,
  firstRejects: ['line 5, column length: is negative'],
  unevenLists: { count: 7, first: ['N/P1 (line 2)'] },
};

/** Text of version 1. Never change it: warehouses hold it. */
const version1 =
  '{"version":1,"position":{"byte":1234,"line":12,"form":"wide"},"counts":{"rows":10,"accepted":9,"rejectedByUs":1,' +
  '"chunks":1},"rejectsBytes":99,"firstRejects":["line 5, column length: is negative"],' +
  '"unevenLists":{"count":7,"first":["N/P1 (line 2)"]}}';

describe('the checkpoint of a push', () => {
  test('G7: a checkpoint is written as the bytes of version 1', () => {
    expect(encodeCheckpoint(checkpoint)).toBe(version1);
  });

  test('G7: a checkpoint of version 1 is read', () => {
    expect(decodeCheckpoint(version1)).toEqual(checkpoint);
  });

  test('a checkpoint round-trips through its text, also before the first chunk', () => {
    expect(decodeCheckpoint(encodeCheckpoint(startOfPush))).toEqual(startOfPush);
  });

  test('a checkpoint of an unknown version is refused: continuing from a guess would lose rows', () => {
    expect(() => decodeCheckpoint('{"version":2}')).toThrow('of version 2');
  });
});
