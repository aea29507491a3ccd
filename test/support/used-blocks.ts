/** Room for rows that other windows had before: none of its values is 0. */
import { RowBlocks } from '../../src/core/daily/row-columns.ts';

const mostRows = 64;
const ofEach = 3;
/** Blocks are rounded up: these are all that windows of up to so many rows are given. */
const capacities = [
  ...new Set(Array.from({ length: mostRows }, (_, index) => new RowBlocks().take(index + 1).capacity)),
];

export function usedBlocks(): RowBlocks {
  const blocks = new RowBlocks(() => Infinity);
  const taken = capacities.flatMap((rows) => Array.from({ length: ofEach }, () => blocks.take(rows)));
  for (const block of taken) {
    for (const values of Object.values(block)) {
      if (ArrayBuffer.isView(values)) new Uint8Array(values.buffer).fill(0xab);
    }
    blocks.giveBack(block);
  }
  return blocks;
}
