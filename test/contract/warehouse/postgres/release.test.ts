/** Releases of held rows on PostgreSQL, where exports commit at the same time. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WindowBatch } from '../../../../src/core/daily/merge.ts';
import type { RunRequest } from '../../../../src/core/run/run.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { databaseOfTest, holding, postgresLack } from '../../../support/postgres/database.ts';
import { handleOf } from '../../../support/postgres/warehouse.ts';
import { committedAtMs, dailyRows, guard, load, reading } from '../../../support/warehouse-batches.ts';

const lack = await postgresLack('newest');
const winter = { to: '2024-03-01' };

const request = (runId: string): RunRequest => ({
  runId,
  job: 'export daily-production',
  params: {},
  service: 'https://service.example',
  actor: 'tester@host',
  requestedAtMs: committedAtMs,
});

function open(url: string): WarehouseHandle {
  const warehouse = handleOf(url);
  onTestFinished(() => warehouse.close());
  return warehouse;
}

/** Commits windows as a run whose units tell their windows, as those of an export do. */
async function loadAs(warehouse: WarehouseHandle, runId: string, windows: readonly WindowBatch[]): Promise<void> {
  const { runs } = warehouse.ledger;
  await runs.create(request(runId));
  const units = windows.map(({ unit, uwi, window }) => ({ unit, chunk: 0, target: uwi, spec: window }));
  await runs.savePlan(runId, units, committedAtMs);
  await warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs });
}

const release = (warehouse: WarehouseHandle, rows: number) =>
  warehouse.ledger.holds.release(request('release'), { of: 'night', kind: 'uwi', rows });

const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;

describe.skipIf(lack !== undefined)(`a release on PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('G4: is of the holds that were counted, and of none that another run begins meanwhile', async () => {
    const { url, run } = await databaseOfTest();
    const warehouse = open(url);
    await warehouse.check();
    await load(warehouse, [reading(dailyRows(60), winter)]);
    // February is held.
    await loadAs(warehouse, 'night', [reading(dailyRows(40), winter)]);
    // Keeps the release waiting between its count and its end: its run has the same id.
    const held = await holding(
      url,
      `INSERT INTO run (run_id, job, params, state, round, requested_at) VALUES ('release', '', '{}', 'queued', 0, now())`,
    );
    const released = release(warehouse, 20);
    await expect.poll(() => run(waiting)).toHaveLength(1);
    // January is held too, in the window of the run whose holds are released.
    await load(open(url), [reading(dailyRows(40).slice(20), winter)]);
    await held.end();
    expect(await released).toEqual({ kind: 'created' });
    expect(await run(`SELECT CAST(month AS VARCHAR) AS month, release_run_id FROM held_month ORDER BY month`)).toEqual([
      { month: '2024-01-01', release_run_id: null },
      { month: '2024-02-01', release_run_id: 'release' },
    ]);
  });

  it('is made again where it met a commit that locks the holds in another order', async () => {
    const { url, run } = await databaseOfTest();
    const warehouse = open(url);
    await warehouse.check();
    const wells = ['A', 'B'];
    await load(
      warehouse,
      wells.map((uwi, unit) => reading(dailyRows(60), { uwi, unit, ...winter })),
    );
    await loadAs(
      warehouse,
      'night',
      wells.map((uwi, unit) => reading(dailyRows(40), { uwi, unit, ...winter })),
    );
    const locks = (uwi: string) => `SELECT 1 FROM held_month WHERE uwi = '${uwi}' FOR UPDATE`;
    // The server ends the transaction whose look for a deadlock comes first.
    const commit = await holding(url, `SET LOCAL deadlock_timeout = '10min'; ${locks('B')}`);
    const released = release(warehouse, 40);
    await expect.poll(() => run(waiting)).toHaveLength(1);
    await commit.run(locks('A'));
    await commit.end();
    expect(await released).toEqual({ kind: 'created' });
  });
});
