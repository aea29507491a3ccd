import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readXid, xidBytes } from '../../../src/core/daily/row.ts';
import { RecordNumbers } from '../../../src/service/record-counter.ts';

/** Few differ, and those in any byte, so that many come again. */
const someXid = fc
  .record({ at: fc.nat(xidBytes - 1), value: fc.constantFrom(0, 1, 0x80, 0xff) })
  .map(({ at, value }) => {
    const hex = Array.from({ length: xidBytes }, (_, byte) => (byte === at ? value : 7).toString(16).padStart(2, '0'));
    return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  });
const someKey = fc.oneof(
  { weight: 9, arbitrary: fc.record({ kind: fc.constantFrom('bytes', 'text', 'known'), xid: someXid }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('text'), xid: fc.string({ maxLength: 2 }) }) },
);

describe('the numbers of records', () => {
  it('G2: are one for each key, in the order in which they first came, by bytes and as text in either case', () => {
    const property = fc.property(fc.array(someKey, { maxLength: 200 }), fc.nat(3), fc.nat(100), (keys, at, room) => {
      const numbers = new RecordNumbers();
      const expected = new Map<string, number>();
      const bytes = new Uint8Array(at + xidBytes);
      for (const [index, { kind, xid }] of keys.entries()) {
        if (index === 5) numbers.reserve(room);
        const before = expected.get(xid);
        if (kind !== 'text') readXid(xid, bytes, at);
        if (kind === 'known') {
          expect(numbers.knownXid(bytes, at)).toBe(before);
          continue;
        }
        if (before === undefined) expected.set(xid, expected.size);
        const shown = index % 2 === 0 && xid.length > 2 ? xid.toUpperCase() : xid;
        expect(kind === 'text' ? numbers.ofText(shown) : numbers.ofXid(bytes, at)).toBe(expected.get(xid));
      }
      expect(numbers.ofText('another')).toBe(expected.size);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('are found among 100,000 whose bytes differ in a few bits', () => {
    const numbers = new RecordNumbers();
    const bytes = Buffer.alloc(xidBytes);
    for (let round = 0; round < 2; round += 1) {
      for (let xid = 0; xid < 100_000; xid += 1) {
        bytes.writeUInt32BE(xid, xid % 2 === 0 ? 0 : 12);
        bytes.writeUInt32BE(0, xid % 2 === 0 ? 12 : 0);
        const number = numbers.ofXid(bytes, 0);
        if (number !== xid) throw new Error(`${xid} has the number ${number}`);
      }
    }
    expect(numbers.ofText('another')).toBe(100_000);
  });
});
