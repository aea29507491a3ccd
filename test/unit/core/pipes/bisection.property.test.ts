import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChunkBisection, maxBytesAfterTooLarge } from '../../../../src/core/pipes/bisection.ts';

interface Outcome {
  readonly requests: number;
  readonly stored: readonly number[];
  readonly guilty: readonly number[];
  readonly tooLarge: readonly number[];
}

/** A service that refuses a body with a guilty item, or above its size limit. */
function send(
  itemBytes: readonly number[],
  guilty: ReadonlySet<number>,
  serverMaxBytes: number,
  knownMaxBytes = Infinity,
): Outcome {
  const bisection = new ChunkBisection(itemBytes);
  const outcome = { requests: 0, stored: [] as number[], guilty: [] as number[], tooLarge: [] as number[] };
  let maxBytes = knownMaxBytes;
  for (let part = bisection.next(maxBytes); part !== undefined; part = bisection.next(maxBytes)) {
    outcome.requests += 1;
    const indexes = Array.from({ length: part.to - part.from }, (_, offset) => part.from + offset);
    const bytes = indexes.reduce((sum, index) => sum + (itemBytes[index] ?? 0), indexes.length + 1);
    if (bytes > serverMaxBytes) {
      maxBytes = maxBytesAfterTooLarge(maxBytes, bytes);
      const index = bisection.tooLarge();
      if (index !== undefined) outcome.tooLarge.push(index);
    } else if (indexes.some((index) => guilty.has(index))) {
      const index = bisection.refused();
      if (index !== undefined) outcome.guilty.push(index);
    } else {
      outcome.stored.push(...indexes);
      bisection.accepted();
    }
  }
  return outcome;
}

const chunk = fc
  .integer({ min: 1, max: 300 })
  .chain((size) =>
    fc.record({ size: fc.constant(size), guilty: fc.uniqueArray(fc.nat(size - 1), { maxLength: Math.min(size, 12) }) }),
  );

describe('bisection of a refused chunk', () => {
  test('G2: bisection stores every item but the guilty, and names exactly these, within 1 + 2k * ceil(log2 n) requests', () => {
    fc.assert(
      fc.property(chunk, ({ size, guilty }) => {
        const outcome = send(
          Array.from({ length: size }, () => 10),
          new Set(guilty),
          Infinity,
        );
        expect(outcome.guilty.toSorted((a, b) => a - b)).toEqual(guilty.toSorted((a, b) => a - b));
        expect([...outcome.stored, ...outcome.guilty].toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: size }, (_, index) => index),
        );
        expect(outcome.requests).toBeLessThanOrEqual(1 + 2 * guilty.length * Math.ceil(Math.log2(size)));
        expect(outcome.requests).toBeLessThanOrEqual(2 * size - 1);
      }),
    );
  });

  test('G2: with a size limit, bisection stores each item once or names it as guilty or too large', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 80 }),
        fc.array(fc.nat(79), { maxLength: 6 }),
        fc.integer({ min: 10, max: 400 }),
        (itemBytes, guilty, serverMaxBytes) => {
          const outcome = send(itemBytes, new Set(guilty), serverMaxBytes);
          const all = [...outcome.stored, ...outcome.guilty, ...outcome.tooLarge].toSorted((a, b) => a - b);
          expect(all).toEqual(itemBytes.map((_, index) => index));
          for (const index of outcome.tooLarge) expect((itemBytes[index] ?? 0) + 2).toBeGreaterThan(serverMaxBytes);
          for (const index of outcome.guilty) expect(guilty).toContain(index);
          expect(outcome.requests).toBeLessThanOrEqual(2 * itemBytes.length - 1);
        },
      ),
    );
  });

  test('one guilty item among 500 takes at most 19 requests, and 11 when each left half is accepted', () => {
    const requests = Array.from(
      { length: 500 },
      (_, index) =>
        send(
          Array.from({ length: 500 }, () => 10),
          new Set([index]),
          Infinity,
        ).requests,
    );
    expect(Math.max(...requests)).toBeLessThanOrEqual(19);
    expect(requests[499]).toBeLessThanOrEqual(11);
  });

  test('no range above the known size limit is sent', () => {
    const outcome = send(
      Array.from({ length: 64 }, () => 10),
      new Set(),
      100,
      100,
    );
    expect(outcome).toMatchObject({ tooLarge: [], guilty: [] });
    expect(outcome.requests).toBe(8);
  });

  test('a range without a reported outcome is returned again', () => {
    const bisection = new ChunkBisection([1, 1]);
    expect(bisection.next(100)).toEqual({ from: 0, to: 2 });
    expect(bisection.next(100)).toEqual({ from: 0, to: 2 });
    bisection.accepted();
    expect(bisection.next(100)).toBeUndefined();
  });

  test('a learnt size limit never grows', () => {
    expect(maxBytesAfterTooLarge(1_000, 600)).toBe(300);
    expect(maxBytesAfterTooLarge(200, 600)).toBe(200);
    expect(maxBytesAfterTooLarge(200, 1)).toBe(1);
  });
});
