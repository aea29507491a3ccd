import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arrayItems, objectMembers } from '../../../../src/testing-server/data/rows.ts';

const indent = fc.constantFrom(undefined, 1, '\t');

it('any JSON array is sliced into the texts of its elements', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), indent, (items, space) => {
      const slices = arrayItems(JSON.stringify(items, undefined, space));
      expect(slices.map((slice) => JSON.parse(slice) as unknown)).toEqual(JSON.parse(JSON.stringify(items)));
    }),
  );
});

it('any JSON object is sliced into names and the texts of their values', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), indent, (object, space) => {
      const text = JSON.stringify(object, undefined, space);
      const members = objectMembers(text).map(({ name, raw }) => [name, JSON.parse(raw) as unknown]);
      expect(members).toEqual(Object.entries(JSON.parse(text) as object));
    }),
  );
});

it('sliced numbers keep every digit', () => {
  expect(arrayItems(' [ 38.211669000000001 ,8e-05, [-0.0]] ')).toEqual(['38.211669000000001', '8e-05', '[-0.0]']);
  expect(objectMembers('{"a" : 1.10, "b":"}\\""}')).toEqual([
    { name: 'a', raw: '1.10' },
    { name: 'b', raw: '"}\\""' },
  ]);
});
