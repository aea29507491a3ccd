import { describe, expect, test } from 'vitest';
import { targetsOfTable } from '../../../../src/app/cleanups/cleanup-targets.ts';
import { UsageError } from '../../../../src/core/base/errors.ts';

const columns = ['kind', 'well', 'equipment', 'source_id'];

function targetsOf(rows: readonly (readonly string[])[], head: readonly string[] = columns) {
  const placed = rows.map((cells, index) => ({ position: `line ${index + 2}`, cells }));
  return targetsOfTable({ name: 't.csv', columns: head, rows: placed });
}

function refusalOf(act: () => unknown): UsageError {
  try {
    act();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a table of targets', () => {
  test('names targets by its columns, in any order and case, and takes ids to the last blank', () => {
    const head = ['Source_ID', 'note', ' EQUIPMENT', 'well', 'kind'];
    const rows = [
      [' ø/1 ', 'x', 'EQ 1', '', 'Time-Series'],
      ['', '', '', '15/9 %2F', 'wellbores'],
      ['', '', '', 'W', 'Micro strings'],
    ];
    expect(targetsOf(rows, head)).toEqual([
      { kind: 'time-series', ownerId: 'EQ 1', sourceId: ' ø/1 ' },
      { kind: 'wellbores', ownerId: '15/9 %2F', sourceId: null },
      // As a plan shows the kind.
      { kind: 'micro-strings', ownerId: 'W', sourceId: null },
    ]);
  });

  test.each([
    [['pipes', 'W', '', ''], 'the kind "pipes" is none of time-series, micro-strings and wellbores'],
    [['', 'W', '', ''], 'the kind "" is none of'],
    [['wellbores', 'W', 'E', ''], 'it names both a well and equipment'],
    [['time-series', 'W', 'E', 'S'], 'it names both a well and equipment'],
    [['time-series', '', 'E', ''], 'a time series needs source_id'],
    [['time-series', '', '', ''], 'a time series needs equipment and source_id'],
    [['time-series', 'W', '', 'S'], 'a time series goes by its equipment, not by a well'],
    [['micro-strings', '', '', ''], 'micro strings need a well'],
    [['micro-strings', '', 'E', ''], 'micro strings go by their well, not by equipment'],
    [['wellbores', 'W', '', 'S'], 'all wellbores of a well are deleted together: source_id must be empty'],
    [['wellbores', '..', '', ''], '".." cannot be requested: no path can carry it'],
    [['time-series', '', 'E', '.'], '"." cannot be requested'],
    [['wellbores', '  ', '', ''], 'an id of blanks alone is none'],
    [['wellbores', 'a\u0000', '', ''], 'the id "a\\u0000" holds a control character'],
    [['time-series', '', 'E', 'a\nb'], 'the id "a\\nb" holds a control character'],
    [['wellbores', 'x'.repeat(200_000), '', ''], 'an id of 200,000 characters is none: they have 1,000 at most'],
    [['wellbores', 'W', ' A', '', ''], 'it has 5 cells, and the first line 4: a comma within a cell must be quoted'],
    [['wellbores', 'W'], 'it has 2 cells'],
  ])('refuses %j', (cells, words) => {
    const refusal = refusalOf(() => targetsOf([['wellbores', 'right', '', ''], cells]));
    expect(refusal.message).toBe('t.csv has 1 row with a fault');
    expect(refusal.issues).toEqual([expect.stringContaining(`line 3: ${words}`)]);
  });

  test('tells every fault at once, and of very many how many more there are', () => {
    const refusal = refusalOf(() => targetsOf(Array.from({ length: 25 }, () => ['pipes', 'W', '', ''])));
    expect(refusal.message).toBe('t.csv has 25 rows with a fault');
    expect(refusal.issues).toHaveLength(21);
    expect(refusal.issues.at(-1)).toBe('and 5 more');
  });

  test.each([
    [['kind', 'well', 'source_id'], 't.csv has no column equipment'],
    [['uwi'], 't.csv has no column kind, well, equipment and source_id'],
    [[...columns, 'Well'], 't.csv has more than one column well'],
    [columns, 't.csv names no target: it has no row'],
  ])('refuses the columns %j', (head, message) => {
    expect(refusalOf(() => targetsOf([], head)).message).toBe(message);
  });
});
