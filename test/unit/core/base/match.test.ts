import { expect, test } from 'vitest';
import { hasPart, keyOfName, nearestOf } from '../../../../src/core/base/text.ts';

const names = ['15/9-F-12', '15/9-F-1 C', '15/9-F-14', '1/3-A-2', '1/3-A-10', 'ÅSE 7', '24/4-a-120'];
const entries = names.map((name) => ({ name, key: keyOfName(name) }));
const found = (text: string, limit = 10): readonly string[] => nearestOf(entries, text, limit).map(({ name }) => name);

test.each([
  ['the name itself before what begins with it', '15/9-f-1', ['15/9-F-1 C', '15/9-F-12', '15/9-F-14']],
  [
    'a part that begins so before one within',
    '1',
    ['1/3-A-2', '1/3-A-10', '15/9-F-1 C', '15/9-F-12', '15/9-F-14', '24/4-a-120'],
  ],
  ['any case', '24/4-A', ['24/4-a-120']],
  ['letters of any script', 'åse', ['ÅSE 7']],
  ['without what stands between', '159f12', ['15/9-F-12']],
  ['nothing for nothing', '  ', []],
  ['nothing for signs alone', '#', []],
])('finds %s', (_what, text, expected) => {
  expect(found(text)).toEqual(expected);
});

test('a name has a part where the search finds it', () => {
  expect(new Set(names.filter(hasPart(' 9-f1 ')))).toEqual(new Set(found('9-f1')));
  expect(names.filter(hasPart('24-4'))).toEqual(['24/4-a-120']);
  expect(names.filter(hasPart('_'))).toEqual([]);
});

test('keeps to its limit', () => {
  expect(found('1', 2)).toEqual(['1/3-A-2', '1/3-A-10']);
});
