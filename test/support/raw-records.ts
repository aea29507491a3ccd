/** Arbitrary records of daily production as JSON text: right ones, wrong ones, and ones with changed characters. */
import fc from 'fast-check';
import { measureFields } from '../../src/core/daily/row.ts';

const names = measureFields.map(({ name }) => name);
const oddNames = ['__proto__', 'constructor', 'toString', 'extra', '7', 'OilRate', 'xid ', ''];

/** JSON texts of values, with the edges of every kind. */
const someValue = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.constantFrom('null', 'true', 'false', '[]', '{}', '""', '"12"', '[[1]]'),
  fc.constantFrom('1e400', '-1e400', '-0', '-0.0', '0.5', '2147483647', '2147483648', '-2147483648', '-2147483649'),
  fc.constantFrom('12345678901234567890', '"\\ud83d"', '"\\ud83d\\ude00"', '"\\u0000"', '"\ud83d"', '"d\u00e9faut"'),
  fc.string().map((text) => JSON.stringify(text)),
);

const someXid = fc.oneof(
  fc.uuid().map((xid) => JSON.stringify(xid)),
  fc.uuid().map((xid) => JSON.stringify(xid.toUpperCase())),
  fc.constantFrom('null', '7', '""', '"0f8fad5b-d9cb-469f-a165-70867728950"', '"0f8fad5bd9cb469fa16570867728950e0000"'),
);

const endings = ['Z', '', '+02:00', '-11:30', '.5Z', '.250Z', '.123456+05:45', '+24:00', 'z', ' Z', '.25xZ'];
const someDate = fc
  .oneof(
    fc
      .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toJSON()),
    fc
      .tuple(
        fc.constantFrom('0000', '0001', '0099', '0100', '1899', '1900', '2023', '2024', '9999', '20x4'),
        fc.integer({ min: 0, max: 13 }),
        fc.integer({ min: 0, max: 32 }),
        fc.constantFrom('00:00:00', '23:59:59', '24:00:00', '02:30:00', '12:60:00', '12:00:60', '12:00', '1x:00:00'),
        fc.constantFrom(...endings),
      )
      .map(([year, month, day, time, ending]) => `${year}-${pair(month)}-${pair(day)}T${time}${ending}`),
    fc.constantFrom('', '2024-02-01', 'T'),
  )
  .map((date) => JSON.stringify(date));

function pair(value: number): string {
  return String(value).padStart(2, '0');
}

const someMembers = fc
  .record({
    xid: someXid,
    date: fc.oneof({ weight: 9, arbitrary: someDate }, { weight: 1, arbitrary: someValue }),
    present: fc.subarray(names, { minLength: names.length - 4 }),
    numbers: fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: names.length, maxLength: names.length }),
    nulls: fc.subarray(names, { maxLength: 3 }),
    odd: fc.array(fc.tuple(fc.constantFrom(...names, ...oddNames, 'xid', 'date'), someValue), { maxLength: 2 }),
  })
  .map(({ xid, date, present, numbers, nulls, odd }) => [
    ['xid', xid] as const,
    ['date', date] as const,
    ...measureFields.flatMap(({ name, kind, required }, position): ReadonlyArray<readonly [string, string]> => {
      if (!present.includes(name)) return [];
      if (nulls.includes(name) && !required) return [[name, 'null']];
      const number = numbers[position] ?? 0;
      const values = {
        double: String(number / 8),
        int32: String(number),
        string: `"c${number}"`,
        boolean: String(number > 0),
      };
      return [[name, values[kind]]];
    }),
    ...odd,
  ]);

/** A record as JSON text; of two members with one name JSON.parse takes the last. */
const someText = someMembers.map(
  (members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`,
);

/** A text with some characters changed, of those that are still JSON. */
const someChangedText = fc
  .tuple(
    someText,
    fc.array(fc.tuple(fc.nat(), fc.string({ minLength: 1, maxLength: 1 })), { minLength: 1, maxLength: 3 }),
  )
  .map(([text, changes]) => {
    const characters = Array.from(text);
    for (const [place, character] of changes) characters[place % characters.length] = character;
    return characters.join('');
  })
  .filter(isJson);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const someRecordText = fc.oneof(
  { weight: 6, arbitrary: someText },
  { weight: 3, arbitrary: someChangedText },
  { weight: 1, arbitrary: someValue.filter(isJson) },
);
