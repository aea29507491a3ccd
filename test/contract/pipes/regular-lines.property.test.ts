import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasPlainDelimiter, takeRegularLines } from '../../../src/pipes/csv-rows.ts';

function regularRows(
  text: string,
  delimiter: string,
): { readonly rows: readonly (readonly string[])[]; readonly rest: string } {
  const bytes = Buffer.from(text);
  const rows: (readonly string[])[] = [];
  const end = takeRegularLines(bytes, 0, delimiter, (cells) => void (cells.length > 0 && rows.push(cells)));
  return { rows, rest: bytes.toString('utf8', end) };
}

const piece = fc.constantFrom(
  'a',
  'é',
  '1',
  '"',
  '""',
  ',',
  ';',
  ' ',
  '\r',
  '\n',
  '\r\n',
  '[1,2]',
  '"[1,2]"',
  '\u0000',
  '',
);
const someText = fc.array(piece, { maxLength: 30 }).map((pieces) => `${pieces.join('')}\n`);

describe('lines that need no parser', () => {
  test('lines that need no parser give the rows of the parser, for any text and delimiter', () => {
    fc.assert(
      fc.property(someText, fc.constantFrom(',', ';', ' '), (text, delimiter) => {
        const { rows, rest } = regularRows(text, delimiter);
        const taken = text.slice(0, text.length - rest.length);
        const parsed = parse(taken, {
          delimiter,
          record_delimiter: ['\r\n', '\n'],
          relax_column_count: true,
          relax_quotes: true,
          skip_empty_lines: true,
        });
        expect(rows).toEqual(parsed);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['a quote inside a cell', 'a"b,c\n'],
    ['a doubled quote', '"a""b",c\n'],
    ['text behind a closing quote', '"a"b,c\n'],
    ['a cell that continues on the next line', '"a\nb",c\n'],
  ])('a line with %s is left to the parser', (_, line) => {
    expect(regularRows(`x,"y"\n\n${line}z\n`, ',')).toEqual({ rows: [['x', 'y']], rest: `${line}z\n` });
  });

  test('an incomplete line is not taken', () => {
    expect(regularRows('a,b\nc,', ',')).toEqual({ rows: [['a', 'b']], rest: 'c,' });
  });

  test('a delimiter that is a quote, a line end or more than a byte is not plain', () => {
    expect(['"', '\n', '\r', 'é', ', '].filter(hasPlainDelimiter)).toEqual([]);
    expect([',', ';', '\t', '|'].every(hasPlainDelimiter)).toBe(true);
  });
});
