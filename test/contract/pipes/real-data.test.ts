/** Real networks: the reader's items against those of an independent reader. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { PipeItem, RejectedRows } from '../../../src/pipes/items.ts';
import { readPipes } from '../../../src/pipes/read-pipes.ts';
import { topologyOf } from '../../support/pipes.ts';
import { expectedPipes, realDataFolder, realPipeFiles, realPipesLack, textsOf } from '../../support/real-networks.ts';

async function read(file: string): Promise<{ items: PipeItem[]; rejected: RejectedRows[] }> {
  const items: PipeItem[] = [];
  const rejected: RejectedRows[] = [];
  for await (const { entries } of readPipes({ path: `${realDataFolder}/${file}` })) {
    for (const entry of entries)
      if (entry.kind === 'item') items.push(entry);
      else rejected.push(entry);
  }
  return { items, rejected };
}

describe('real networks', () => {
  beforeEach(({ skip }) => skip(realPipesLack !== undefined, realPipesLack));

  test.each(realPipeFiles)('the items of %s match an independent reader, with every digit', async (file) => {
    const { items, rejected } = await read(file);
    expect(rejected).toEqual([]);
    const expected = expectedPipes(file);
    expect(items.length).toBe(expected.length);
    for (const [index, item] of items.entries()) expect(textsOf(item.body)).toEqual(expected[index]);
  });

  test('the survey file is in the long form: its 2,317 rows make 18 items', async () => {
    const { items } = await read('pipes_bsee_stones_surveys_segments.csv');
    expect(items.length).toBe(18);
    expect(items.reduce((rows, { rowCount }) => rows + rowCount, 0)).toBe(2_317);
  });

  test('bwsn2 is one network, and its parallel pipes are not faults', async () => {
    const { items } = await read('pipes_bwsn2.csv');
    const report = topologyOf(items);
    const pairs = new Set(
      items.map(({ upstream = '', downstream = '' }) => [upstream, downstream].toSorted().join(' ')),
    );
    expect(pairs.size).toBeLessThan(items.length - 400);
    expect(report).toMatchObject({
      pipes: 14_822,
      networks: 1,
      duplicates: { count: 0 },
      parallels: { count: items.length - pairs.size },
      selfLoops: { count: 0 },
      openEnds: { count: 0 },
    });
  });
});
