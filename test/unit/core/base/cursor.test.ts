import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cursorOf, readCursor } from '../../../../src/core/base/lists.ts';

const schema = z.tuple([z.int(), z.string()]);

test('a cursor is read as the fields that it was made of, and fits an address as it is', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.string({ unit: 'grapheme' }), (number, text) => {
      const cursor = cursorOf(number, text);
      expect(cursor).toMatch(/^[\w-]+$/);
      expect(readCursor(cursor, schema, { list: 'a list' })).toEqual([number, text]);
    }),
  );
});

test.each(['', 'rubbish', '{}', cursorOf('a', 'b'), cursorOf(1), cursorOf(1, 'a').slice(0, -2)])(
  'a text that is no cursor of the list is refused with the name of the list: %j',
  (text) => {
    expect(() => readCursor(text, schema, { list: 'a list of runs' })).toThrow(
      `${JSON.stringify(text)} is not a cursor of a list of runs`,
    );
  },
);
