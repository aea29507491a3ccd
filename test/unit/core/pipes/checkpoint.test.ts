import { describe, expect, test } from 'vitest';
import {
  countsOfCheckpoint,
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
};

/** Text of version 1. Never change it: warehouses hold it. */
const version1 =
  '{"version":1,"position":{"byte":1234,"line":12,"form":"wide"},"counts":{"rows":10,"accepted":9,"rejectedByUs":1,' +
  '"chunks":1},"rejectsBytes":99,"firstRejects":["line 5, column length: is negative"],' +
  '"unevenLists":{"count":7,"first":["N/P1 (line 2)"]}}';

/** Text of version 2. Never change it either. */
const version2 =
  '{"version":2,"position":{"byte":1234,"line":12,"form":"wide"},"counts":{"rows":10,"accepted":9,"rejectedByUs":1,' +
  '"chunks":1},"rejectsBytes":99,"firstRejects":["line 5, column length: is negative"]}';

describe('the checkpoint of a push', () => {
  test('G7: a checkpoint is written as the bytes of version 2', () => {
    expect(encodeCheckpoint(checkpoint)).toBe(version2);
  });

  test.each([version1, version2])('G7: a checkpoint of every version is read', (text) => {
    expect(decodeCheckpoint(text)).toEqual(checkpoint);
    expect(countsOfCheckpoint(text)).toEqual(checkpoint.counts);
  });

  test('G5: a push that dropped dates by the rule of version 1 begins again', () => {
    const dropped = version1.replace('"rejectedByUs":1', '"superseded":1');
    expect(decodeCheckpoint(dropped)).toEqual(startOfPush);
    expect(countsOfCheckpoint(dropped)).toMatchObject({ superseded: 1 });
    expect(decodeCheckpoint(version2.replace('"rejectedByUs":1', '"superseded":1')).position).toEqual(
      checkpoint.position,
    );
  });

  test('a checkpoint round-trips through its text, also before the first chunk', () => {
    expect(decodeCheckpoint(encodeCheckpoint(startOfPush))).toEqual(startOfPush);
  });

  test('a checkpoint of an unknown version is refused: continuing from a guess would lose rows', () => {
    expect(() => decodeCheckpoint('{"version":3}')).toThrow('of version 3');
  });
});
