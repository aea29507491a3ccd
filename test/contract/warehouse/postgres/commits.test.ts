/** Commits of daily production to PostgreSQL by several connections, and what they leave in its storage. */
import { describe, expect, it } from 'vitest';
import { createRunLedger } from '../../../../src/warehouse/sql/ledger/run-ledger.ts';
import { dailyEngineOf } from '../../../../src/warehouse/postgres/daily-engine.ts';
import { createDailyProductionStore } from '../../../../src/warehouse/sql/daily/daily-production-store.ts';
import { migrate } from '../../../../src/warehouse/postgres/schema.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { databaseOfTest, holding, postgresLack } from '../../../support/postgres/database.ts';
import {
  type Committing,
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  planned,
  reading,
  row,
} from '../../../support/warehouse-batches.ts';

const lack = await postgresLack('newest');

/** The part of a warehouse that commits need. */
function open(url: string): Committing & AsyncDisposable {
  const address = parsePostgresAddress(url);
  const prepare: ConstructorParameters<typeof PostgresDatabase>[0]['prepare'] = (session) =>
    migrate(session, address.location);
  const database = new PostgresDatabase({ address, password: async () => undefined, retryMs: 20_000, prepare });
  return {
    dailyProduction: createDailyProductionStore(database, dailyEngineOf(database)),
    ledger: { runs: createRunLedger(database) },
    [Symbol.asyncDispose]: () => database.close(),
  };
}

describe.skipIf(lack !== undefined)(`commits to PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('G3: commits of other wells do not wait for one that has not ended; one of the same well does', async () => {
    const { url, run } = await databaseOfTest();
    await using warehouse = open(url);
    const windows = ['A', 'B'].map((uwi) => reading(dailyRows(20), { uwi }));
    for (const window of windows) await load(warehouse, [window]);
    // What a commit of well A holds until it ends.
    const held = await holding(url, `SELECT 1 FROM well_key WHERE uwi = 'A' FOR UPDATE`);
    const changed = (uwi: string) =>
      reading(
        dailyRows(20).map((each) => ({ ...each, extras: '{"a":1}' })),
        { uwi },
      );
    const [ofB] = await load(warehouse, [changed('B')]);
    expect(ofB?.counts).toMatchObject({ updated: 20 });
    let hasEnded = false;
    const ofA = load(warehouse, [changed('A')]).finally(() => (hasEnded = true));
    await expect
      .poll(() => run(`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`))
      .toHaveLength(1);
    expect(hasEnded).toBe(false);
    await held.end();
    expect((await ofA)[0]?.counts).toMatchObject({ updated: 20 });
  });

  it('G1: the same unit, committed by two workers at once, counts once', async () => {
    const { url, run } = await databaseOfTest();
    await using one = open(url);
    await using other = open(url);
    for (let day = 1; day <= 10; day += 1) {
      const windows = ['A', 'B', 'C'].map((uwi, unit) =>
        reading([row(day, dayOf(day))], { unit, uwi, from: dayOf(day), to: dayOf(day + 1) }),
      );
      const runId = await planned(one, windows);
      const batch = { runId, windows, shrink: guard, committedAtMs };
      const outcomes = await Promise.all([one, other].map(({ dailyProduction }) => dailyProduction.commit(batch)));
      expect(
        outcomes
          .flatMap((committed) => committed.outcomes)
          .map(({ unit }) => unit)
          .toSorted((left, right) => left - right),
      ).toEqual([0, 1, 2]);
    }
    expect(await run('SELECT count(*)::int AS rows FROM daily_production')).toEqual([{ rows: 30 }]);
  });

  it('G1: two commits of one well keep the history in the order in which they came', async () => {
    const { url, run } = await databaseOfTest();
    await using warehouse = open(url);
    const rates = Array.from({ length: 12 }, (_, index) => index + 1);
    await load(warehouse, [reading([row(1, dayOf(1), { oilRate: 0 })])]);
    await Promise.all(rates.map((oilRate) => load(warehouse, [reading([row(1, dayOf(1), { oilRate })])])));
    const versions = await run(
      'SELECT oil_rate AS rate FROM daily_production_history UNION ALL SELECT oil_rate FROM daily_production',
    );
    // Each rate stood once, for a while: none was overwritten unseen.
    expect(versions.map(({ rate }) => Number(rate)).toSorted((left, right) => left - right)).toEqual([0, ...rates]);
  });

  it('G1: new wells get one key each, whoever commits them first', async () => {
    const { url, run } = await databaseOfTest();
    await using warehouse = open(url);
    const names = Array.from({ length: 30 }, (_, index) => `well ${index}`);
    const batchOf = (order: readonly string[], xid: number) =>
      load(
        warehouse,
        order.map((uwi, unit) => reading([row(xid, dayOf(xid))], { unit, uwi, from: dayOf(xid), to: dayOf(xid + 1) })),
      );
    await Promise.all([batchOf(names, 1), batchOf(names.toReversed(), 2), batchOf(names, 3)]);
    const [counted] = await run(
      'SELECT count(*)::int AS wells, count(DISTINCT uwi)::int AS names, (SELECT count(*)::int FROM daily_production) AS rows FROM well_key',
    );
    expect(counted).toEqual({ wells: 30, names: 30, rows: 90 });
  });

  it('writes no row version where nothing has changed, and one for each row that has', async () => {
    const { url, run } = await databaseOfTest();
    await using warehouse = open(url);
    const windows = (oilRate: number) =>
      ['A', 'B'].map((uwi, unit) =>
        reading([...dailyRows(19), row(20, dayOf(20), { oilRate })], { unit, uwi, mode: 'backfill' }),
      );
    await load(warehouse, windows(1));
    const storage = () =>
      run(`SELECT ctid::text AS place, xmin::text AS writer FROM internal.daily_production ORDER BY well_id, xid`);
    const before = await storage();
    await load(warehouse, windows(1));
    expect(await storage()).toEqual(before);
    await load(warehouse, windows(2));
    const after = await storage();
    expect(after.filter(({ writer }, index) => writer !== before[index]?.['writer'])).toHaveLength(2);
  });
});
