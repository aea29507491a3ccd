/** Room for rows that other windows had before: none of its values is 0. */
import { RowBlocks } from '../../src/core/daily/row-block.ts';

const mostRows = 64;
const ofEach = 3;

export function usedBlocks(): RowBlocks {
  const blocks = new RowBlocks(() => Infinity);
  const taken = Array.from({ length: ofEach * mostRows }, (_, index) => blocks.take((index % mostRows) + 1));
  for (const block of taken) {
    for (const values of Object.values(block)) {
      if (ArrayBuffer.isView(values)) new Uint8Array(values.buffer).fill(0xab);
    }
    blocks.giveBack(block);
  }
  return blocks;
}
