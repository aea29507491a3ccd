import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { withColour } from '../../../../src/cli/text/table.ts';

const text = 'Failed: 1 of 2 wells.\n  a  export  failed  2 of 2\n  b  export  done\nok  redis  the last one failed';

test('a state has its colour as a cell and as the first word, and no other word has one', () => {
  const coloured = withColour(text);
  expect(stripVTControlCharacters(coloured)).toBe(text);
  expect(coloured.split('\u001B[31m').length - 1).toBe(2);
  expect(coloured.split('\u001B[32m').length - 1).toBe(2);
  expect(coloured).toContain('the last one failed');
});
