/** Which bytes are a file of pipes: encodings, headers, delimiters, and rows whose quotes are broken. */
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { AbortedError } from '../../src/core/errors.ts';
import { readPipes } from '../../src/pipes/read-pipes.ts';
import { readText, tenColumns } from '../support/pipes.ts';

const row = 'N,A,2020-01-01T00:00:00Z,u,d,true,[1],[2],[3],[4]';

describe('the columns of a file of pipes', () => {
  test('are known in any order and any case, with a byte order mark, CRLF, and quoted line ends', async () => {
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

  test('may go by an alias, be parted by another delimiter, and leave out all but the ids', async () => {
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
  ])('are refused as a whole: %j', async (text, message) => {
    await expect(readText(text)).rejects.toThrow(message);
  });

  test('that are unknown are left aside on request', async () => {
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
  ])('is named when it is %s', async (name, bytes) => {
    await expect(readText(bytes)).rejects.toThrow(`the file is not UTF-8: it looks like ${name}`);
  });

  test('is named with line and byte when it is Latin-1', async () => {
    const at = Buffer.from(text, 'latin1').indexOf(0xf8) + 1;
    await expect(readText(Buffer.from(text, 'latin1'))).rejects.toThrow(
      `byte 0xF8 on line 3 (byte ${at} of the text) looks like Latin-1`,
    );
  });

  test('may be packed; a packed file that is cut says so', async () => {
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
  ])('costs that row alone: %s', async (_, broken) => {
    const { items, rejected } = await readText(`${tenColumns}\n${good('A')}${broken}\n${good('C')}${good('D')}`);
    expect(items.map(({ sourceId, firstLine }) => [sourceId, firstLine])).toEqual([
      ['A', 2],
      ['C', 4],
      ['D', 5],
    ]);
    expect(rejected).toMatchObject([{ line: 3, raw: broken }]);
  });

  test('costs that row alone at the end of the file, and where no quote follows for longer than a row may be', async () => {
    const bare = (id: number): string => `N,${id},2020-01-01T00:00:00Z,u,d,true,1,2,3,4\n`;
    const many = Array.from({ length: 200 }, (_, id) => bare(id)).join('');
    const { items, rejected } = await readText(`${tenColumns}\n"${bare(1000)}${many}"${bare(1001)}`, {
      maxRowBytes: 500,
    });
    expect(items.length).toBe(200);
    expect(rejected.map(({ line }) => line)).toEqual([2, 203]);
  });

  test('ends the reading when it is one endless line', async () => {
    await expect(readText(`${tenColumns}\n${'x'.repeat(2_000)}`, { maxRowBytes: 500 })).rejects.toThrow(
      /line 2 is longer than 500 bytes/,
    );
  });
});

test('reading stops on the signal', async () => {
  const stop = new AbortController();
  const source = {
    stream: Readable.from([Buffer.from(`${tenColumns}\n${`${row}\n`.repeat(5_000)}`)]),
    name: 'the file',
  };
  const reading = readPipes(source, { signal: stop.signal });
  await reading.next();
  stop.abort();
  await expect(reading.next()).rejects.toThrow(AbortedError);
});
