import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonBody, wellContent } from '../../../../src/core/definitions/well-body.ts';

const json = (body: string) => ({ contentType: 'application/json; charset=utf-8', body });

/** The same value with the members of its objects in reverse order, and white space. */
function otherwise(value: unknown): string {
  const turned = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(turned);
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(
      Object.entries(each)
        .toReversed()
        .map(([name, inner]) => [name, turned(inner)]),
    );
  };
  return JSON.stringify(turned(value), null, 2);
}

describe('the body of a well', () => {
  it('JSON bodies are equal whatever the order of members and the white space', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const short = JSON.stringify(value, (_name, each: unknown) =>
          typeof each === 'number' ? Math.round(each % 1e6) : each,
        );
        expect(wellContent(json(otherwise(JSON.parse(short))))).toBe(wellContent(json(short)));
      }),
    );
  });

  it('JSON bodies differ when a value differs', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (left, right) => {
        const texts = [left, right].map((value) => JSON.stringify(value));
        fc.pre(otherwise(JSON.parse(texts[0] ?? '')) !== otherwise(JSON.parse(texts[1] ?? '')));
        const [first, second] = texts.map((text) => wellContent(json(text)));
        const same = sameValue(JSON.parse(texts[0] ?? ''), JSON.parse(texts[1] ?? ''));
        expect(first === second).toBe(same);
      }),
    );
  });

  it('numbers that a double does not distinguish make bodies differ', () => {
    const [left, right] = ['{"id":12345678901234567890}', '{"id":12345678901234567891}'].map((body) =>
      wellContent(json(body)),
    );
    expect(left).not.toBe(right);
    expect(wellContent(json('{"x":1.0}'))).toBe(wellContent(json('{"x":1}')));
  });

  it('a body that is not JSON is compared as text, with its media type', () => {
    const text = { contentType: 'text/plain; charset=utf-8', body: '{"a":1}' };
    expect(isJsonBody(text)).toBe(false);
    expect(isJsonBody({ contentType: 'application/json', body: '{"a":' })).toBe(false);
    expect(isJsonBody({ contentType: 'application/problem+json', body: '{}' })).toBe(true);
    expect(isJsonBody({ contentType: null, body: '[]' })).toBe(true);
    expect(wellContent(text)).toBe(wellContent({ ...text, contentType: 'TEXT/plain' }));
    expect(wellContent(text)).not.toBe(wellContent({ ...text, contentType: 'text/html' }));
    expect(wellContent(text)).not.toBe(wellContent({ ...text, body: '{"a": 1}' }));
  });
});

function sameValue(left: unknown, right: unknown): boolean {
  try {
    expect(left).toEqual(right);
    return true;
  } catch {
    return false;
  }
}
