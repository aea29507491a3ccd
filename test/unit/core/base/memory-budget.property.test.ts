import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  batchRowsOf,
  defaultMemoryMb,
  fixedMb,
  leastMemoryMb,
  memoryBudget,
  sharedBodyBytes,
} from '../../../../src/core/base/memory-budget.ts';

const memoryMb = fc.integer({ min: leastMemoryMb, max: 64 * 1024 });
const mebibyte = 1024 * 1024;
/** 28 numbers of 8 bytes, xid, date and nulls. */
const leastBytesPerRow = 300;

test('G8: the parts of a memory budget are together less than the whole', () => {
  fc.assert(
    fc.property(memoryMb, (total) => {
      const { heapMb, semiSpaceMb, engineMb, rowsInMemory, bodyBytes } = memoryBudget(total);
      const rowsMb = (rowsInMemory * leastBytesPerRow) / mebibyte;
      const bodiesMb = (bodyBytes + sharedBodyBytes(bodyBytes)) / mebibyte;
      expect(fixedMb + heapMb + 3 * semiSpaceMb + engineMb + bodiesMb + rowsMb).toBeLessThan(total);
    }),
  );
});

test('G8: more memory makes no part of the budget smaller', () => {
  fc.assert(
    fc.property(memoryMb, fc.nat(4_096), (total, more) => {
      const [less, larger] = [memoryBudget(total), memoryBudget(total + more)];
      for (const part of Object.keys(less) as (keyof typeof less)[]) {
        expect(larger[part]).toBeGreaterThanOrEqual(less[part]);
      }
    }),
  );
});

test('G8: every part of the least budget is enough to work with', () => {
  expect(memoryBudget(leastMemoryMb)).toEqual({
    heapMb: 100,
    semiSpaceMb: 4,
    engineMb: 64,
    rowsInMemory: 136_314,
    bodyBytes: 16 * mebibyte,
  });
  expect(batchRowsOf(136_314)).toBe(61_341);
  expect(batchRowsOf(201_746)).toBe(61_440);
});

test('G8: a batch leaves room for as many rows that are read while it is committed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 10_000_000 }), (rowsInMemory) => {
      expect(batchRowsOf(rowsInMemory)).toBeGreaterThan(0);
      expect(2 * batchRowsOf(rowsInMemory)).toBeLessThan(rowsInMemory);
    }),
  );
});

test('G8: by default, one body of 24 MiB fits', () => {
  expect(memoryBudget(defaultMemoryMb).bodyBytes).toBeGreaterThanOrEqual(24 * mebibyte);
});
