import { describe, expect, it } from 'vitest';
import { LoggedRows, rowGroupRows } from '../../../src/warehouse/duckdb/file/database-file.ts';

/** The rows with which the log is brought in, for commits of these sizes. */
function fillings(commits: readonly number[]): readonly number[] {
  const logged = new LoggedRows();
  const found: number[] = [];
  let rows = 0;
  for (const commit of commits) {
    rows += commit;
    if (!logged.takeIn(commit)) continue;
    found.push(rows);
    rows = 0;
  }
  return found;
}

const times = (count: number, rows: number): readonly number[] => Array.from({ length: count }, () => rows);

describe('the log of a DuckDB file', () => {
  it.each([
    [times(10, 29_600), [118_400, 118_400]],
    [times(4, 60_000), [120_000, 120_000]],
    [times(4, 48_000), [96_000, 96_000]],
    [times(2, 300_000), [300_000, 300_000]],
    [times(100, 700), []],
    [times(1_000, 0), []],
  ])('is brought in before a row group would be more than full', (commits, expected) => {
    expect(fillings(commits)).toEqual(expected);
  });

  it('never has more rows than a row group while commits are of one size', () => {
    for (let rows = 1; rows <= rowGroupRows; rows += 997) {
      for (const filling of fillings(times(2 * Math.ceil(rowGroupRows / rows), rows))) {
        expect(filling).toBeLessThanOrEqual(rowGroupRows);
        expect(filling + rows).toBeGreaterThan(rowGroupRows);
      }
    }
  });
});
