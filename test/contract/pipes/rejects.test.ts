import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PermanentError } from '../../../src/core/base/errors.ts';
import { rejectItem, type RejectedRow } from '../../../src/pipes/items.ts';
import { RejectsFile, rejectsHeader, rejectsText } from '../../../src/pipes/rejects-file.ts';
import { readText, type ReadText } from '../../support/pipes.ts';

const source = [
  '\uFEFFsourceId,Length,"sourceNetworkId"',
  'A,-1,N',
  'B,1,N',
  '"C, ""c""","[1, x]",  N',
  'D"d,1,N',
  '"two\r\nlines",1;y,N',
  'F,1',
].join('\n');

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-rejects-'));
  file = path.join(folder, 'rejects.csv');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function written(pushed: ReadText, rows: readonly RejectedRow[] = pushed.rejected): Promise<string> {
  await using rejects = await RejectsFile.open(file, 0);
  await rejects.append(rows, pushed.header);
  return await readFile(file, 'utf8');
}

describe('the rejects file', () => {
  test('a rejects file holds line, column and reason before the original cells, byte for byte', async () => {
    expect(await written(await readText(source))).toBe(
      [
        'reject_line,reject_column,reject_reason,sourceId,Length,"sourceNetworkId"',
        '2,Length,-1 is below 0,A,-1,N',
        '4,Length,"element 2 ""x"" is not a JSON number","C, ""c""","[1, x]",  N',
        '5,,"a quote stands inside a cell: double it, and quote the whole cell",D"d,1,N',
        '6,Length,"element 2 ""y"" is not a number","two\r\nlines",1;y,N',
        '8,,"has 2 cells, the header has 3",F,1',
        '',
      ].join('\n'),
    );
  });

  test('a rejects file pushed unchanged rejects the same rows, with the original cells', async () => {
    const first = await readText(source);
    const again = await readText(await written(first));
    expect(again.items).toEqual([]);
    expect(again.header.hasRejectColumns).toBe(true);
    expect(again.rejected.map(({ raw }) => raw)).toEqual(first.rejected.map(({ raw }) => raw));
    expect(again.rejected.map(({ reason }) => reason)).toEqual(first.rejected.map(({ reason }) => reason));
    expect(rejectsHeader(again.header)).toBe(rejectsHeader(first.header));
  });

  test('a corrected rejects file gives the corrected items', async () => {
    const text = (await written(await readText(source)))
      .replace(',A,-1,', ',A,1,')
      .replace('[1, x]', '[1, 2]')
      .replace('D"d', '"D""d"')
      .replace('1;y', '1;2')
      .replace(',F,1', ',F,1,N');
    const mended = await readText(text);
    expect(mended.rejected).toEqual([]);
    expect(mended.items.map(({ sourceId }) => sourceId)).toEqual(['A', 'C, "c"', 'D"d', 'two\r\nlines', 'F']);
  });

  test('a rejects file has the delimiter of the pushed file', async () => {
    const pushed = await readText('sourceNetworkId|sourceId|length\nN|A|-1\n', { delimiter: '|' });
    const again = await readText(rejectsHeader(pushed.header) + rejectsText(pushed.rejected, '|'), {
      delimiter: '|',
    });
    expect(again.rejected.map(({ raw }) => raw)).toEqual(['N|A|-1']);
  });

  test('a refused long item rejects each of its rows, with the service’s reason on one line', async () => {
    const pushed = await readText('sourceNetworkId,sourceId,length\nN,A,1\nN,A,2\n');
    const rejects = pushed.items.flatMap((item) => rejectItem(item, pushed.header, '409: no,\r\n "thanks"').rows);
    expect(await written(pushed, rejects)).toBe(
      'reject_line,reject_column,reject_reason,sourceNetworkId,sourceId,length\n' +
        '2,,"409: no, ""thanks""",N,A,1\n3,,"409: no, ""thanks""",N,A,2\n',
    );
  });
});

describe('a rejects file after a crash', () => {
  test('G7: rejects behind the checkpoint are cut off after a crash, torn or not, and written again once', async () => {
    const { rejected, header } = await readText(source);
    let checkpoint = 0;
    {
      await using rejects = await RejectsFile.open(file, 0);
      checkpoint = await rejects.append(rejected.slice(0, 2), header);
      await rejects.append(rejected.slice(2), header);
    }
    await appendFile(file, '9,,torn in the mid');
    {
      await using rejects = await RejectsFile.open(file, checkpoint);
      expect(await rejects.append(rejected.slice(2), header)).toBe((await stat(file)).size);
    }
    expect(await readFile(file, 'utf8')).toBe(rejectsHeader(header) + rejectsText(rejected, ','));
  });

  test('G2: what a paused worker still appends, after another has taken its push, is in no file', async () => {
    const pushed = await readText(source);
    const [first, ...rest] = pushed.rejected;
    await using paused = await RejectsFile.open(file, 0);
    const bytes = await paused.append(first === undefined ? [] : [first], pushed.header);
    await using other = await RejectsFile.open(file, bytes);
    await paused.append(rest, pushed.header);
    await other.append(rest, pushed.header);
    expect(await readFile(file, 'utf8')).toBe(rejectsHeader(pushed.header) + rejectsText(pushed.rejected, ','));
  });

  test('a new run removes an old rejects file, and creates none before its first reject', async () => {
    await writeFile(file, 'of an earlier attempt\n');
    await using rejects = await RejectsFile.open(file, 0);
    await rejects.append([], (await readText(source)).header);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  test('G2: a removed or shortened rejects file is an error, not a shorter list', async () => {
    await expect(RejectsFile.open(file, 10)).rejects.toThrow(PermanentError);
    await writeFile(file, 'short');
    await expect(RejectsFile.open(file, 10)).rejects.toThrow(/has 5 bytes, and the run had written 10/);
  });
});
