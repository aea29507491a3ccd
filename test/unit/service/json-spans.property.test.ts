import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementSpans, memberSpans, textWithin, type Span } from '../../../src/service/record-page.ts';

/** The elements of a text that is an array. */
function elementsOf(text: string): readonly Span[] {
  const spans = elementSpans(text);
  if (typeof spans === 'string') throw new Error(`${text} is ${spans}`);
  return spans;
}

const textAt = (text: string, { start, end }: Span): string => text.slice(start, end);

/** JSON of an array, in one line or in many. */
const arrays = fc.tuple(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2, '\t', ' \n\r'));

describe('spans of JSON text', () => {
  it('each element of an array has the text that JSON.parse reads it from', () => {
    const property = fc.property(arrays, ([values, indent]) => {
      const text = ` ${JSON.stringify(values, null, indent)}`;
      const spans = elementsOf(text);
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
    expect(elementsOf(text).map((span) => textAt(text, span))).toEqual(expected);
  });

  it.each(['', ' ', '{}', '[', '[1', '["', '["\\', '[1}', '[1]]', '[1] 2', '1', 'x[1]'])('%j is broken', (text) => {
    expect(elementSpans(text)).toBe('broken');
  });

  it('levels and parts of an element tell how deep it is nested, and about how many values it has', () => {
    const elements = elementSpans('[1, {}, [[]], {"a":[1,2,{"b":"]],{"}]}]');
    expect(elements).toMatchObject([
      { levels: 0, parts: 1 },
      { levels: 1, parts: 2 },
      { levels: 2, parts: 3 },
      { levels: 3, parts: 5 },
    ]);
  });

  it('an array with more elements than are wanted is not read to its end', () => {
    expect(elementSpans('[1,2,3]', 3)).toHaveLength(3);
    expect(elementSpans('[1,2,3,', 2)).toBe('too-many');
  });

  it('the text within a number of levels is the value without what is nested deeper', () => {
    const property = fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 1, max: 4 }), (value, levels) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(textWithin(text, { start: 0, end: text.length }, levels))).toEqual(
        within(JSON.parse(text), levels),
      );
    });
    fc.assert(property);
  });

  it('nesting of any depth is no recursion', () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    const text = `[${deep}, 1]`;
    expect(elementsOf(text).map(({ start, end }) => end - start)).toEqual([deep.length, 1]);
  });
});

function within(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return levels === 1 ? [] : value.map((each) => within(each, levels - 1));
  const members = levels === 1 ? [] : Object.entries(value);
  return Object.fromEntries(members.map(([name, each]) => [name, within(each, levels - 1)]));
}
