/** Slices account for every row, keep to their limits, and hold the last version of each pipe. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  arrayBytes,
  SliceCutter,
  type PipeLoad,
  type PipeSlice,
  type RejectedLoad,
} from '../../src/core/pipe-slices.ts';

interface Load extends PipeLoad {
  readonly version: number;
}

const step = fc.record({
  isItem: fc.boolean(),
  pipe: fc.nat(6),
  bytes: fc.integer({ min: 1, max: 40 }),
  rowCount: fc.integer({ min: 1, max: 3 }),
});
const limits = fc.record({ maxItems: fc.integer({ min: 1, max: 5 }), maxBytes: fc.integer({ min: 2, max: 90 }) });

function cut(
  steps: readonly { isItem: boolean; pipe: number; bytes: number; rowCount: number }[],
  limit: { maxItems: number; maxBytes: number },
) {
  const cutter = new SliceCutter<Load, RejectedLoad>(() => limit);
  const slices: PipeSlice<Load, RejectedLoad>[] = [];
  const items: Load[] = [];
  steps.forEach(({ isItem, pipe, bytes, rowCount }, index) => {
    const end = { byte: index + 1, line: index + 2, form: 'wide' as const };
    const item = { key: `pipe ${pipe}`, bytes, rowCount, end, version: index };
    if (isItem) items.push(item);
    const slice = isItem ? cutter.add(item) : cutter.reject({ rowCount, end });
    if (slice !== undefined) slices.push(slice);
  });
  const last = cutter.flush();
  return { items, slices: last === undefined ? slices : [...slices, last] };
}

describe('slices of a file of pipes', () => {
  test('G2: the rows of all slices are the rows of the file, each as accepted, superseded or rejected', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { slices } = cut(steps, limit);
        const rowsOf = (loads: readonly { rowCount: number }[]): number =>
          loads.reduce((sum, { rowCount }) => sum + rowCount, 0);
        for (const { items, rejected, supersededRows, rowCount } of slices) {
          expect(rowsOf(items) + supersededRows + rowsOf(rejected)).toBe(rowCount);
        }
        expect(rowsOf(slices)).toBe(rowsOf(steps));
        expect(rowsOf(slices.flatMap(({ rejected }) => rejected))).toBe(rowsOf(steps.filter(({ isItem }) => !isItem)));
      }),
    );
  });

  test('G2: superseded are just the rows of whose pipe a later row is in the same slice', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { items, slices } = cut(steps, limit);
        let from = 0;
        for (const { end, supersededRows } of slices) {
          const inside = items.filter(({ version }) => version >= from && version < end.byte);
          const replaced = inside.filter((item, index) => inside.slice(index + 1).some(({ key }) => key === item.key));
          expect(supersededRows).toBe(replaced.reduce((sum, { rowCount }) => sum + rowCount, 0));
          from = end.byte;
        }
      }),
    );
  });

  test('G5: read in their order, slices end with the last version of every pipe, and hold each pipe once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { items, slices } = cut(steps, limit);
        const lastVersions = (loads: readonly Load[]): ReadonlyMap<string, number> =>
          new Map(loads.map(({ key, version }) => [key, version]));
        expect(lastVersions(slices.flatMap((slice) => slice.items))).toEqual(lastVersions(items));
        for (const slice of slices) expect(new Set(slice.items.map(({ key }) => key)).size).toBe(slice.items.length);
      }),
    );
  });

  test('a slice keeps to its items and bytes, unless one item alone is larger, and ends where the next one starts', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { slices } = cut(steps, limit);
        for (const { items, rejected, bytes } of slices) {
          expect(items.length).toBeLessThanOrEqual(limit.maxItems);
          expect(rejected.length).toBeLessThanOrEqual(limit.maxItems);
          expect(bytes).toBe(
            arrayBytes(
              items.reduce((sum, item) => sum + item.bytes, 0),
              items.length,
            ),
          );
          expect(items.length <= 1 || bytes <= limit.maxBytes).toBe(true);
        }
        const ends = slices.map(({ end }) => end.byte);
        expect(ends).toEqual(ends.toSorted((left, right) => left - right));
        expect(ends.at(-1)).toBe(steps.length === 0 ? undefined : steps.length);
      }),
    );
  });

  test('the bytes of a slice are those of its request body', () => {
    const bodies = ['{"a":1}', '{"b":"é"}', '{}'];
    const itemBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    expect(arrayBytes(itemBytes, bodies.length)).toBe(Buffer.byteLength(`[${bodies.join(',')}]`));
    expect(arrayBytes(0, 0)).toBe(2);
  });
});
