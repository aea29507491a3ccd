import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonBody, wellContent } from '../../src/core/well-body.ts';

const json = (body: string) => ({ contentType: 'application/json; charset=utf-8', body });

/** The same value with the names of its objects turned round, and blanks. */
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
  it('that is JSON says the same in whatever order and with whatever blanks', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const short = JSON.stringify(value, (_name, each: unknown) =>
          typeof each === 'number' ? Math.round(each % 1e6) : each,
        );
        expect(wellContent(json(otherwise(JSON.parse(short))))).toBe(wellContent(json(short)));
      }),
    );
  });

  it('that is JSON differs wherever a value does', () => {
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

  it('keeps numbers apart that a double takes for one', () => {
    const [left, right] = ['{"id":12345678901234567890}', '{"id":12345678901234567891}'].map((body) =>
      wellContent(json(body)),
    );
    expect(left).not.toBe(right);
    expect(wellContent(json('{"x":1.0}'))).toBe(wellContent(json('{"x":1}')));
  });

  it('that is no JSON is compared as it came, with its media type', () => {
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
