import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/core/base/secrets.ts';
import { measureFields, nullableFields } from '../../../src/core/daily/row.ts';
import { productionCalendar } from '../../../src/core/time/production-day.ts';
import { readNumber } from '../../../src/service/plain-page.ts';
import { RecordCounter } from '../../../src/service/record-counter.ts';
import { recordPage } from '../../../src/service/record-page.ts';
import { someRecordText } from '../../support/raw-records.ts';
import { bySuite } from '../../support/suite-size.ts';
import { usedBlocks } from '../../support/used-blocks.ts';
import { xidOf } from '../../support/warehouse-batches.ts';

const window = { fromMs: Date.parse('2024-01-03T00:00:00Z'), toMs: Date.parse('2024-01-06T00:00:00Z') };
/** The last day that a record may have, where the dates of records lie on both sides of it. */
const latestDay = Date.parse('2062-06-01T00:00:00Z') / 86_400_000;
const always = { fromMs: Date.parse('0001-01-03T00:00:00Z'), toMs: Date.parse('9999-01-01T00:00:00Z') };

type Page = { readonly bytes: Buffer; readonly again: number };

interface Rules {
  readonly within?: typeof window;
  readonly timeZone?: string;
  readonly nullable?: readonly string[];
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** What a read of the pages gives, with the scan or without; the fault of the first page that is none. */
function readOf(
  pages: readonly Page[],
  { within = always, timeZone = 'UTC', nullable = [] }: Rules,
  isScanned: boolean,
) {
  const counter = new RecordCounter(within, productionCalendar(timeZone), new Secrets(), {
    blocks: usedBlocks(),
    latestDay,
    nullable: new Set(nullable),
  });
  const answers: unknown[] = [];
  let plainPages = 0;
  for (const { bytes, again } of pages) {
    const plain = isScanned ? counter.addPlainPage(bytes, 1_000, within, again) : undefined;
    if (plain !== undefined) plainPages += 1;
    const page = plain === undefined ? recordPage(bytes.toString('latin1')) : undefined;
    if (typeof page === 'string') return { answers, fault: page, plainPages };
    answers.push(plain ?? (page === undefined ? undefined : counter.add(page, within, again)));
  }
  const { heldRows } = counter;
  const { rows, ...rest } = counter.reading(1, []);
  // Under a null a column means nothing.
  const measures = rows.measures.map((column) =>
    column.kind === 'string'
      ? column.values
      : Array.from(column.values, (value, row) => (column.nulls?.[row] === 1 ? null : value)),
  );
  return { answers, rows: { ...rows, measures }, ...rest, heldRows, plainPages };
}

function expectSame(pages: readonly Page[], rules: Rules = {}): number {
  const { plainPages, ...scanned } = readOf(pages, rules, true);
  const { plainPages: _, ...parsed } = readOf(pages, rules, false);
  expect(scanned).toStrictEqual(parsed);
  return plainPages;
}

function expectSamePage(text: string, isPlain?: boolean): void {
  const plainPages = expectSame([{ bytes: bytesOf(text), again: 0 }]);
  if (isPlain !== undefined) expect([text, plainPages]).toEqual([text, isPlain ? 1 : 0]);
}

const someSpace = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 });
const someZone = fc.constantFrom('UTC', 'Europe/Oslo', 'America/St_Johns');

/** A number as JSON writes it, of any number of digits. */
const someNumber = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constantFrom('0', '9007199254740993', '123456789012345678901234567890'), fc.nat().map(String)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,20}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,2}$/)),
  )
  .map((parts) => parts.join(''));

const someMeasure = {
  double: fc.oneof(someNumber, fc.constant('null')),
  int32: fc.oneof(
    { weight: 40, arbitrary: fc.integer().map(String) },
    { weight: 10, arbitrary: fc.constantFrom('1.0', '12e1', '-0', '2147483647', 'null') },
    { weight: 1, arbitrary: fc.constantFrom('2147483648', '0.5') },
  ),
  boolean: fc.constantFrom('true', 'false', 'null'),
  string: fc.oneof(
    { weight: 50, arbitrary: fc.constantFrom('"NONE"', '""', '"[{,"', 'null') },
    { weight: 1, arbitrary: fc.constantFrom('"\\u0041"', '"a\\"b"') },
  ),
};

/** A record that is plain more often than not: any order of its members, any white space, some of them absent. */
const somePlainText = fc
  .record({
    xid: fc.nat(9).map(xidOf),
    isUpper: fc.boolean(),
    date: fc.constantFrom(
      '2024-01-02',
      '2024-01-03',
      '2024-01-04T00:00:00.000',
      '2024-01-05',
      '2024-01-06',
      '2062-06-02',
    ),
    measures: fc.tuple(
      ...measureFields.map(({ kind, required }) => {
        const value = required ? someNumber : someMeasure[kind];
        return fc.option(value, { freq: 20, nil: undefined });
      }),
    ),
    order: fc.option(fc.infiniteStream(fc.nat(999)), { freq: 3 }),
    space: fc.option(someSpace, { freq: 3 }),
  })
  .map(({ xid, isUpper, date, measures, order, space }) => {
    const values = measureFields.map(({ name }, position) => [name, measures[position]] as const);
    const all = [
      ['xid', `"${isUpper ? xid.toUpperCase() : xid}"`] as const,
      ['date', `"${date.includes('T') ? date : `${date}T00:00:00`}Z"`] as const,
      ...values,
    ].flatMap(([name, value]) => (value === undefined ? [] : [{ name, value, at: order?.next().value ?? 0 }]));
    const gap = space ?? '';
    const members = all
      .toSorted((left, right) => left.at - right.at)
      .map(({ name, value }) => `${gap}"${name}"${gap}:${gap}${value}${gap}`);
    return `{${members.join(',')}}`;
  });

function pageText(records: readonly string[], space = ''): string {
  return `[${space}${records.join(`${space},${space}`)}${space}]${space}`;
}

const record = `{"xid":"${xidOf(1)}","date":"2024-01-03T00:00:00Z","oilRate":1}`;

describe('the scan of a page', () => {
  it('G2: ends as parsing does, on pages of plain records, repeated, outside the window and in any order', () => {
    let plain = 0;
    const somePages = fc.array(
      fc.record({ records: fc.array(somePlainText, { maxLength: 14 }), space: someSpace, again: fc.nat(3) }),
      { maxLength: 3 },
    );
    const property = fc.property(somePages, someZone, (pages, timeZone) => {
      plain += expectSame(
        pages.map(({ records, space, again }) => ({ bytes: bytesOf(pageText(records, space)), again })),
        { within: window, timeZone },
      );
    });
    fc.assert(property, { numRuns: bySuite(200, 400) });
    expect(plain).toBeGreaterThan(50);
  });

  it('G2: ends as parsing does, on a record that leaves the window and comes back on one page', () => {
    const dated = (xid: number, day: number): string => `{"xid":"${xidOf(xid)}","date":"2024-01-0${day}T00:00:00Z"}`;
    const pages = [[dated(1, 3)], [dated(1, 2), dated(1, 4), dated(2, 5), dated(3, 3), dated(4, 3)]];
    expect(
      expectSame(
        pages.map((records) => ({ bytes: bytesOf(pageText(records)), again: 0 })),
        { within: window },
      ),
    ).toBe(2);
  });

  it('G2: ends as parsing does, on pages of few records that move, leave the window and come back', () => {
    const someRecord = fc.record({ xid: fc.nat(5).map(xidOf), day: fc.integer({ min: 1, max: 8 }) });
    const somePages = fc.array(fc.array(someRecord, { maxLength: 9 }), { minLength: 1, maxLength: 4 });
    const property = fc.property(somePages, fc.nat(3), (pages, again) => {
      const texts = pages.map((records) =>
        records.map(({ xid, day }) => `{"xid":"${xid}","date":"2024-01-0${day}T00:00:00Z"}`),
      );
      expectSame(
        texts.map((records) => ({ bytes: bytesOf(pageText(records)), again })),
        { within: window },
      );
    });
    fc.assert(property, { numRuns: bySuite(700, 2_000) });
  });

  it('G2: ends as parsing does, on records with faults of every kind', () => {
    let plain = 0;
    const property = fc.property(fc.array(someRecordText, { maxLength: 3 }), someZone, (records, timeZone) => {
      // Bytes that are not ASCII never come to the scan.
      const bytes = Buffer.from(pageText(records).replaceAll(/[^\0-\u007f]/g, '?'), 'latin1');
      plain += expectSame([{ bytes, again: 0 }], { timeZone });
    });
    fc.assert(property, { numRuns: bySuite(700, 2_000) });
    expect(plain).toBeGreaterThan(100);
  });

  it('G2: takes no bytes that JSON.parse refuses, and none otherwise than it does', () => {
    const someChange = fc.record({
      at: fc.nat(),
      // The bytes that mean something, more often than others.
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 2, max: 127 }),
        fc.constantFrom(...'{}[]",:\\.-+eE019 \n\0'.split('')).map((text) => Buffer.from(text)),
      ),
      removed: fc.nat(3),
    });
    const property = fc.property(
      fc.array(somePlainText, { minLength: 1, maxLength: 3 }),
      fc.array(someChange, { minLength: 1, maxLength: 3 }),
      (records, changes) => {
        let bytes = bytesOf(pageText(records));
        for (const { at, bytes: added, removed } of changes) {
          const place = at % (bytes.length + 1);
          bytes = Buffer.concat([bytes.subarray(0, place), added, bytes.subarray(place + removed)]);
        }
        expectSame([{ bytes, again: 0 }]);
      },
    );
    fc.assert(property, { numRuns: bySuite(700, 2_000) });
  });

  it('G2: ends as parsing does, on null in pressures that may be null and in others', () => {
    const nullable = ['tubingPressure'];
    const plainWith = (member: string) => {
      const text = `[${record.slice(0, -1)},${member}},${record.replace('0001', '0002')}]`;
      return expectSame([{ bytes: bytesOf(text), again: 0 }], { nullable });
    };
    expect(plainWith('"tubingPressure":null')).toBe(1);
    expect(plainWith('"tubingPressure" : null ,"casingPressure":1')).toBe(1);
    for (const odd of ['"casingPressure":null', '"gasRate":null', '"tubingPressure":nul1', '"tubingPressure":"null"']) {
      expect(plainWith(odd)).toBe(0);
    }
    const property = fc.property(
      fc.array(fc.tuple(somePlainText, fc.subarray([...nullableFields])), { maxLength: 6 }),
      fc.subarray([...nullableFields]),
      (records, named) => {
        const texts = records.map(([text, nulls]) =>
          nulls.reduce(
            (left, name) => left.replace(new RegExp(String.raw`("${name}"\s*:\s*)[-+.\deE]+`), '$1null'),
            text,
          ),
        );
        expectSame([{ bytes: bytesOf(pageText(texts)), again: 0 }], { nullable: named });
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('reads numbers as JSON.parse does, to the bit', () => {
    const target = new Float64Array(1);
    const property = fc.property(
      fc.oneof(someNumber, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)),
      (text) => {
        expect(readNumber(bytesOf(`${text},`), 0, target, 0)).toBe(text.length);
        expect(target[0]).toBe(JSON.parse(text));
      },
    );
    fc.assert(property, { numRuns: 5_000 });
  });

  it('G2: leaves to parsing what is not plain, and takes what is', () => {
    const withMember = (member: string) => `[${record.slice(0, -1)},${member}}]`;
    for (const text of [
      '[]',
      '[ ] ',
      `[${record}]`,
      `[${record},${record}]\n`,
      withMember('"choke":12.0'),
      withMember('"gasRate":-0'),
    ])
      expectSamePage(text, true);
    for (const member of [
      '"gasRate":01',
      '"gasRate":1.',
      '"gasRate":.5',
      '"gasRate":+1',
      '"gasRate":1e',
      '"gasRate":-',
      '"gasRate":1e400',
    ])
      expectSamePage(withMember(member), false);
    for (const member of [
      '"gasRate":null',
      '"choke":2147483648',
      '"choke":0.5',
      '"oilRate":2',
      '"extra":1',
      '"isDualFlow":truE',
      '"espAmps":nul',
    ])
      expectSamePage(withMember(member), false);
    for (const member of [
      '"downtimeCode":"\\n"',
      '"downtimeCode":"\n"',
      '"downtimeCode":"',
      '"downtimeCode":1',
      '',
      '"oil\\u0052ate":1',
    ])
      expectSamePage(withMember(member), false);
    for (const text of [
      '',
      ' ',
      ']',
      '[',
      '[,]',
      `[${record},]`,
      `[${record}`,
      `[${record}]]`,
      `[${record}] x`,
      `[${record} ${record}]`,
      '[{}]',
      '[1]',
      record,
    ])
      expectSamePage(text, false);
  });

  it('G8: reads no page with more records than it may have, and none behind one that is not plain', () => {
    const utc = productionCalendar('UTC');
    const bytes = bytesOf(pageText([record, record]));
    const counter = new RecordCounter(always, utc, new Secrets());
    expect(counter.addPlainPage(bytes, 2, always, 0)?.keys).toHaveLength(2);
    expect(counter.addPlainPage(bytes, 1, always, 0)).toBeUndefined();
    expect(counter.addPlainPage(bytes, 2, always, 0)).toBeUndefined();
    expect(counter.reading(2, []).counts).toMatchObject({ read: 2, repeated: 1 });
  });

  it('G8: takes a text of 65,536 characters, and none that is longer', () => {
    const withText = (chars: number) => `[${record.slice(0, -1)},"downtimeCode":"${'x'.repeat(chars)}"}]`;
    expectSamePage(withText(65_536), true);
    expectSamePage(withText(65_537), false);
  });
});
