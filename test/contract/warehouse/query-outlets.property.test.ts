/** A file of a query holds the values that the query prints, in text of every type. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { csvForm } from '../../../src/core/base/text.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from '../../../src/warehouse/port/warehouse.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { bySuite } from '../../support/suite-size.ts';

let folder: string;
let warehouse: WarehouseHandle;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-outlets-'));
  warehouse = createDuckdbWarehouse({ path: path.join(folder, 'w.duckdb'), now: Date.now });
  await warehouse.check();
});

afterAll(async () => {
  await warehouse.close();
  await rm(folder, { recursive: true });
});

const whole = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
  fc.bigInt({ min: -9n, max: 9n }),
);
const double = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, 0, -0, 1e21, 0.1, 12));
const text = fc.oneof(fc.constantFrom('', ' ', '"', 'NaN', 'null', ',', '\r\n', '=1'), fc.string());
const moment = fc
  .integer({ min: -62_135_596_800, max: 253_402_300_799 })
  .map((seconds) => new Date(seconds * 1_000).toISOString().slice(0, -1));
const quoted = (value: string): string => `'${value.replaceAll("'", "''").replaceAll('\0', '')}'`;

/** Values of the types that the engine writes. */
const simple = fc.oneof(
  whole.map((value) => `CAST('${value}' AS BIGINT)`),
  whole.map((value) => `CAST('${value}' AS HUGEINT) * 1000`),
  double.map((value) => `CAST('${value}' AS DOUBLE)`),
  double.map((value) => `TRY_CAST(CAST('${value}' AS DOUBLE) AS FLOAT)`),
  text.map(quoted),
  text.map((value) => `CAST(${quoted(JSON.stringify({ value }).replaceAll(String.raw`\u0000`, ''))} AS JSON)`),
  whole.map((value) => `CAST(CAST('${value}' AS HUGEINT) AS DECIMAL(38, 3))`),
  moment.map((at) => `TIMESTAMPTZ '${at}Z'`),
  moment.map((at) => `TIMESTAMP '${at}'`),
  moment.map((at) => `DATE '${at.slice(0, 10)}'`),
  fc.constantFrom('NULL::DOUBLE', 'NULL::BIGINT', 'NULL::TIMESTAMPTZ', 'true', `TIMESTAMPTZ 'infinity'`),
  fc.constantFrom(`DATE '-infinity'`, `TIMESTAMP '0044-03-15 (BC) 01:02:03'`, `'a'::ENUM('a')`, '1::UHUGEINT'),
);

/** Values of other types. */
const complex = fc.oneof(
  moment.map((at) => `TIMESTAMP_MS '${at}'`),
  moment.map((at) => `[TIMESTAMPTZ '${at}Z', NULL]`),
  whole.map((value) => `{'count': CAST('${value}' AS BIGINT), 'none': NULL}`),
  double.map((value) => `MAP {'a': [CAST('${value}' AS DOUBLE)]}`),
  fc.constantFrom('INTERVAL 14 MONTH', `TIME '01:02:03.5'`, `union_value(n := 1)`, `'101'::BIT`, 'NULL'),
);

async function shown(sql: string) {
  return warehouse.query(sql, async ({ columns, rows }) => {
    const names = columns.map(({ name }) => name);
    for await (const row of rows) return { names, row };
    throw new Error('no row');
  });
}

async function written(sql: string, format: 'csv' | 'ndjson'): Promise<string> {
  const target = path.join(folder, `result.${format}`);
  expect(await warehouse.copyQuery(sql, { path: target, format, isGzip: false })).toBe(1);
  return readFile(target, 'utf8');
}

/** The engine writes `1.0` and `1e+21` where JavaScript writes `1` and `1e21`: a cell of a number is compared as one. */
function cellsOf(csv: string, row: readonly unknown[]): readonly unknown[] {
  const [, cells = []] = parse(csv);
  return cells.map((cell, place) => (typeof row[place] === 'number' ? Number(cell) + 0 : cell));
}

test.each([
  ['simple', simple],
  ['any', fc.oneof(simple, complex)],
])('a file of a query holds the values that the query prints, of %s types', async (_, literals) => {
  const property = fc.asyncProperty(fc.array(literals, { minLength: 8, maxLength: 24 }), async (values) => {
    const sql = `SELECT ${values.map((value, place) => `${value} AS c${place}`).join(', ')}`;
    const { names, row } = await shown(sql);
    const printed: unknown = JSON.parse(JSON.stringify(row));
    const inFile = JSON.parse(await written(sql, 'ndjson')) as Record<string, unknown>;
    expect(names.map((name) => (typeof inFile[name] === 'number' ? inFile[name] + 0 : inFile[name]))).toEqual(printed);
    expect(cellsOf(await written(sql, 'csv'), row)).toEqual(cellsOf(stringify([row], csvForm(names)), row));
  });
  await expectForAllAsync(property, bySuite(8, 15));
});
