/** The feeds of both warehouses hold the same. */
import { describe, expect, it } from 'vitest';
import { type FeedRow, openFeed } from '../../../support/feed.ts';
import { postgresLack } from '../../../support/postgres/database.ts';
import { temporaryPostgres } from '../../../support/postgres/warehouse.ts';
import { openTemporaryDuckdb } from '../../../support/warehouse-duckdb.ts';
import {
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  reading,
  row,
  xidOf,
} from '../../../support/warehouse-batches.ts';

const lack = await postgresLack('newest');
const year = { from: '2024-01-01', to: '2025-01-01' };

/** Names whose order differs by language, texts of every kind, numbers at the ends, and a night of corrections. */
const nights = [
  ['b', 'A', 'Ä', 'a-1', 'a 1', 'Z"\n,', '\u{10ffff}'].map((uwi, unit) =>
    reading(
      dailyRows(45).map((each, index) => ({
        ...row(unit * 100 + index, each.day, {
          oilRate: [0.1, 1e-300, -0, 1.7976931348623157e308][index % 4] ?? 0,
          choke: index % 3 === 0 ? null : -index,
          downtimeCode: ['', ' ', '"', 'a,b', 'NULL', '\r\n', '\\N'][index % 7] ?? null,
          isDualFlow: [true, false, null][index % 3] ?? null,
        }),
        extras: index % 5 === 0 ? '{"note": "x,\\"y\\"", "n":1e400}' : null,
      })),
      { uwi, unit, ...year },
    ),
  ),
  [reading([row(7, dayOf(8), { oilRate: 3 }), row(777, dayOf(9))], { uwi: 'b', unit: 0, ...year })],
];

/** Two warehouses were filled by runs of their own. */
function withoutRuns(each: FeedRow): FeedRow {
  return Object.fromEntries(Object.entries(each).filter(([name]) => !name.endsWith('run_id')));
}

describe.skipIf(lack !== undefined)(`the feed of PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  const open = { duckdb: openTemporaryDuckdb, postgres: temporaryPostgres('newest') };

  it('G1, G2: has the rows, the order and the checksums of a DuckDB file that holds the same', async () => {
    const feeds = [];
    for (const opening of [open.duckdb, open.postgres]) {
      const { warehouse, dispose } = await opening();
      try {
        await using feed = await openFeed(warehouse);
        for (const [night, windows] of nights.entries()) {
          await load(warehouse, windows, { ...guard, allow: true }, committedAtMs + night * 1_000);
          await feed.publish();
        }
        const { manifest, rows } = await feed.read();
        const sums = manifest.files.map(({ table, month, first, rows: count, checksum }) => [
          table,
          month,
          first,
          count,
          checksum,
        ]);
        const values = rows.daily_production.map(withoutRuns);
        const ended = rows.restatements.map(withoutRuns);
        feeds.push({ sums, values, ended, coverage: rows.coverage });
        expect(await feed.verify()).toMatchObject({ faults: [] });
      } finally {
        await dispose();
      }
    }
    const [file, database] = feeds;
    expect(file?.values).toHaveLength(7 * 45 - 43);
    expect(file?.ended).toHaveLength(45);
    expect(file?.values[0]).toMatchObject({ uwi: 'A', xid: xidOf(100) });
    expect(database).toEqual(file);
  });
});
