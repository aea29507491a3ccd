import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementSpans, memberSpans, type Span } from '../../../src/service/json-spans.ts';

const textAt = (text: string, { start, end }: Span): string => text.slice(start, end);

/** JSON of an array, in one line or in many. */
const arrays = fc.tuple(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2, '\t', ' \n\r'));

describe('spans of JSON text', () => {
  it('each element of an array has the text that JSON.parse reads it from', () => {
    const property = fc.property(arrays, ([values, indent]) => {
      const text = ` ${JSON.stringify(values, null, indent)}`;
      const spans = elementSpans(text);
      expect(spans.map((span) => JSON.parse(textAt(text, span)) as unknown)).toEqual(JSON.parse(text));
      for (const span of spans) expect(textAt(text, span).trim()).toHaveLength(span.end - span.start);
    });
    fc.assert(property);
  });

  it('each member of an object has the text of its value, the last one of a name', () => {
    const property = fc.property(fc.array(fc.tuple(fc.string(), fc.jsonValue())), (pairs) => {
      const members = pairs.map(([name, value]) => `${JSON.stringify(name)} : ${JSON.stringify(value)}`);
      const text = `{ ${members.join(' ,\n')} }`;
      const spans = memberSpans(text, { start: 0, end: text.length });
      const read = [...spans].map(([name, span]) => [name, JSON.parse(textAt(text, span)) as unknown]);
      expect(Object.fromEntries(read)).toEqual(JSON.parse(text));
    });
    fc.assert(property);
  });

  it.each([
    ['[]', []],
    [' [ ] ', []],
    ['["]", "\\\\", "\\\\\\"[", 1]', ['"]"', '"\\\\"', '"\\\\\\"["', '1']],
    ['[[1,2],{"a":[3]}]', ['[1,2]', '{"a":[3]}']],
  ])('%s', (text, expected) => {
    expect(elementSpans(text).map((span) => textAt(text, span))).toEqual(expected);
  });

  it('nesting of any depth is no recursion', () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    const text = `[${deep}, 1]`;
    expect(elementSpans(text).map(({ start, end }) => end - start)).toEqual([deep.length, 1]);
  });
});
