/**
 * A PostgreSQL connection that is cut before and after each statement of a night that holds rows, of a release, and of the
 * run that carries it out: each has its whole effect, once.
 */
import { describe, expect, test } from 'vitest';
import { UnreachableError } from '../../src/core/base/errors.ts';
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { createDatabase, postgresLack } from '../support/postgres/database.ts';
import { startCuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { sharedPostgres } from '../support/postgres/shared-postgres.ts';
import { handleOf } from '../support/postgres/warehouse.ts';
import { ask, committedAtMs, dailyRows, guard, loadOne, reading } from '../support/warehouse-batches.ts';

const lack = await postgresLack('newest');

const spring = { to: '2024-05-01' };
const held = { from: 40, to: 55 };
/** Spring without a day of January, which leaves, and fifteen of February, which are held. */
const lacking = reading(
  dailyRows(121).filter((_, index) => index + 1 !== 5 && !(index + 1 >= held.from && index + 1 < held.to)),
  spring,
);

async function create(warehouse: WarehouseHandle, runId: string): Promise<void> {
  const service = 'https://service.example';
  const asked = { job: 'export daily-production', params: {}, service, actor: 'tester@host' };
  await warehouse.ledger.runs.create({ ...asked, runId, requestedAtMs: committedAtMs });
}

const plan = (warehouse: WarehouseHandle, runId: string, { uwi: target }: WindowBatch) =>
  warehouse.ledger.runs.savePlan(runId, [{ unit: 0, chunk: 0, target, spec: {} }], committedAtMs);

const commit = (warehouse: WarehouseHandle, runId: string) =>
  warehouse.dailyProduction.commit({ runId, windows: [lacking], shrink: guard, committedAtMs });

async function release(warehouse: WarehouseHandle): Promise<void> {
  const service = 'https://service.example';
  const params = { nowMs: committedAtMs, allowShrink: false, releaseOf: 'night' };
  const request = { runId: 'release', job: 'export daily-production', params, service, actor: 'tester@host' };
  await warehouse.ledger.holds.release(
    { ...request, requestedAtMs: committedAtMs },
    { of: 'night', kind: 'uwi', rows: held.to - held.from },
  );
}

interface Act {
  readonly name: string;
  readonly before: (warehouse: WarehouseHandle) => Promise<unknown>;
  readonly act: (warehouse: WarehouseHandle) => Promise<unknown>;
}

const filled = async (warehouse: WarehouseHandle): Promise<void> => {
  await loadOne(warehouse, reading(dailyRows(121), spring));
  await create(warehouse, 'night');
  await plan(warehouse, 'night', lacking);
};
const heldOne = async (warehouse: WarehouseHandle): Promise<void> => {
  await filled(warehouse);
  await commit(warehouse, 'night');
};
const released = async (warehouse: WarehouseHandle): Promise<void> => {
  await heldOne(warehouse);
  await release(warehouse);
  await plan(warehouse, 'release', lacking);
};

const acts: readonly Act[] = [
  { name: 'a night that removes a row and holds others', before: filled, act: (it) => commit(it, 'night') },
  { name: 'a release', before: heldOne, act: release },
  { name: 'the run of a release', before: released, act: (it) => commit(it, 'release') },
];

/** What tells whether an act has its effect, but for the time of it. */
async function stateOf(warehouse: WarehouseHandle): Promise<unknown> {
  const tables = [
    'SELECT count(*), sum(oil_rate) FROM daily_production',
    'SELECT change, count(*) FROM daily_production_history GROUP BY 1 ORDER BY 1',
    'SELECT uwi, CAST(month AS VARCHAR), rows_missing, CAST(first_day AS VARCHAR), run_id FROM held_month ORDER BY 1, 2',
    'SELECT uwi, CAST(from_day AS VARCHAR), CAST(to_day AS VARCHAR) FROM coverage ORDER BY 1, 2',
    'SELECT count(*), max(CAST(last_day AS VARCHAR)) FROM watermark',
    'SELECT run_id, state FROM run ORDER BY 1',
    'SELECT run_id, state, counts FROM run_unit ORDER BY 1',
  ];
  return Promise.all(tables.map((sql) => ask(warehouse, sql)));
}

describe.skipIf(lack !== undefined)(`a connection that is cut${lack === undefined ? '' : ` (${lack})`}`, () => {
  test.each(acts)('G1, G4: before and after each statement of $name', async ({ before, act }) => {
    const server = await sharedPostgres('newest');
    if ('lack' in server) throw new Error(server.lack);
    const template = await createDatabase(server.adminUrl);
    const start = handleOf(template.url);
    await before(start);
    await start.close();
    const proxy = await startCuttingProxy(Number(new URL(server.adminUrl).port));
    /** Does the act in a copy; returns what it left, and how many messages it took. */
    const done = async (message: number, when: 'before it' | 'after it') => {
      const copy = await createDatabase(server.adminUrl, template.name);
      const warehouse = handleOf(copy.url.replace(/:\d+\//, `:${proxy.port}/`));
      await warehouse.check();
      proxy.cutAt(message, when);
      // A person whose request found no answer asks again.
      await act(warehouse).catch((error: unknown) => {
        if (!(error instanceof UnreachableError)) throw error;
        return act(warehouse);
      });
      const { messages } = proxy;
      proxy.cutAt(Infinity, 'before it');
      const state = await stateOf(warehouse);
      await warehouse.close();
      await copy.drop();
      return { state, messages };
    };
    const whole = await done(Infinity, 'before it');
    expect(whole.messages).toBeGreaterThan(3);
    for (let message = 1; message <= whole.messages; message += 1) {
      for (const when of ['before it', 'after it'] as const) {
        expect((await done(message, when)).state, `message ${message} of ${whole.messages}, ${when}`).toEqual(
          whole.state,
        );
      }
    }
    expect(proxy.cuts).toBe(2 * whole.messages);
    await proxy[Symbol.asyncDispose]();
    await template.drop();
  });
});
