/** Both warehouses hold the same after the same batches: every double, text, instant and piece of JSON, and their order. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import { measureFields, type FieldKind, type Measure } from '../../../../src/core/daily/row.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { isStorableText } from '../../../../src/core/daily/record-check.ts';
import type { DatedRow } from '../../../support/daily-rows.ts';
import { postgresLack } from '../../../support/postgres/database.ts';
import { temporaryPostgres } from '../../../support/postgres/warehouse.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { openTemporaryDuckdb } from '../../../support/warehouse-duckdb.ts';
import { ask, at, committedAtMs, dayOf, guard, load, reading, xidOf } from '../../../support/warehouse-batches.ts';

const lack = await postgresLack('newest');
const dayMs = 86_400_000;
const days = 6;

const someText = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(
        '\u0001',
        '\t',
        '\n',
        "'",
        '"',
        '\\',
        '\u{10ffff}',
        '\uffff',
        'ß',
        'ss',
        'A',
        'a',
        '-',
        ' ',
        'Z',
        'é',
        'e\u0301',
      ),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 12,
  })
  .filter(isStorableText);
const someDouble = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e21, 123_456_789.123_456_79),
);
const ofKind: Readonly<Record<FieldKind, fc.Arbitrary<Measure>>> = {
  double: someDouble,
  int32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  boolean: fc.boolean(),
  string: someText,
};
const someMeasures = fc.tuple(
  ...measureFields.map(({ kind, required }) => (required ? ofKind[kind] : fc.option(ofKind[kind], { freq: 2 }))),
);
/** Numbers as text that a number of JavaScript cannot hold, names out of order and twice, and any other JSON. */
const someExtras = fc.oneof(
  fc.constantFrom(
    '{"z":1.10,"a":12345678901234567890.123}',
    '{"n":-0,"m":1e400,"e":1E-7}',
    '{"a":1,"a":2}',
    '{"":{"b":[ 1 , null ]}}',
  ),
  fc
    .dictionary(someText, fc.jsonValue(), { minKeys: 1, maxKeys: 3 })
    .map((each) => JSON.stringify(each))
    .filter((json) => !/\\u(?:0000|d[89a-f])/i.test(json)),
);
const someRow = fc.record({
  place: fc.integer({ min: 1, max: 8 }),
  day: fc.integer({ min: 1, max: days }),
  withinMs: fc.oneof(fc.constantFrom(0, 1, 500, 999, dayMs - 1), fc.integer({ min: 0, max: dayMs - 1 })),
  measures: someMeasures,
  extras: fc.option(someExtras, { freq: 2 }),
});
const someBatch = fc.array(
  fc.record({
    rows: fc.uniqueArray(someRow, { selector: ({ place }) => place, maxLength: 6 }),
    quarantined: fc.array(
      fc.record({ raw: someText, reason: someText, day: fc.option(fc.integer({ min: 1, max: days })) }),
      { maxLength: 1 },
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

const rowOf = ({
  place,
  day,
  withinMs,
  measures,
  extras,
}: typeof someRow extends fc.Arbitrary<infer Row> ? Row : never): DatedRow => ({
  xid: xidOf(place),
  instantMs: at(dayOf(day)) + withinMs,
  day: dayOf(day),
  measures,
  extras,
});

const columns = ['uwi', 'xid', 'date', 'production_day', ...measureFields.map(({ column }) => column), 'extras'].join(
  ', ',
);
const questions = [
  `SELECT ${columns}, changed_at FROM daily_production ORDER BY uwi, xid`,
  `SELECT ${columns}, change, noticed_at, known_from, next_xid FROM daily_production_history ORDER BY noticed_at, uwi, xid`,
  `SELECT uwi, unit, window_from, window_to, production_day, xid, reason, raw FROM quarantine ORDER BY uwi, raw, reason, production_day`,
  `SELECT uwi, watermark, last_day, verified_at FROM watermark ORDER BY uwi`,
  `SELECT uwi, from_day, to_day FROM coverage ORDER BY uwi, from_day`,
  `SELECT production_month, touched_at FROM feed_month ORDER BY production_month`,
  `SELECT uwi, downtime_code FROM daily_production ORDER BY downtime_code, uwi, xid`,
];

async function contentOf(warehouse: WarehouseHandle): Promise<readonly unknown[]> {
  const content: unknown[] = [];
  for (const question of questions) content.push(await ask(warehouse, question));
  return content;
}

describe.skipIf(lack !== undefined)(`PostgreSQL and DuckDB${lack === undefined ? '' : ` (${lack})`}`, () => {
  const openPostgres = temporaryPostgres('newest');

  it('G1, G2: hold the same rows, history, quarantine and coverage after the same batches', async () => {
    const both = [await openTemporaryDuckdb(), await openPostgres()];
    let fields = 0;
    try {
      const property = fc.asyncProperty(
        fc.uniqueArray(
          someText.filter((name) => name !== ''),
          { minLength: 3, maxLength: 3 },
        ),
        fc.array(someBatch, { minLength: 1, maxLength: 3 }),
        async (names, batches) => {
          fields += 1;
          for (const [night, batch] of batches.entries()) {
            const windows = batch.map(({ rows, quarantined }, unit) =>
              reading(rows.map(rowOf), {
                unit,
                uwi: `${names[unit]} ${fields}`,
                quarantined: quarantined.map(({ raw, reason, day }) => ({
                  raw,
                  reason,
                  xid: null,
                  day: day === null ? null : dayOf(day),
                  rates: { oil: null, gas: day, water: 0.1 },
                })),
              }),
            );
            const atMs = committedAtMs + 1_000 * (10 * fields + night);
            const [ofDuckdb, ofPostgres] = await Promise.all(
              both.map(({ warehouse }) => load(warehouse, windows, { ...guard, allow: night % 2 === 0 }, atMs)),
            );
            // The action of a fault names the run, which each has of its own.
            const told = (outcomes: readonly UnitOutcome[] = []) =>
              outcomes.map(({ fault, ...outcome }) => ({ ...outcome, fault: fault?.message }));
            expect(told(ofPostgres)).toEqual(told(ofDuckdb));
          }
          const [inDuckdb, inPostgres] = await Promise.all(both.map(({ warehouse }) => contentOf(warehouse)));
          expect(inPostgres).toStrictEqual(inDuckdb);
        },
      );
      await expectForAllAsync(property, 10);
    } finally {
      for (const { dispose } of both) await dispose();
    }
  });
});
