/**
 * The wide and the long form, recognised from the cells or set by the operator
 * (docs/decisions/0004-pipes-long-form.md).
 */
import { describe, expect, test } from 'vitest';
import type { ReadPipesOptions } from '../../../src/pipes/read-pipes.ts';
import { readText } from '../../support/pipes.ts';

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
  test('two rows of one pipe that differ only in their numbers make a file long: consecutive rows are one item', async () => {
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
    'a list in a cell (%s) makes a file wide: each row of a pipe is an item',
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

  test('a file with one row for each pipe and date is undecided, and reads the same in both forms', async () => {
    const rows = ['A,1,10', 'B,2,20', 'B,3,30,02', 'C,,'];
    const auto = await formOf(rows);
    expect(auto.form).toBe('undecided');
    expect((await formOf(rows, 'long')).items).toEqual(auto.items);
    expect((await formOf(rows, 'wide')).items).toEqual(auto.items);
  });

  test('a form set by the operator is used', async () => {
    expect((await formOf(['A,1,10', 'A,2,20'], 'wide')).items).toEqual(['A [1] [10]', 'A [2] [20]']);
    expect((await formOf(['A,1,10', 'A,1,10'], 'long')).items).toEqual(['A [1,1] [10,10]']);
    const [together] = (await formOf(['A,1;2,10;20'], 'long')).faults;
    expect(together).toMatch(/^line 2, column length trueVerticalDepth: holds a list [^;]*$/);
    expect((await formOf(['A,1;2,10'], 'long')).faults).toEqual([
      'line 2, column length: holds a list in a file of the long form, where a cell is one number: insist on the wide form if it is none',
    ]);
  });

  test('equal rows do not decide the form: they are rejected until the operator sets it', async () => {
    const { form, items, lines, faults } = await formOf(['A,1,10', 'A,1,10', 'B,2,20']);
    expect([form, items, lines]).toEqual(['undecided', ['B [2] [20]'], [2, 3]]);
    expect(faults[0]).toMatch(/the same row 2 times.*insist/);
    expect((await formOf(['A,,', 'A,,'])).items.length).toBe(2);
  });

  test('a long file stays long: a later list is a fault of its row', async () => {
    const { items, lines } = await formOf(['A,1,10', 'A,2,20', 'B,1;2,10', 'C,3,30']);
    expect([items, lines]).toEqual([['A [1,2] [10,20]', 'C [3] [30]'], [4]]);
  });
});

describe('an item of the long form', () => {
  const long = ['X,1,1', 'X,2,2'];
  const longItem = 'X [1,2] [1,2]';

  test('a long item may start or end with empty cells, and lacks the field of an empty column', async () => {
    expect((await formOf([...long, 'A,,10', 'A,1,20', 'A,2,', 'B,1,', 'B,2,'])).items).toEqual([
      longItem,
      'A [1,2] [10,20]',
      'B [1,2] null',
    ]);
  });

  test('a long item is rejected with all its rows when one has a fault, or a column has a gap between numbers', async () => {
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

  test('a long item is rejected when a row in its midst has no readable id', async () => {
    const text = `${fileOf(long)}N,A,2020-01-01T00:00:00Z,1,1\n"\nN,A,2020-01-01T00:00:00Z,2,2\n,\nN,B,2020-01-01T00:00:00Z,3,3\n`;
    const { items, rejected } = await readText(text);
    expect(items.map(({ sourceId }) => sourceId)).toEqual(['X', 'B']);
    expect(rejected.map(({ line }) => line)).toEqual([4, 5, 6, 7]);
  });

  test('G8: a long item with more rows than allowed ends the read, and none of its rows is emitted', async () => {
    const rows = Array.from({ length: 11 }, (_, index) => `A,${index},1`);
    const tooLong = readText(fileOf([...long, ...rows]), { maxSegments: 10 });
    await expect(tooLong).rejects.toThrow('line 14: more than 10 rows of one pipe follow each other');
    const strays = `${',\n'.repeat(30)}N,B,2020-01-01T00:00:00Z,1,1\n`;
    const { items, rejected } = await readText(fileOf(long) + strays, { maxSegments: 10 });
    expect([items.map(({ sourceId }) => sourceId), rejected.length]).toEqual([['X', 'B'], 30]);
  });

  test('rows of one pipe with another date make another item', async () => {
    expect((await formOf([...long, 'X,3,3,02', 'X,4,4,02'])).items).toEqual([longItem, 'X [3,4] [3,4]']);
  });
});
