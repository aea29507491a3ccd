import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  arrayBytes,
  ChunkCutter,
  type PipeLoad,
  type PipeChunk,
  type RejectedLoad,
} from '../../../../src/core/pipes/chunk-cutter.ts';

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
  const cutter = new ChunkCutter<Load, RejectedLoad>(() => limit);
  const chunks: PipeChunk<Load, RejectedLoad>[] = [];
  const items: Load[] = [];
  steps.forEach(({ isItem, pipe, bytes, rowCount }, index) => {
    const end = { byte: index + 1, line: index + 2, form: 'wide' as const };
    const item = { key: `pipe ${pipe}`, bytes, rowCount, end, version: index };
    if (isItem) items.push(item);
    const chunk = isItem ? cutter.add(item) : cutter.reject({ rowCount, end });
    if (chunk !== undefined) chunks.push(chunk);
  });
  const last = cutter.flush();
  return { items, chunks: last === undefined ? chunks : [...chunks, last] };
}

describe('chunks of a file of pipes', () => {
  test('G2: the chunks of a file hold each of its rows once, as item, superseded or rejected', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { chunks } = cut(steps, limit);
        const rowsOf = (loads: readonly { rowCount: number }[]): number =>
          loads.reduce((sum, { rowCount }) => sum + rowCount, 0);
        for (const { items, rejected, supersededRows, rowCount } of chunks) {
          expect(rowsOf(items) + supersededRows + rowsOf(rejected)).toBe(rowCount);
        }
        expect(rowsOf(chunks)).toBe(rowsOf(steps));
        expect(rowsOf(chunks.flatMap(({ rejected }) => rejected))).toBe(rowsOf(steps.filter(({ isItem }) => !isItem)));
      }),
    );
  });

  test('G2: a row is superseded exactly when a later row of its pipe is in the same chunk', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { items, chunks } = cut(steps, limit);
        let from = 0;
        for (const { end, supersededRows } of chunks) {
          const inside = items.filter(({ version }) => version >= from && version < end.byte);
          const replaced = inside.filter((item, index) => inside.slice(index + 1).some(({ key }) => key === item.key));
          expect(supersededRows).toBe(replaced.reduce((sum, { rowCount }) => sum + rowCount, 0));
          from = end.byte;
        }
      }),
    );
  });

  test('G5: the chunks of a file, in order, end with the last version of every pipe, and each holds a pipe once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { items, chunks } = cut(steps, limit);
        const lastVersions = (loads: readonly Load[]): ReadonlyMap<string, number> =>
          new Map(loads.map(({ key, version }) => [key, version]));
        expect(lastVersions(chunks.flatMap((chunk) => chunk.items))).toEqual(lastVersions(items));
        for (const chunk of chunks) expect(new Set(chunk.items.map(({ key }) => key)).size).toBe(chunk.items.length);
      }),
    );
  });

  test('a chunk keeps its limits of items and bytes, unless a single item is larger, and ends where the next one starts', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), limits, (steps, limit) => {
        const { chunks } = cut(steps, limit);
        for (const { items, rejected, bytes } of chunks) {
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
        const ends = chunks.map(({ end }) => end.byte);
        expect(ends).toEqual(ends.toSorted((left, right) => left - right));
        expect(ends.at(-1)).toBe(steps.length === 0 ? undefined : steps.length);
      }),
    );
  });

  test('the bytes of a chunk are those of its request body', () => {
    const bodies = ['{"a":1}', '{"b":"é"}', '{}'];
    const itemBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    expect(arrayBytes(itemBytes, bodies.length)).toBe(Buffer.byteLength(`[${bodies.join(',')}]`));
    expect(arrayBytes(0, 0)).toBe(2);
  });
});
