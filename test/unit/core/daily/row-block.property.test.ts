import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RowBlock, RowBlocks, RowColumnsBuilder } from '../../../../src/core/daily/row-columns.ts';
import { measureFields } from '../../../../src/core/daily/row.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { xidOf } from '../../../support/warehouse-batches.ts';

describe('the blocks of rows', () => {
  it('G8: are had by one window at a time, have room for an eighth more at the most, and few are kept', () => {
    const someStep = fc.oneof(
      fc.record({ kind: fc.constant('take' as const), rows: fc.nat(500) }),
      fc.record({ kind: fc.constant('give back' as const), at: fc.nat(20) }),
      fc.record({ kind: fc.constant('release' as const), at: fc.nat(20) }),
      fc.record({ kind: fc.constant('limit' as const), rows: fc.nat(2_000) }),
    );
    const property = fc.property(fc.array(someStep, { maxLength: 60 }), (steps) => {
      let mostSpareRows = 1_000;
      const blocks = new RowBlocks(() => mostSpareRows);
      const had: RowBlock[] = [];
      for (const step of steps) {
        if (step.kind === 'limit') mostSpareRows = step.rows;
        else if (step.kind === 'take') {
          const block = blocks.take(step.rows);
          expect(had.includes(block)).toBe(false);
          expect(block.capacity).toBeGreaterThanOrEqual(step.rows);
          expect(block.capacity).toBeLessThanOrEqual(step.rows * 1.125);
          had.push(block);
        } else {
          const [block] = had.splice(step.at, 1);
          if (block === undefined) continue;
          const rows = {};
          blocks.keepBlock(rows, block);
          if (step.kind === 'give back') blocks.giveBack(block);
          else for (let count = 0; count < 2; count += 1) blocks.release(rows);
        }
      }
      // What is still kept comes back once each.
      const kept = Array.from({ length: 200 }, () => blocks.take(had[0]?.capacity ?? 8));
      expect(new Set(kept).size).toBe(kept.length);
      expect(kept.filter((block) => had.includes(block))).toEqual([]);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('are kept up to the rows that may be spare, and dropped when fewer may', () => {
    let mostSpareRows = 2_048;
    const blocks = new RowBlocks(() => mostSpareRows);
    const [first, second, third] = [blocks.take(1_024), blocks.take(1_024), blocks.take(1_024)];
    for (const block of [first, second]) blocks.giveBack(block);
    expect([blocks.take(1_000), blocks.take(1_000)]).toEqual(expect.arrayContaining([first, second]));
    for (const block of [first, second]) blocks.giveBack(block);
    mostSpareRows = 1_024;
    blocks.giveBack(third);
    expect(blocks.take(1_024)).toBe(third);
    expect([first, second]).not.toContain(blocks.take(1_024));

    mostSpareRows = 3_072;
    for (const block of [first, second, third]) blocks.giveBack(block);
    mostSpareRows = 1_024;
    // One is taken, one is left, and one is dropped.
    const left = [blocks.take(1_024), blocks.take(1_024), blocks.take(1_024)];
    expect(left.filter((block) => [first, second, third].includes(block))).toHaveLength(2);
  });

  it('release the rows of a builder, and none that were copied', () => {
    const blocks = new RowBlocks(() => Infinity);
    const builder = new RowColumnsBuilder(blocks);
    const put = (target: RowColumnsBuilder, value: number): void => {
      const measures = measureFields.map(({ required }) => (required ? value : null));
      target.putRow(target.next, { xid: xidOf(value), instantMs: 0, day: 0, measures, extras: null });
    };
    put(builder, 1);
    const { block } = builder;
    const rows = builder.rows();
    blocks.release(rows);
    const next = new RowColumnsBuilder(blocks);
    expect(next.block).toBe(block);
    put(next, 2);
    put(next, 3);
    next.drop(0);
    const kept = next.rows();
    expect(rowsOf(kept)).toHaveLength(1);
    // Its block went back when the rows were copied.
    expect(blocks.take(8)).toBe(block);
    blocks.release(kept);
    expect(blocks.take(8)).not.toBe(block);
  });
});
