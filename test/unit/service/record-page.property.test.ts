/** A page gives the same records whichever way it is parsed, and takes no way that its text could make long. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnreadRecord } from '../../../src/core/daily/record-check.ts';
import { recordPage, type PageBounds, type RecordPage } from '../../../src/service/record-page.ts';

/** White space that makes a page large. */
const much = ' '.repeat(1024 * 1024);
/** Elements that are few enough to be parsed each, and too many to be parsed at once. */
const dense = Array.from({ length: 9 }, () => `[${'1,'.repeat(40_000)}1]`).join(',');

function recordsOf(text: string, bounds?: PageBounds): readonly unknown[] | string {
  const page = recordPage(text, bounds);
  return typeof page === 'string' ? page : [...page.records];
}

function pageOf(text: string): RecordPage {
  const page = recordPage(text);
  if (typeof page === 'string') throw new Error(page);
  return page;
}

const values = fc.array(fc.jsonValue({ maxDepth: 5 }), { maxLength: 8 });
const textChange = fc.tuple(fc.nat(), fc.constantFrom('', '[', ']', '{', '}', '"', ',', ':', '\\', 'x'));

describe('a page', () => {
  it('has the records of JSON.parse, in whichever way it is read', () => {
    const property = fc.property(values, (records) => {
      const text = JSON.stringify(records);
      expect(recordsOf(text)).toEqual(JSON.parse(text));
      expect(recordsOf(`${much}${text}`)).toEqual(JSON.parse(text));
    });
    fc.assert(property);
  });

  it('has the same records and texts when each is parsed by itself', () => {
    const property = fc.property(values, (records) => {
      const text = JSON.stringify(records).slice(1, -1);
      const page = pageOf(`[${dense}${text === '' ? '' : `, ${text}`}]`);
      expect([...page.records].slice(9)).toEqual(JSON.parse(`[${text}]`));
      expect([...page.records]).toHaveLength(9 + records.length);
      for (const [index, record] of records.entries()) {
        expect(page.textOf(9 + index).whole(Infinity)).toBe(JSON.stringify(record));
      }
    });
    fc.assert(property, { numRuns: 20 });
  });

  it('is refused where JSON.parse refuses it, in whichever way it is read', () => {
    const property = fc.property(values, textChange, (records, [at, change]) => {
      const text = JSON.stringify(records);
      const place = at % text.length;
      const changed = `${text.slice(0, place)}${change}${text.slice(place + 1)}`;
      const [quick, large] = [recordsOf(changed), recordsOf(`${much}${changed}`)];
      const isNoArray = quick === 'no-array' || large === 'no-array';
      if (isNoArray) expect(Array.isArray(quick) || Array.isArray(large)).toBe(false);
      else expect(large).toEqual(quick);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it.each<readonly [string, string, PageBounds | undefined, string]>([
    ['a million empty records', `[${'{},'.repeat(1_000_000)}{}]`, { limit: 1_000 }, 'too-many'],
    ['few empty records', `[${'{},'.repeat(2_000)}{}]`, { limit: 1_000 }, 'too-many'],
    ['more records than a read may hold', `[${`"${'x'.repeat(80)}",`.repeat(200)}1]`, { mostRecords: 200 }, 'too-many'],
    ['a cut array of a million levels', '['.repeat(1_000_000), undefined, 'broken'],
    ['a million levels of objects', '{"a":'.repeat(1_000_000), undefined, 'no-array'],
  ])('G8: %s: it is refused', (_name, text, bounds, fault) => {
    expect(recordsOf(text, bounds)).toBe(fault);
  });

  it('as many records as were asked for are taken, however short', () => {
    expect(recordsOf(`[${'{},'.repeat(1_999)}{}]`, { limit: 2_000 })).toHaveLength(2_000);
  });

  it('G8: a record of a million levels is read as one of a few', () => {
    const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
    const [first, second] = recordsOf(`[{"a":${deep},"b":1}, 2]`);
    expect(second).toBe(2);
    expect(first).toHaveProperty('b', 1);
    expect(JSON.stringify(first).length).toBeLessThan(200);
  });

  it.each([
    ['long', `"a":"${'x'.repeat(2_000_000)}"`],
    ['wide', Array.from({ length: 300_000 }, (_, index) => `"f${index}":1`).join(',')],
    ['broken', `${'"a",'.repeat(300_000)}1`],
  ])('G8: a record that is too %s is not read, but for xid and date', (_name, members) => {
    const text = `[{"xid":"one", "date" : "2024-01-01",${members}}, {"xid":1}]`;
    const [first, second] = recordsOf(text);
    expect(first).toBeInstanceOf(UnreadRecord);
    expect(first).toMatchObject({ xid: 'one', date: '2024-01-01' });
    expect(second).toEqual({ xid: 1 });
    expect(pageOf(text).textOf(0).whole(30)).toBe(text.slice(1, 31));
  });
});
