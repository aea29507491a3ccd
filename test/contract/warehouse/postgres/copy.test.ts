/** A DuckDB warehouse that moves to PostgreSQL, with all that it holds. */
import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/base/errors.ts';
import { type CopySource, copyTables } from '../../../../src/warehouse/copy.ts';
import { copyWarehouse } from '../../../../src/warehouse/two-warehouses.ts';
import { type DatabaseFile, shareDatabaseFile } from '../../../../src/warehouse/duckdb/file/database-file.ts';
import { migrate } from '../../../../src/warehouse/postgres/schema.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { contentOf, oldDatabase, readExpected, unpackOldWarehouse } from '../../../support/old-warehouse.ts';
import { databaseOfTest, postgresLack } from '../../../support/postgres/database.ts';
import { handleOf } from '../../../support/postgres/warehouse.ts';
import { ask, at, dailyRows, dayOf, load, reading, row, unreadable } from '../../../support/warehouse-batches.ts';
import { openTemporaryDuckdb, settings } from '../../../support/warehouse-duckdb.ts';

const lack = await postgresLack('newest');

function sourceOf(file: DatabaseFile): CopySource {
  return { engine: 'duckdb', read: (work) => file.read(work) };
}

/** Rows, corrections, a quarantined record, a deletion and its plan, by the ports. */
async function fill({ warehouse }: Awaited<ReturnType<typeof openTemporaryDuckdb>>): Promise<void> {
  const odd = row(40, dayOf(1), { oilRate: 0.1 + 0.2, gasRate: -0, choke: null }, '{"a": 1.10, "b": "\\u00e9"}');
  await load(warehouse, [reading(dailyRows(31)), reading([odd], { unit: 1, uwi: "O'Brien\t\\N\n2" })]);
  await load(warehouse, [reading([...dailyRows(30), row(31, dayOf(31), { oilRate: 7 })])]);
  await load(warehouse, [reading(dailyRows(31), { quarantined: [unreadable({ day: dayOf(2) })] })]);
  await warehouse.ledger.profiles.save('https://service.example', '{"page": 1}', at('2024-01-01'));
}

describe.skipIf(lack !== undefined)(`a copy to PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('holds the same rows of every table, goes on where it was stopped, and is worked on as before', async () => {
    const duckdb = await openTemporaryDuckdb();
    const { url } = await databaseOfTest();
    const file = shareDatabaseFile({ ...settings, path: duckdb.path });
    const address = parsePostgresAddress(url);
    const target = new PostgresDatabase({
      address,
      password: () => Promise.resolve(undefined),
      retryMs: 20_000,
      prepare: (session) => migrate(session, address.location),
    });
    const moved = handleOf(url);
    try {
      await fill(duckdb);
      const stop = new AbortController();
      const stopped = copyTables(
        sourceOf(file),
        { engine: 'postgres', database: target },
        {
          onStep: (table) => {
            if (table === 'coverage') stop.abort();
          },
          signal: stop.signal,
        },
      );
      await expect(stopped).rejects.toThrow(AbortedError);
      // Half of it is no warehouse.
      const early = handleOf(url);
      const unfinished = /is unfinished: it is no warehouse yet/;
      await expect(early.ledger.ownership.read()).rejects.toThrow(unfinished);
      await expect(ask(early, 'SELECT count(*) FROM daily_production')).rejects.toThrow(unfinished);
      await expect(early.describe()).rejects.toThrow(unfinished);
      await early.close();
      const steps: string[] = [];
      const copied = await copyTables(
        sourceOf(file),
        { engine: 'postgres', database: target },
        {
          onStep: (table, what) => {
            if (what === 'copied') steps.push(table);
          },
        },
      );
      expect(steps).toContain('run_unit');
      expect(steps).not.toContain('internal.daily_production');
      expect(copied.find(({ table }) => table === 'internal.daily_production')).toMatchObject({ rows: 32 });
      expect(copied.find(({ table }) => table === 'daily_production_history')?.rows).toBeGreaterThan(0);
      const again = { onStep: (table: string, what: string) => expect(what, table).toBe('compared') };
      expect(await copyTables(sourceOf(file), { engine: 'postgres', database: target }, again)).toEqual(copied);

      expect(await moved.ledger.ownership.read()).toMatchObject({
        ...(await duckdb.warehouse.ledger.ownership.read()),
        epoch: 1,
      });
      const sql =
        'SELECT uwi, production_day, oil_rate, gas_rate, extras FROM daily_production ORDER BY uwi, production_day';
      expect(await ask(moved, sql)).toEqual(await ask(duckdb.warehouse, sql));
      // The same reading changes nothing, and a new well has a key of its own.
      const [same, fresh] = await load(moved, [
        reading(dailyRows(31), { quarantined: [unreadable({ day: dayOf(2) })] }),
        reading(dailyRows(2), { unit: 1, uwi: 'new' }),
      ]);
      expect(same?.counts).toMatchObject({ unchanged: 31, inserted: 0, updated: 0, removed: 0 });
      expect(fresh?.counts).toMatchObject({ inserted: 2 });
      await expect(
        copyTables(sourceOf(file), { engine: 'postgres', database: target }, { onStep: () => undefined }),
      ).rejects.toThrow(/not empty: it is a copy of this one, and well_key of one of the two was changed since/);
    } finally {
      await Promise.all([file.release(), target.close(), moved.close()]);
      await duckdb.dispose();
    }
  });

  it.each(['file', 'database'])('G6: takes over an old %s, verifies its audit, and goes on with it', async (from) => {
    const { asMade } = await readExpected();
    await using old = await unpackOldWarehouse();
    const source = await databaseOfTest();
    await source.run(await oldDatabase());
    const { url } = await databaseOfTest();
    const ends = { from: from === 'file' ? `duckdb:${old.warehouseFile}` : source.url, to: url };
    const copied = await copyWarehouse(ends, settings, { onStep: () => undefined });
    expect(copied.find(({ table }) => table === 'internal.daily_production')?.rows).toBe(1_138);
    const before = handleOf(source.url);
    const moved = handleOf(url);
    try {
      await expect(before.check()).rejects.toThrow(/schema version 8, from before the first release/);
      const { runs, warehouse: rows } = await contentOf((sql) => ask(moved, sql));
      expect(rows).toEqual(asMade.warehouse);
      expect(runs).toEqual(asMade.runs);
      const { deletions } = moved.ledger;
      const { head } = await deletions.verify(asMade.audit.head);
      expect(head).toEqual({ rows: asMade.audit.rows, hash: asMade.audit.head });
      expect(await deletions.verify(head.hash)).toEqual({ head, broken: undefined, retries: new Map() });
      const [[runId, unit, serviceUrl] = []] = await ask(
        moved,
        `SELECT run_id, u.unit, service_url FROM run_unit u JOIN cleanup_plan p USING (run_id)
         WHERE u.state = 'open' ORDER BY u.unit LIMIT 1`,
      );
      const atMs = at('2026-01-01');
      await deletions.begin({ runId: String(runId), units: [Number(unit)], serviceUrl: String(serviceUrl), atMs });
      expect(await deletions.verify(head.hash)).toMatchObject({ head: { rows: head.rows + 1 }, broken: undefined });
    } finally {
      await Promise.all([before.close(), moved.close()]);
    }
  });

  it('ends with what to do where rows were changed between two of its steps', async () => {
    const [source, { url }] = [await databaseOfTest(), await databaseOfTest()];
    const first = handleOf(source.url);
    await load(first, [reading(dailyRows(31))]);
    await first.close();
    const stop = new AbortController();
    const onStep = (table: string): void => {
      if (table === 'internal.daily_production') stop.abort();
    };
    const ends = { from: source.url, to: url };
    await expect(copyWarehouse(ends, settings, { onStep, signal: stop.signal })).rejects.toThrow(AbortedError);
    for (const rate of [1, 2]) await source.run(`UPDATE internal.daily_production SET oil_rate = ${rate}`);
    await expect(copyWarehouse(ends, settings, { onStep: () => undefined })).rejects.toThrow(
      'rows of internal.daily_production were changed since the copy began',
    );
  });

  it('takes a database to no file', async () => {
    const ends = { from: 'postgres://wellsync@db.example/production', to: 'duckdb:./new.duckdb' };
    await expect(copyWarehouse(ends, settings, { onStep: () => undefined })).rejects.toThrow(/to PostgreSQL alone/);
  });

  it('lets one of two copies at once go on, and ends the other before it writes a row twice', async () => {
    const duckdb = await openTemporaryDuckdb();
    const { url } = await databaseOfTest();
    const file = shareDatabaseFile({ ...settings, path: duckdb.path });
    const address = parsePostgresAddress(url);
    const targets = [1, 2].map(
      () =>
        new PostgresDatabase({
          address,
          password: () => Promise.resolve(undefined),
          retryMs: 20_000,
          prepare: (session) => migrate(session, address.location),
        }),
    );
    try {
      await fill(duckdb);
      const [first] = targets;
      if (first === undefined) throw new Error('there are two');
      const stop = new AbortController();
      const begun = copyTables(
        sourceOf(file),
        { engine: 'postgres', database: first },
        { onStep: () => stop.abort(), signal: stop.signal },
      );
      await expect(begun).rejects.toThrow(AbortedError);
      const ends = await Promise.allSettled(
        targets.map((target) =>
          copyTables(sourceOf(file), { engine: 'postgres', database: target }, { onStep: () => undefined }),
        ),
      );
      const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
      expect(refused.length).toBeLessThan(2);
      for (const reason of refused) expect(reason).toMatch(/another copy/);
      const moved = handleOf(url);
      expect(await ask(moved, 'SELECT count(*)::int AS rows FROM daily_production')).toEqual([[32]]);
      await moved.close();
    } finally {
      await Promise.all([file.release(), ...targets.map((target) => target.close())]);
      await duckdb.dispose();
    }
  });
});
