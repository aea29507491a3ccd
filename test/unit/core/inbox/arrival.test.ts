import { describe, expect, test } from 'vitest';
import {
  isAgainName,
  isTakenName,
  rejectsNameBeside,
  Settling,
  type Sighting,
} from '../../../../src/core/pipes/inbox.ts';

describe('names in an inbox', () => {
  test.each(['pipes.csv', 'PIPES.CSV', 'pipes.csv.gz', 'a b;$(rm -rf x).csv', 'pipes.again.csv'])('takes %s', (name) =>
    expect(isTakenName(name)).toBe(true),
  );

  test.each(['pipes.csv.part', 'pipes.tmp', '.pipes.csv', 'pipes.csv~', 'csv', 'pipes.csv.filepart', ''])(
    'leaves %s, which is still being copied or is no list',
    (name) => expect(isTakenName(name)).toBe(false),
  );

  test('only NAME.again.csv is pushed again', () => {
    expect(['p.again.csv', 'P.AGAIN.CSV.GZ', 'p.csv', 'again.csv', 'p.again.x.csv'].map(isAgainName)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test('rejected rows never take the name of their file', () => {
    for (const name of ['pipes.csv', 'rejects.csv', 'REJECTS.CSV']) {
      expect(rejectsNameBeside(name).toLowerCase()).not.toBe(name.toLowerCase());
    }
  });
});

describe('a file that is being written', () => {
  const sighting = (bytes: number, changedAtNs = '1', inode = '7'): Sighting => ({ inode, bytes, changedAtNs });
  const looks = (...steps: readonly (readonly [atMs: number, seen: Sighting])[]): readonly number[] => {
    const settling = new Settling(1_000);
    return steps.flatMap(([atMs, seen]) => (settling.poll(new Map([['f', seen]]), atMs).has('f') ? [atMs] : []));
  };

  test('is settled when it has looked the same for long enough, and not before', () => {
    expect(looks([0, sighting(5)], [500, sighting(5)], [1_000, sighting(5)], [1_500, sighting(5)])).toEqual([
      1_000, 1_500,
    ]);
  });

  test.each([
    ['grows', sighting(6)],
    ['shrinks', sighting(4)],
    ['is written at its old size', sighting(5, '2')],
    ['is replaced by another file', sighting(5, '1', '8')],
  ])('begins to wait again when it %s', (_, later) => {
    expect(looks([0, sighting(5)], [900, later], [1_800, later], [1_900, later])).toEqual([1_900]);
  });

  test('that was away is new when it is there again', () => {
    const settling = new Settling(1_000);
    const there = new Map([['f', sighting(5)]]);
    settling.poll(there, 0);
    settling.poll(new Map(), 500);
    expect([...settling.poll(there, 1_200)]).toEqual([]);
    expect([...settling.poll(there, 2_200)]).toEqual(['f']);
  });
});
