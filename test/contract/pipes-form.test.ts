/** The wide and the long form, recognised by the cells or insisted on (docs/decisions/pipes-long-form.md). */
import { describe, expect, test } from 'vitest';
import type { ReadPipesOptions } from '../../src/pipes/read-pipes.ts';
import { readText } from '../support/pipes.ts';

const header = 'sourceNetworkId,sourceId,date,length,trueVerticalDepth\n';

/** Rows as `id,length,depth`, all of one network and, unless a fourth cell names it, one date. */
function fileOf(rows: readonly string[]): string {
  const lines = rows.map((row) => {
    const [id = '', length = '', depth = '', day = '01'] = row.split(',');
    return `N,${id},2020-01-${day}T00:00:00Z,${length},${depth}\n`;
  });
  return header + lines.join('');
}

async function formOf(rows: readonly string[], form: NonNullable<ReadPipesOptions['form']> = 'auto') {
  const reading = await readText(fileOf(rows), { form });
  const items = reading.items.map(({ sourceId, body }) => {
    const { length, trueVerticalDepth } = JSON.parse(body) as { length?: number[]; trueVerticalDepth?: number[] };
    return `${sourceId} ${JSON.stringify(length ?? null)} ${JSON.stringify(trueVerticalDepth ?? null)}`;
  });
  return {
    form: reading.form,
    items,
    lines: reading.rejected.map(({ line }) => line),
    faults: reading.faults,
    reading,
  };
}

describe('the form of a file', () => {
  test('is long when two rows of one pipe differ in their numbers alone: consecutive rows are one item', async () => {
    const { form, items, reading } = await formOf(['A,1,10', 'A,2,20', 'A,2,20', 'B,5,50', 'C,6,60', 'C,7,70']);
    expect(form).toBe('long');
    expect(items).toEqual(['A [1,2,2] [10,20,20]', 'B [5] [50]', 'C [6,7] [60,70]']);
    expect(reading.items.map(({ rowCount, firstLine, lastLine }) => [rowCount, firstLine, lastLine])).toEqual([
      [3, 2, 4],
      [1, 5, 5],
      [2, 6, 7],
    ]);
  });

  test.each(['"[1,2]",10', '1;2,10'])(
    'is wide when a cell is a list (%s): rows of one pipe stay rows, the last of which wins',
    async (list) => {
      const text = `${header}N,A,2020-01-01T00:00:00Z,3,30\nN,A,2020-01-01T00:00:00Z,${list}\nN,A,2020-01-01T00:00:00Z,4,40\nN,A,2020-01-01T00:00:00Z,5,50\n`;
      const { form, items } = await readText(text);
      expect(form).toBe('wide');
      expect(items.map(({ firstLine, rowCount }) => [firstLine, rowCount])).toEqual([
        [2, 1],
        [3, 1],
        [4, 1],
        [5, 1],
      ]);
    },
  );

  test('is told by nothing when every pipe has one row, or another date: both forms read the same', async () => {
    const rows = ['A,1,10', 'B,2,20', 'B,3,30,02', 'C,,'];
    const auto = await formOf(rows);
    expect(auto.form).toBe('undecided');
    expect((await formOf(rows, 'long')).items).toEqual(auto.items);
    expect((await formOf(rows, 'wide')).items).toEqual(auto.items);
  });

  test('is as insisted', async () => {
    expect((await formOf(['A,1,10', 'A,2,20'], 'wide')).items).toEqual(['A [1] [10]', 'A [2] [20]']);
    expect((await formOf(['A,1,10', 'A,1,10'], 'long')).items).toEqual(['A [1,1] [10,10]']);
    const [together] = (await formOf(['A,1;2,10;20'], 'long')).faults;
    expect(together).toMatch(/^line 2, column length trueVerticalDepth: holds a list [^;]*$/);
    expect((await formOf(['A,1;2,10'], 'long')).faults).toEqual([
      'line 2, column length: holds a list in a file of the long form, where a cell is one number: insist on the wide form if it is none',
    ]);
  });

  test('is not guessed from equal rows: they are rejected until somebody insists', async () => {
    const { form, items, lines, faults } = await formOf(['A,1,10', 'A,1,10', 'B,2,20']);
    expect([form, items, lines]).toEqual(['undecided', ['B [2] [20]'], [2, 3]]);
    expect(faults[0]).toMatch(/the same row 2 times.*insist/);
    expect((await formOf(['A,,', 'A,,'])).items.length).toBe(2);
  });

  test('that was long stays long: a list behind it is a fault of its row', async () => {
    const { items, lines } = await formOf(['A,1,10', 'A,2,20', 'B,1;2,10', 'C,3,30']);
    expect([items, lines]).toEqual([['A [1,2] [10,20]', 'C [3] [30]'], [4]]);
  });
});

describe('an item of the long form', () => {
  const long = ['X,1,1', 'X,2,2'];
  const longItem = 'X [1,2] [1,2]';

  test('may start or end with empty cells, and has no field for a column that is empty', async () => {
    expect((await formOf([...long, 'A,,10', 'A,1,20', 'A,2,', 'B,1,', 'B,2,'])).items).toEqual([
      longItem,
      'A [1,2] [10,20]',
      'B [1,2] null',
    ]);
  });

  test('is rejected with all its rows when one has a fault, or a gap that hides which segment has no number', async () => {
    const { items, faults, reading } = await formOf([...long, 'A,1,10', 'A,x,20', 'A,3,30', 'B,1,1', 'B,,2', 'B,3,3']);
    expect(items).toEqual([longItem]);
    expect(faults).toEqual([
      'line 4: belongs to the pipe of line 5, which is rejected',
      'line 5, column length: "x" is not a number',
      'line 6: belongs to the pipe of line 5, which is rejected',
      ...[7, 8, 9].map((line) => `line ${line}, column length: is empty on line 8, between two numbers of the pipe`),
    ]);
    expect(reading.rejected.map(({ raw }) => raw)[1]).toBe('N,A,2020-01-01T00:00:00Z,x,20');
  });

  test('is rejected as well when nobody can tell whose a row in its midst is', async () => {
    const text = `${fileOf(long)}N,A,2020-01-01T00:00:00Z,1,1\n"\nN,A,2020-01-01T00:00:00Z,2,2\n,\nN,B,2020-01-01T00:00:00Z,3,3\n`;
    const { items, rejected } = await readText(text);
    expect(items.map(({ sourceId }) => sourceId)).toEqual(['X', 'B']);
    expect(rejected.map(({ line }) => line)).toEqual([4, 5, 6, 7]);
  });

  test('G8: has no more rows than memory may hold: a longer one ends the reading, and nothing of it leaves', async () => {
    const rows = Array.from({ length: 11 }, (_, index) => `A,${index},1`);
    const tooLong = readText(fileOf([...long, ...rows]), { maxSegments: 10 });
    await expect(tooLong).rejects.toThrow('line 14: more than 10 rows of one pipe follow each other');
    const strays = `${',\n'.repeat(30)}N,B,2020-01-01T00:00:00Z,1,1\n`;
    const { items, rejected } = await readText(fileOf(long) + strays, { maxSegments: 10 });
    expect([items.map(({ sourceId }) => sourceId), rejected.length]).toEqual([['X', 'B'], 30]);
  });

  test('has another date: it is another item', async () => {
    expect((await formOf([...long, 'X,3,3,02', 'X,4,4,02'])).items).toEqual([longItem, 'X [3,4] [3,4]']);
  });
});
