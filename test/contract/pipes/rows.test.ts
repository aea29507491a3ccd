import { describe, expect, test } from 'vitest';
import type { PipeLimits } from '../../../src/core/pipes/pipe.ts';
import { readText, tenColumns } from '../../support/pipes.ts';

/** One row with these cells in place of valid ones. */
function rowWith(cells: Readonly<Record<string, string>>): string {
  const good: Record<string, string> = {
    sourceNetworkId: 'N',
    sourceId: 'A',
    date: '2020-01-01T00:00:00Z',
    upstreamSourceId: 'u',
    downstreamSourceId: 'd',
    enabled: 'true',
    length: '[1]',
    trueVerticalDepth: '[2]',
    innerDiameter: '[3]',
    roughness: '[4]',
  };
  const quoted = Object.values({ ...good, ...cells }).map((cell) => `"${cell.replaceAll('"', '""')}"`);
  return `${quoted.join(',')}\n`;
}

async function readRow(cells: Readonly<Record<string, string>>, limits?: PipeLimits) {
  return readText(`${tenColumns}\n${rowWith(cells)}`, limits === undefined ? {} : { limits });
}

async function bodyWith(roughness: string): Promise<string | undefined> {
  const { items } = await readRow({ roughness });
  return /"roughness":(\[.*\])/.exec(items[0]?.body ?? '')?.[1];
}

describe('numbers', () => {
  test.each([
    ['38.211669000000001', '[38.211669000000001]'],
    ['8e-05', '[8e-05]'],
    ['-0.0', '[-0.0]'],
    ['12345678901234567890', '[12345678901234567890]'],
    ['[-35.507973, -38.211669000000001]', '[-35.507973, -38.211669000000001]'],
    ['6.000000;1E5 ; 0.10', '[6.000000,1E5,0.10]'],
    ['[]', '[]'],
    [' 7 ', '[7]'],
  ])('numbers keep their text: %s', async (cell, json) => {
    expect(await bodyWith(cell)).toBe(json);
  });

  test.each([
    ['+5', '[5]'],
    ['.5', '[0.5]'],
    ['-.50', '[-0.50]'],
    ['5.', '[5]'],
    ['5.e3;+1.25', '[5e3,1.25]'],
  ])('numbers are corrected when no digit changes: %s', async (cell, json) => {
    expect(await bodyWith(cell)).toBe(json);
  });

  test.each([
    ['1,5', '"1,5" is not a number: write a decimal point'],
    ['NaN', '"NaN" is not a number'],
    ['-', '"-" is not a number'],
    ['0x10', '"0x10" is not a number'],
    ['007', '"007" has leading zeros'],
    ['1e999', '"1e999" is too large for a number'],
    ['1;;x', 'element 2 is empty; element 3 "x" is not a number'],
    ['[1,null]', 'element 2 "null" is not a JSON number'],
    ['["1"]', '"\\"1\\"" is not a JSON number'],
    ['[+5]', '"+5" is not a JSON number'],
    ['[1,\u00a02', '"[1,\u00a02" is a list without its closing bracket'],
    ['[[1],[2]]', 'element 1 "[1]" is not a JSON number; element 2 "[2]" is not a JSON number'],
  ])('ambiguous numbers are faults: %s', async (cell, reason) => {
    const { items, faults } = await readRow({ roughness: cell });
    expect(items).toEqual([]);
    expect(faults).toEqual([`line 2, column roughness: ${reason}`]);
  });
});

describe('limits', () => {
  test('the default limits refuse a negative length and a diameter that is not positive, element by element', async () => {
    const { faults } = await readRow({ length: '[1,-2]', innerDiameter: '0' });
    expect(faults).toEqual([
      'line 2, column length innerDiameter: length: element 2 -2 is below 0; innerDiameter: 0 is not above 0',
    ]);
    expect((await readRow({ length: '-0.0', trueVerticalDepth: '-9' })).items.length).toBe(1);
  });

  test('configured limits replace the default ones', async () => {
    expect((await readRow({ length: '-2', innerDiameter: '0' }, {})).items.length).toBe(1);
    const { faults } = await readRow({ roughness: '[1,900]' }, { roughness: { max: 500 } });
    expect(faults).toEqual(['line 2, column roughness: element 2 900 is above 500']);
  });
});

describe('a row', () => {
  test('empty cells are omitted, and texts kept unchanged', async () => {
    const { items } = await readRow({ sourceId: ' a "b" \\ \t é', upstreamSourceId: '', enabled: '', length: '' });
    expect(items[0]?.body).toBe(
      '{"sourceNetworkId":"N","sourceId":" a \\"b\\" \\\\ \\t é","date":"2020-01-01T00:00:00Z","downstreamSourceId":"d",' +
        '"trueVerticalDepth":[2],"innerDiameter":[3],"roughness":[4]}',
    );
  });

  test('a row with lists of different length is an item, and marked', async () => {
    expect((await readRow({ trueVerticalDepth: '[1,2]' })).items[0]?.hasUnevenLists).toBe(true);
    expect((await readRow({ trueVerticalDepth: '' })).items[0]?.hasUnevenLists).toBe(false);
    expect((await readRow({ trueVerticalDepth: '[ ]' })).items[0]?.hasUnevenLists).toBe(true);
  });

  test('a rejected row lists all its faults', async () => {
    const { faults } = await readRow({
      sourceNetworkId: '',
      sourceId: ' ',
      date: '2020-02-30T00:00:00Z',
      enabled: 'maybe',
      length: 'x',
    });
    expect(faults).toEqual([
      'line 2, column sourceNetworkId sourceId date enabled length: sourceNetworkId: is missing; sourceId: is blank; ' +
        'date: "2020-02-30T00:00:00Z" is not in the calendar; enabled: "maybe" is neither true nor false; length: "x" is not a number',
    ]);
  });

  test.each(['2020-02-29T23:59:59.123+05:30', '2020-01-01T00:00Z', '2020-01-01T00:00:00'])(
    'a date keeps its text: %s',
    async (date) => {
      expect((await readRow({ date })).bodies).toMatchObject([{ date }]);
    },
  );

  test.each(['2019-02-29T00:00:00Z', '2020-13-01T00:00:00Z', '2020-01-01T24:00:00Z', '2020-01-01', '01/02/2020', '0'])(
    'an invalid date is a fault: %s',
    async (date) => {
      expect((await readRow({ date })).faults).toHaveLength(1);
    },
  );

  test.each([
    ['TRUE', true],
    ['1', true],
    ['False', false],
    ['0', false],
  ])('the field enabled accepts %s', async (enabled, expected) => {
    expect((await readRow({ enabled })).bodies).toMatchObject([{ enabled: expected }]);
  });

  test('a NUL byte and a missing cell are faults', async () => {
    expect((await readText(`${tenColumns}\n${'x'.repeat(80)},A\n${rowWith({ sourceId: 'A\u0000' })}`)).faults).toEqual([
      'line 2: has 2 cells, the header has 10',
      'line 3, column sourceId: holds a NUL byte',
    ]);
  });
});
