import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { AbortedError } from '../../../src/core/base/errors.ts';
import { readPipes } from '../../../src/pipes/read-pipes.ts';
import { readText, tenColumns } from '../../support/pipes.ts';

const row = 'N,A,2020-01-01T00:00:00Z,u,d,true,[1],[2],[3],[4]';

describe('the columns of a file of pipes', () => {
  test('columns are recognised in any order and case, with a byte order mark, CRLF and quoted line ends', async () => {
    const text =
      '\uFEFFROUGHNESS,SourceId,"sourcenetworkid",LENGTH\r\n0.5,"two\r\nlines",N,"[1,2]"\r\n\r\n0.5,B,N,7\r\n';
    const { bodies, items } = await readText(text);
    expect(bodies).toEqual([
      { sourceNetworkId: 'N', sourceId: 'two\r\nlines', length: [1, 2], roughness: [0.5] },
      { sourceNetworkId: 'N', sourceId: 'B', length: [7], roughness: [0.5] },
    ]);
    expect(items.map(({ firstLine, lastLine }) => [firstLine, lastLine])).toEqual([
      [2, 3],
      [5, 5],
    ]);
  });

  test('columns may have aliases and another delimiter, and all but the ids may be absent', async () => {
    const options = { delimiter: ';', aliases: { Net: 'sourceNetworkId', pipe: 'sourceId' } } as const;
    const { bodies, header } = await readText('net;PIPE;length\nN;A;"1;2"\n', options);
    expect(bodies).toEqual([{ sourceNetworkId: 'N', sourceId: 'A', length: [1, 2] }]);
    expect(header.missing).toContain('innerDiameter');
  });

  test.each([
    ['', /the file is empty/],
    [`${row}\n`, /has no header/],
    ['sourceNetworkId;sourceId\nN;A\n', /has no header/],
    ['sourceNetworkId,length\nN,1\n', /there is no column sourceId/],
    ['sourceNetworkId,sourceId,LENGTH,length\nN,A,1,1\n', /the column length stands there twice/],
    ['sourceNetworkId,sourceId,colour,\nN,A,red,\n', /unknown columns: colour, \(without a name\)/],
    ['sourceNetworkId,sourceId,lenght\nN,A,1\n', /unknown column: lenght \(length\?\)$/],
    [`sourceNetworkId,"sourceId\nN,A\n`, /cannot be read: line 1: a quote is opened on this line and not closed/],
    ['sourceNetworkId,sourceId\rN,A\r', /has no header/],
  ])('a file with a missing or wrong header is refused as a whole: %j', async (text, message) => {
    await expect(readText(text)).rejects.toThrow(message);
  });

  test('unknown columns are ignored on request', async () => {
    const { bodies, header } = await readText('colour,sourceNetworkId,sourceId\nred,N,A\n', {
      ignoreUnknownColumns: true,
    });
    expect(bodies).toEqual([{ sourceNetworkId: 'N', sourceId: 'A' }]);
    expect(header.ignored).toEqual(['colour']);
  });
});

describe('the encoding of a file of pipes', () => {
  const text = `${tenColumns}\n${row}\nN,Grøn,2020-01-01T00:00:00Z,u,d,true,[1],[2],[3],[4]\n`;

  test.each([
    ['UTF-16 LE', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['UTF-16 LE without a byte order mark', Buffer.from(text, 'utf16le')],
    ['UTF-16 BE', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
    ['UTF-16 BE without a byte order mark', Buffer.from(text, 'utf16le').swap16()],
  ])('a file in %s is refused with the name of the encoding', async (name, bytes) => {
    await expect(readText(bytes)).rejects.toThrow(`the file is not UTF-8: it looks like ${name}`);
  });

  test('a Latin-1 file is refused with line and byte', async () => {
    const at = Buffer.from(text, 'latin1').indexOf(0xf8) + 1;
    await expect(readText(Buffer.from(text, 'latin1'))).rejects.toThrow(
      `byte 0xF8 on line 3 (byte ${at} of the text) looks like Latin-1`,
    );
  });

  test('a gzip file is unpacked; a cut one is refused', async () => {
    const packed = gzipSync(Buffer.from(text));
    expect((await readText(packed)).items.map(({ sourceId }) => sourceId)).toEqual(['A', 'Grøn']);
    await expect(readText(packed.subarray(0, packed.length - 12))).rejects.toThrow(/gzip file that cannot be unpacked/);
  });
});

describe('a row whose quotes are broken', () => {
  const good = (id: string): string => `N,${id},2020-01-01T00:00:00Z,u,d,true,"[1]","[2]","[3]","[4]"\n`;

  test.each([
    ['a quote that opens in the last cell', 'N,B,2020-01-01T00:00:00Z,u,d,true,"[1]","[2]","[3]","[4]'],
    ['a quote that opens in the first cell', '"N,B,2020-01-01T00:00:00Z,u,d,true,[1],[2],[3],[4]'],
    ['text behind a closing quote', 'N,"B"x,2020-01-01T00:00:00Z,u,d,true,"[1]","[2]","[3]","[4]"'],
    ['a quote inside a bare cell', 'N,B"x,2020-01-01T00:00:00Z,u,d,true,"[1]","[2]","[3]","[4]"'],
    ['a cell too few', 'N,B,2020-01-01T00:00:00Z,u,d,true,"[1]","[2]","[3]"'],
    ['the header again', tenColumns],
  ])('a broken row rejects that row alone: %s', async (_, broken) => {
    const { items, rejected } = await readText(`${tenColumns}\n${good('A')}${broken}\n${good('C')}${good('D')}`);
    expect(items.map(({ sourceId, firstLine }) => [sourceId, firstLine])).toEqual([
      ['A', 2],
      ['C', 4],
      ['D', 5],
    ]);
    expect(rejected).toMatchObject([{ line: 3, raw: broken }]);
  });

  test('an unclosed quote rejects one row alone, at the end of the file and before more text than a row may have', async () => {
    const bare = (id: number): string => `N,${id},2020-01-01T00:00:00Z,u,d,true,1,2,3,4\n`;
    const many = Array.from({ length: 200 }, (_, id) => bare(id)).join('');
    const { items, rejected } = await readText(`${tenColumns}\n"${bare(1000)}${many}"${bare(1001)}`, {
      maxRowBytes: 500,
    });
    expect(items.length).toBe(200);
    expect(rejected.map(({ line }) => line)).toEqual([2, 203]);
  });

  test('a line longer than a row may be ends the read', async () => {
    await expect(readText(`${tenColumns}\n${'x'.repeat(2_000)}`, { maxRowBytes: 500 })).rejects.toThrow(
      /line 2 is longer than 500 bytes/,
    );
  });
});

test('a read that stops after its first block closes the file', async () => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'wellsync-pipes-')), 'pipes.csv');
  writeFileSync(file, `${tenColumns}\n${`${row}\n`.repeat(5_000)}`);
  for await (const batch of readPipes({ path: file })) {
    expect(batch.header).toBeDefined();
    break;
  }
  const isOpen = () => readdirSync('/proc/self/fd').some((fd) => linkOf(`/proc/self/fd/${fd}`) === file);
  await expect.poll(isOpen).toBe(false);
  rmSync(path.dirname(file), { recursive: true });
});

function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(fd);
  } catch {
    return undefined;
  }
}

test('a read stops on the signal', async () => {
  const stop = new AbortController();
  const source = {
    stream: Readable.from([Buffer.from(`${tenColumns}\n${`${row}\n`.repeat(5_000)}`)]),
    name: 'the file',
  };
  const batches = readPipes(source, { signal: stop.signal });
  await batches.next();
  stop.abort();
  await expect(batches.next()).rejects.toThrow(AbortedError);
});
