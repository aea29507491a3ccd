import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { orderKey, PipeVersions, versionOfDate } from '../../../../src/core/pipes/pipe.ts';
import { readDate } from '../../../../src/pipes/row-check.ts';

describe('the version that a date names', () => {
  test.each([
    ['2022-09-27T16:28:37+0000', '2022-09-27T16:28:37Z'],
    ['2022-09-27T16:28:37+00', '2022-09-27T16:28:37Z'],
    ['2022-09-27T18:28:37+02:00', '2022-09-27T16:28:37.000Z'],
    ['2022-09-27T18:28:37+0200', '2022-09-27T16:28:37Z'],
    ['2022-09-27T11:58:37-0430', '2022-09-27T16:28:37Z'],
    ['2022-09-28T01:28:37+09', '2022-09-27T16:28:37Z'],
    ['2022-09-27T16:28Z', '2022-09-27T16:28:00Z'],
    ['2022-09-27T16:28', '2022-09-27T16:28:00.0'],
    ['0050-01-01T00:00:00+01:00', '0049-12-31T23:00:00Z'],
  ])('%s is the instant of %s', (text, other) => {
    expect([readDate(text), readDate(other)]).toEqual([{ json: `"${text}"` }, { json: `"${other}"` }]);
    expect(versionOfDate(text)).toBe(versionOfDate(other));
  });

  test.each([
    ['2022-09-27T16:28:37.0001Z', '2022-09-27T16:28:37.0002Z'],
    ['2022-09-27T16:28:37', '2022-09-27T16:28:37Z'],
    ['2022-09-27T16:28:37+01', '2022-09-27T16:28:37-01'],
  ])('%s is another instant than %s, or may be', (text, other) => {
    expect(versionOfDate(text)).not.toBe(versionOfDate(other));
  });

  test('two texts of one instant are one version, whatever the offset', () => {
    const offset = fc.record({ minutes: fc.integer({ min: -1_439, max: 1_439 }), form: fc.constantFrom(':', '') });
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0002-01-01T00:00:00Z'), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true }),
        offset,
        (date, { minutes, form }) => {
          const away = Math.abs(minutes);
          const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
          const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
          const text = `${local}${minutes < 0 ? '-' : '+'}${two(away / 60)}${form}${two(away % 60)}`;
          expect(readDate(text)).toEqual({ json: `"${text}"` });
          expect(versionOfDate(text)).toBe(versionOfDate(date.toISOString()));
        },
      ),
    );
  });

  test.each([
    '2022-09-27T16:28:37+000',
    '2022-09-27T16:28:37+0',
    '2022-09-27T16:28:37+2400',
    '2022-09-27T16:28:37+0060',
  ])('%s is no date', (text) => {
    expect(readDate(text)).toHaveProperty('reason');
  });

  test('rows of one pipe are in order, with-date those of one date alone', () => {
    const [first, second] = [
      { key: 'N/P', version: 'a' },
      { key: 'N/P', version: 'b' },
    ];
    expect(orderKey(first, 'unknown')).toBe(orderKey(second, 'unknown'));
    expect(orderKey(first, 'with-date')).not.toBe(orderKey(second, 'with-date'));
  });
});

describe('the count of pipes with several dates', () => {
  test('is that of a map of sets', () => {
    const item = fc.record({ key: fc.nat(300).map((n) => `N\u0000P-${n}`), version: fc.nat(3).map(String) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 3_000 }), (items) => {
        const versions = new PipeVersions();
        const known = new Map<string, Set<string>>();
        for (const one of items) {
          versions.add(one);
          known.set(one.key, (known.get(one.key) ?? new Set()).add(one.version));
        }
        const several = [...known.values()].filter((set) => set.size > 1).length;
        expect(versions.count).toEqual({ pipesWithSeveralDates: several, isLeast: false });
      }),
    );
  });

  test('G8: the count is the least that it can be beyond the pipes that its table holds', () => {
    const versions = new PipeVersions();
    for (let pipe = 0; pipe < 700_000; pipe += 1) {
      versions.add({ key: `N\u0000P-${pipe}`, version: 'a' });
      versions.add({ key: `N\u0000P-${pipe}`, version: pipe % 2 === 0 ? 'a' : 'b' });
    }
    const { pipesWithSeveralDates, isLeast } = versions.count;
    expect(isLeast).toBe(true);
    expect(pipesWithSeveralDates).toBeGreaterThan(310_000);
    expect(pipesWithSeveralDates).toBeLessThanOrEqual(350_000);
  });
});
