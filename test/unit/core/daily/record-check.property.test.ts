import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CheckedRecord, checkRecord, type RecordText } from '../../../../src/core/daily/record-check.ts';
import { measureFields, nullableFields, type RawRecord } from '../../../../src/core/daily/row.ts';
import { dayNumber, productionCalendar } from '../../../../src/core/time/production-day.ts';
import { type DailyProduction, dailyProductionSchema } from '../../../../src/service/contract.ts';

const utc = productionCalendar('UTC');
const xid = '0f8fad5b-d9cb-469f-a165-70867728950e';
const good = {
  xid,
  date: '2024-02-01T00:00:00Z',
  oilRate: 1,
  gasRate: 2,
  waterRate: 3,
  tubingPressure: 4,
  casingPressure: 5,
};

/** One of the values, all equally likely. */
function oneOf(...values: readonly unknown[]) {
  return fc.constantFrom(...values);
}

/** Valid and invalid values of a JSON field, with the edges of every kind. */
// JSON.parse turns 1e400 into Infinity.
const edges = [Infinity, -0, 0.5, 2 ** 31, 2 ** 31 - 1, -(2 ** 31), -(2 ** 31) - 1];
const anything = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer(),
  oneOf(null, true, '', '12', [], {}),
  oneOf(...edges),
);

const xids = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.toUpperCase()),
  oneOf('', xid.slice(1), `${xid} `, null, 7, undefined),
);

const realDates = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
const endsOfTime = [
  '',
  'Z',
  '+02:00',
  '-11:30',
  '+0200',
  ':00',
  ':00Z',
  ':00+24:00',
  ':61Z',
  ':00.5',
  ':00.123456+05:45',
];
const dates = fc.oneof(
  realDates.map((date) => date.toISOString()),
  fc
    .tuple(
      fc.integer({ min: 1, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      fc.integer({ min: 0, max: 25 }),
      oneOf(...endsOfTime),
    )
    .map(([month, day, hour, end]) => `2023-${pad(month)}-${pad(day)}T${pad(hour)}:30${String(end)}`),
  oneOf('2024-02-29T00:00:00Z', '2023-02-29T00:00:00Z', '2024-02-30T00:00:00Z', '2024-02-01', '', null, 5, undefined),
);

const fieldNames = measureFields.map(({ name }) => name);

const records = fc
  .record({
    odd: fc.dictionary(fc.constantFrom(...fieldNames), anything, { maxKeys: 2 }),
    absent: fc.subarray(Object.keys(good).slice(2), { maxLength: 2 }),
    id: fc.option(xids, { nil: xid }),
    date: fc.option(dates, { nil: good.date }),
  })
  .map(({ odd, absent, id, date }): unknown => {
    const fields = Object.entries({ ...good, ...odd, xid: id, date });
    return Object.fromEntries(fields.filter(([name, value]) => value !== undefined && !absent.includes(name)));
  });

describe('the check and the schema of the contract', () => {
  it('the record check and the schema accept the same records, with the same values', () => {
    fc.assert(
      fc.property(records, (raw) => {
        const { data } = dailyProductionSchema.safeParse(raw);
        expect(shapeOf(checkRecord(raw, utc, textOf(raw)))).toEqual(
          data === undefined ? 'quarantined' : shapeOfSchema(data),
        );
      }),
      { numRuns: 5_000 },
    );
  });

  it('the record check and the schema know the same fields', () => {
    expect(Object.keys(dailyProductionSchema.shape)).toEqual(['xid', 'date', ...fieldNames]);
  });
});

describe('fields that may be null', () => {
  it('null in them is an unknown value, and nothing else changes', () => {
    const someNulls = fc.record({ raw: records, nulls: fc.subarray([...nullableFields]) });
    const property = fc.property(someNulls, fc.subarray([...nullableFields]), ({ raw, nulls }, named) => {
      const given = { ...(raw as RawRecord), ...Object.fromEntries(nulls.map((name) => [name, null])) };
      const nullable = new Set<string>(named);
      const isUnknown = (name: string) => nullable.has(name) && given[name] === null;
      const known = Object.fromEntries(
        Object.entries(given).map(([name, value]) => [name, isUnknown(name) ? 0 : value]),
      );
      const expected = checkRecord(known, utc, textOf(given));
      const checked = checkRecord(given, utc, textOf(given), { nullable });
      if (expected.kind === 'quarantined') expect(checked).toEqual(expected);
      else {
        const measures = measureFields.map(({ name }, position) =>
          isUnknown(name) ? null : expected.row.measures[position],
        );
        expect(checked).toEqual({ ...expected, row: { ...expected.row, measures } });
      }
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  it('are 0 where they are absent, and of their type where they are not null', () => {
    const rules = { nullable: new Set(nullableFields) };
    const { tubingPressure: _, ...absent } = good;
    expect(checkRecord(absent, utc, textOf(absent), rules)).toMatchObject({ defaulted: true });
    expect(checkRecord(absent, utc, textOf(absent), rules)).toHaveProperty('row.measures.3', 0);
    const odd = { ...good, casingPressure: '7' };
    expect(checkRecord(odd, utc, textOf(odd), rules)).toHaveProperty(
      'record.reason',
      'casingPressure is "7", not a number',
    );
  });
});

/** The text of a record as JSON.stringify writes it. */
function textOf(raw: unknown): RecordText {
  return {
    whole: () => JSON.stringify(raw),
    digest: () => '',
    member: (name) => JSON.stringify((raw as Record<string, unknown>)[name]),
  };
}

function shapeOf(checked: CheckedRecord) {
  if (checked.kind === 'quarantined') return 'quarantined';
  const { row } = checked;
  return { xid: row.xid, instantMs: row.instantMs, measures: row.measures };
}

function shapeOfSchema(data: DailyProduction) {
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/.test(data.date);
  const measures = measureFields.map(({ name }) => data[name as keyof DailyProduction] ?? null);
  return { xid: data.xid, instantMs: Date.parse(hasZone ? data.date : `${data.date}Z`), measures };
}

describe('a record', () => {
  it('absent optional fields become null; absent required fields become 0 and mark the row as defaulted', () => {
    const raw = { xid: xid.toUpperCase(), date: '2024-02-01T23:30:00Z' };
    const checked = checkRecord(raw, productionCalendar('Europe/Oslo'), textOf(raw));
    expect(checked).toMatchObject({
      kind: 'row',
      defaulted: true,
      row: { xid, day: dayNumber('2024-02-02'), extras: null },
    });
    expect(checkRecord(good, utc, textOf(good))).toMatchObject({ defaulted: false });
  });

  it('extra fields are kept as one JSON object', () => {
    const raw: unknown = JSON.parse(`{"__proto__":{"a":1},"api14":"x",${JSON.stringify(good).slice(1)}`);
    const checked = checkRecord(raw, utc, textOf(raw));
    expect(checked).toMatchObject({ kind: 'row', extraFields: ['__proto__', 'api14'] });
    expect(checked).toHaveProperty('row.extras', '{"__proto__":{"a":1},"api14":"x"}');
  });

  it.each([
    '1e-400',
    '-0',
    '-0.0e5',
    '1e400',
    '0.100000000000000000000000000001',
    '1000000000000000000001',
    '1.00000000000000000001',
    '4.94065645841247e-324',
    '{"depth 0.1e9":[1,{"deep":9007199254740993}]}',
  ])('a number of an extra field that no double keeps is stored as it was sent: %s', (sent) => {
    const raw = { ...good, extra: JSON.parse(sent) as unknown };
    const checked = checkRecord(raw, utc, { digest: () => '', whole: () => '', member: () => sent });
    expect(checked).toHaveProperty('row.extras', `{"extra":${sent}}`);
  });

  it.each([
    ['1.50', '1.5'],
    ['1e3', '1000'],
    ['0.10', '0.1'],
    ['0e5', '0'],
    ['{ "of" : [ 1.0, "1e-400" ] }', '{"of":[1,"1e-400"]}'],
  ])('a number of an extra field that a double keeps has one form: %s is %s', (sent, stored) => {
    const raw = { ...good, extra: JSON.parse(sent) as unknown };
    const checked = checkRecord(raw, utc, { digest: () => '', whole: () => '', member: () => sent });
    expect(checked).toHaveProperty('row.extras', `{"extra":${stored}}`);
  });

  it.each<readonly [unknown, string, string | null, string | null]>([
    [{ ...good, oilRate: null }, 'oilRate is null, not a number', xid, '2024-02-01'],
    [{ ...good, choke: 2 ** 31 }, 'choke is 2147483648, not a whole number of 32 bits', xid, '2024-02-01'],
    [{ ...good, isDualFlow: 'yes' }, 'isDualFlow is "yes", not true or false', xid, '2024-02-01'],
    [{ ...good, downtimeCode: 5 }, 'downtimeCode is 5, not a text', xid, '2024-02-01'],
    [{ ...good, date: '2024-02-30T00:00:00Z' }, 'date is "2024-02-30T00:00:00Z", not a date-time', xid, null],
    [
      { ...good, xid: undefined, oilRate: '1' },
      'xid is absent, not a uuid; oilRate is "1", not a number',
      null,
      '2024-02-01',
    ],
    [null, 'the record is null, not an object', null, null],
    [['x'.repeat(90)], `the record is ["${'x'.repeat(58)}…, not an object`, null, null],
  ])('the record %j is quarantined with its reason', (raw, reason, id, day) => {
    const record = { raw: JSON.stringify(raw), reason, xid: id, day };
    expect(checkRecord(raw, utc, textOf(raw))).toMatchObject({ kind: 'quarantined', record });
  });

  const volve = '../shared/data/volve_daily_production.ndjson';
  const lack = existsSync(volve) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';
  it('of the Volve field is a row with every value as it came', ({ skip }) => {
    skip(lack !== undefined, lack);
    const lines = readFileSync(volve, 'utf8').trim().split('\n');
    for (const line of lines) {
      const { uwi: _uwi, ...raw } = JSON.parse(line) as Record<string, unknown>;
      const checked = checkRecord({ ...raw, xid }, utc, textOf(raw));
      const values = measureFields.map(({ name, required }) => raw[name] ?? (required ? 0 : null));
      expect(checked).toMatchObject({ kind: 'row', row: { measures: values, extras: null } });
    }
    expect(lines).toHaveLength(15_634);
  });
});

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
