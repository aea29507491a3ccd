/** What the suites of alerts have in common: a warehouse, its alerts, and runs that end as they are said. */
import type { AlertKind } from '../../src/core/alerts/kinds.ts';
import type { PlannedUnit, UnitOutcome } from '../../src/core/run/run.ts';
import type { AlertFilter } from '../../src/warehouse/port/alerts.ts';
import { committedAtMs, dailyRows, type Ending, endRun, reading, unreadable } from './warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from './warehouse-under-test.ts';

export const uwi = 'NO 15/9-F-1 C';
const day = 86_400_000;
export const nowMs = Date.now() + day;
export const person = { by: 'ana@host', because: 'the gauge is dead', atMs: committedAtMs };

export const fault = { code: 'timeout', message: 'GET /daily-production was not answered in time' };
const failed: UnitOutcome = { unit: 0, state: 'failed', counts: {}, fault };

export function alertsUnderTest(open: OpenWarehouse) {
  const test = freshWarehouse(open);
  const store = () => test().warehouse.ledger.alerts;
  const list = async (filter: Partial<AlertFilter> = {}) =>
    (await store().list({ limit: 100, nowMs, ...filter })).alerts;
  const states = async (kind: AlertKind) =>
    (await list({ kinds: [kind] })).map(({ target, state }) => `${target.id} ${state}`).toSorted();
  const changesOf = async (id: string) => (await store().changes(id)).map(({ change, size }) => `${change} ${size}`);
  const night = (quarantined: Parameters<typeof unreadable>[0][], unit = 0) =>
    reading(dailyRows(3), { unit, to: '2024-02-01', quarantined: quarantined.map(unreadable) });

  /** A run of one unit that ends as it is said. */
  async function readsTo(
    runId: string,
    state: 'failed' | 'unknown',
    { target = uwi, spec = {} }: Partial<PlannedUnit> = {},
  ): Promise<void> {
    const { runs } = test().warehouse.ledger;
    const request = {
      job: 'export daily-production',
      params: {},
      service: 's',
      actor: 'a',
      requestedAtMs: committedAtMs,
    };
    await runs.create({ runId, ...request });
    await runs.savePlan(runId, [{ unit: 0, chunk: 0, target, spec }], committedAtMs);
    const unknown = { runId, units: [{ unit: 0, target }], atMs: committedAtMs };
    if (state === 'unknown') await test().warehouse.dailyProduction.settleUnknown(unknown);
    else await runs.settle(runId, [failed]);
  }
  /** Ends a run; returns what its report says of alerts. */
  async function ended(runId: string, { stopped, observations }: Ending = {}) {
    const { runs } = test().warehouse.ledger;
    await endRun(test().warehouse, runId, { stopped, observations });
    return (await runs.read(runId))?.report?.alerts;
  }
  return { test, store, list, states, changesOf, night, readsTo, ended };
}
