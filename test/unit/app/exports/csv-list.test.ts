/** List files of any size and kind end with words, and within a small heap. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { targetsOfTable } from '../../../../src/app/cleanups/cleanup-targets.ts';
import { columnOf, type CsvUse, EmptyListError, readCsv } from '../../../../src/app/exports/csv-list.ts';
import { UsageError } from '../../../../src/core/base/errors.ts';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), 'wellsync-lists-'))));
afterAll(() => rm(folder, { recursive: true }));

const use: CsvUse = { called: 'the file', pathHint: '', headerHint: '', record: 'well', columns: ['uwi'] };

const list = (text: string) => readCsv('-', Readable.from([text]), use);

async function uwisOf(text: string): Promise<readonly string[]> {
  return columnOf(await list(text), 'uwi', use);
}

async function refusalOf(act: Promise<unknown>): Promise<UsageError> {
  const error = await act.then(
    () => undefined,
    (fault: unknown) => fault,
  );
  if (error instanceof UsageError) return error;
  throw new Error('it was not refused in words', { cause: error });
}

describe('a list', () => {
  test('with a line of millions of cells is refused by its line', async () => {
    const { message } = await refusalOf(list(`uwi\n${'a,'.repeat(7_000_000)}\n`));
    expect(message).toBe('standard input is not CSV: line 2: it is longer than 2,097,152 characters');
  });

  test('with a million columns of which none is the one is refused with the first names', async () => {
    const { message } = await refusalOf(uwisOf(`${'c,'.repeat(1_000_000)}d\n`));
    expect(message).toMatch(/^standard input has no column uwi: its first line holds ("c", ){19}"c" and 999,981 more$/);
  });

  test('with a million columns of which one is the one is read', async () => {
    expect(await uwisOf(`${'c,'.repeat(1_000_000)}UWI\n${','.repeat(1_000_000)}A\n`)).toEqual(['A']);
  });

  test('keeps only the cells that were asked for, so that wide lists fit', async () => {
    const wide = `x,uwi${',y'.repeat(70)}\n${`,A${','.repeat(70)}\n`.repeat(100_000)}`;
    const { records } = await list(wide);
    expect(records).toHaveLength(100_000);
    expect(records.at(-1)).toEqual({ line: 100_001, width: 72, cells: ['A'] });
  });

  test('with a quote that is opened before millions of empty lines is refused by its line', async () => {
    const { message } = await refusalOf(list(`uwi\n\r\n"A${'\n'.repeat(1_000_000)}`));
    expect(message).toContain('line 3: a quote is opened in this row and never closed');
  });

  test('with its header alone is refused as empty', async () => {
    const refusal = await refusalOf(uwisOf('uwi\n'));
    expect(refusal).toBeInstanceOf(EmptyListError);
    expect(refusal.action).toEqual({ kind: 'allow-empty' });
  });
});

describe('a list at a path', () => {
  test.each([
    ['a pipe without a writer', 'fifo', 'it is no regular file'],
    ['a device that never ends', '/dev/zero', 'it is no regular file'],
    ['a folder', '.', 'it is a folder'],
    ['a link to itself', 'loop', 'its links lead in a circle'],
    ['a name that is too long', 'x'.repeat(300), 'its name is too long'],
  ])('that is %s is refused at once', async (_, name, words) => {
    const file = path.resolve(folder, name);
    if (name === 'fifo') execFileSync('mkfifo', [file]);
    if (name === 'loop') await symlink(file, file);
    expect((await refusalOf(readCsv(file, undefined, use))).message).toBe(`the file ${file} cannot be read: ${words}`);
  });

  test('that is a pipe is refused with the way to give what another program writes, where there is one', async () => {
    const file = path.join(folder, 'another-fifo');
    execFileSync('mkfifo', [file]);
    expect((await refusalOf(readCsv(file, Readable.from([]), use))).hint).toContain('give - for the file');
    expect((await refusalOf(readCsv(file, undefined, use))).hint).toBe(use.pathHint);
  });

  test('that is a link to a list is read', async () => {
    const [file, link] = [path.join(folder, 'wells.csv'), path.join(folder, 'link.csv')];
    await writeFile(file, '\uFEFFuwi\nA\n');
    await symlink(file, link);
    expect(columnOf(await readCsv(link, undefined, use), 'uwi', use)).toEqual(['A']);
  });
});

test('a table of targets counts the cells of a row by all columns of its file', () => {
  const table = {
    name: 't.csv',
    columns: ['kind', 'well', 'equipment', 'source_id'],
    found: ['note', 'kind', 'well', 'equipment', 'source_id'],
    rows: [
      { position: 'line 2', cells: ['wellbores', 'W', '', ''], width: 5 },
      { position: 'line 3', cells: ['wellbores', 'W', '', ''], width: 6 },
    ],
  };
  expect(() => targetsOfTable(table)).toThrow(
    expect.objectContaining({
      issues: ['line 3: it has 6 cells, and the first line 5: a comma within a cell must be quoted'],
    }),
  );
});
