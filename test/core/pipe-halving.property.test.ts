/** Halving names exactly the guilty items, within its bound. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChunkHalving, maxBytesAfterTooLarge } from '../../src/core/pipe-halving.ts';

interface Outcome {
  readonly requests: number;
  readonly stored: readonly number[];
  readonly guilty: readonly number[];
  readonly tooLarge: readonly number[];
}

/** A service that refuses a body with a guilty item in it, and one above its size. */
function send(
  itemBytes: readonly number[],
  guilty: ReadonlySet<number>,
  serverMaxBytes: number,
  knownMaxBytes = Infinity,
): Outcome {
  const halving = new ChunkHalving(itemBytes);
  const outcome = { requests: 0, stored: [] as number[], guilty: [] as number[], tooLarge: [] as number[] };
  let maxBytes = knownMaxBytes;
  for (let part = halving.next(maxBytes); part !== undefined; part = halving.next(maxBytes)) {
    outcome.requests += 1;
    const indexes = Array.from({ length: part.to - part.from }, (_, offset) => part.from + offset);
    const bytes = indexes.reduce((sum, index) => sum + (itemBytes[index] ?? 0), indexes.length + 1);
    if (bytes > serverMaxBytes) {
      maxBytes = maxBytesAfterTooLarge(maxBytes, bytes);
      const index = halving.tooLarge();
      if (index !== undefined) outcome.tooLarge.push(index);
    } else if (indexes.some((index) => guilty.has(index))) {
      const index = halving.refused();
      if (index !== undefined) outcome.guilty.push(index);
    } else {
      outcome.stored.push(...indexes);
      halving.accepted();
    }
  }
  return outcome;
}

const chunk = fc
  .integer({ min: 1, max: 300 })
  .chain((size) =>
    fc.record({ size: fc.constant(size), guilty: fc.uniqueArray(fc.nat(size - 1), { maxLength: Math.min(size, 12) }) }),
  );

describe('halving a refused chunk', () => {
  test('G2: every item is stored or named, exactly the guilty are named, within 1 + 2k * ceil(log2 n) requests', () => {
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

  test('G2: with a size limit beside the guilty, items are stored, guilty or too large alone, and nothing twice', () => {
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

  test('one guilty item among 500 takes 19 requests at most, and 11 where each left half is accepted: the right one is not sent whole', () => {
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

  test('a size that is known is kept: no part above it is sent', () => {
    const outcome = send(
      Array.from({ length: 64 }, () => 10),
      new Set(),
      100,
      100,
    );
    expect(outcome).toMatchObject({ tooLarge: [], guilty: [] });
    expect(outcome.requests).toBe(8);
  });

  test('a part whose outcome was not told is given again', () => {
    const halving = new ChunkHalving([1, 1]);
    expect(halving.next(100)).toEqual({ from: 0, to: 2 });
    expect(halving.next(100)).toEqual({ from: 0, to: 2 });
    halving.accepted();
    expect(halving.next(100)).toBeUndefined();
  });

  test('a learnt size never grows', () => {
    expect(maxBytesAfterTooLarge(1_000, 600)).toBe(300);
    expect(maxBytesAfterTooLarge(200, 600)).toBe(200);
    expect(maxBytesAfterTooLarge(200, 1)).toBe(1);
  });
});
