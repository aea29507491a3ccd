/** Removes old rows, a part at a time: workers write in between, and a kill loses nothing. */
import { recordLists } from '../../../core/definitions/record-list.ts';
import type { Pruned, Retention, RetentionBounds } from '../../port/runs.ts';
import { countOf, epochMs, instantAt, type SqlDatabase, type SqlSession, takeTurn, transacted } from '../session.ts';

/** Rows that one transaction removes from one table: some 50 ms. */
const rowsInStep = 20_000;

const nothingPruned: Pruned = { units: 0, plans: 0, runs: 0, pushes: 0, history: 0, alerts: 0 };

export function createRetention(database: SqlDatabase): Retention {
  return transacted<Retention>(database, {
    count: countAll,
    step: removeNext,
    prunedAtMs: (session) => readMs(session, 'coalesce(pruned_at, created_at)'),
    recordPruned: async (session, atMs) =>
      void (await session.run(`UPDATE warehouse SET pruned_at = $1`, [new Date(atMs)])),
    historyHorizonMs: (session) => readMs(session, 'history_horizon'),
  });
}

async function countAll(session: SqlSession, bounds: RetentionBounds): Promise<Pruned> {
  let pruned = nothingPruned;
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds, session.dialect.rowId);
    if (rows !== undefined) pruned = added(pruned, kind, await countOf(session, `(${rows}) old`));
  }
  return pruned;
}

/** The first kind with old rows: rows that refer to others go before those. */
async function removeNext(session: SqlSession, bounds: RetentionBounds): Promise<Pruned | undefined> {
  await takeTurn(session, 'retention');
  const { rowId } = session.dialect;
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds, rowId);
    if (rows === undefined) continue;
    const removed = await session.run(
      `DELETE FROM ${kind.table} WHERE ${rowId} IN (SELECT id FROM (${rows}) old LIMIT ${rowsInStep})`,
    );
    if (removed === 0) continue;
    // In the transaction that removes the first version: no answer is ever wrong.
    if (kind.name === 'history') await moveHorizon(session, bounds.historyMs ?? 0);
    return added(nothingPruned, kind, removed);
  }
  return undefined;
}

function added(pruned: Pruned, { name }: PrunableKind, rows: number): Pruned {
  return name === undefined ? pruned : { ...pruned, [name]: pruned[name] + rows };
}

async function moveHorizon(session: SqlSession, horizonMs: number): Promise<void> {
  const isBehind = 'history_horizon IS NULL OR history_horizon < $1';
  await session.run(`UPDATE warehouse SET history_horizon = $1 WHERE ${isBehind}`, [new Date(horizonMs)]);
}

async function readMs(session: SqlSession, time: string): Promise<number | undefined> {
  const [row] = await session.rows<{ ms: number | null }>(`SELECT ${epochMs(time)} AS ms FROM warehouse`);
  return row?.ms ?? undefined;
}

/** The rows that may be removed, by table, in the order in which they go. */
interface PrunableKind {
  /** The count that the rows belong to; undefined for rows that go with counted ones. */
  readonly name: keyof Pruned | undefined;
  readonly table: string;
  /** SQL that selects the column `rowId` of each old row as `id`; undefined keeps every row. */
  readonly rows: (bounds: RetentionBounds, rowId: string) => string | undefined;
}

/** Whatever is older is as old: no engine takes every instant of a `Date`. */
const earliestMs = Date.UTC(1, 0);

function at(ms: number): string {
  return instantAt(Math.max(earliestMs, Math.trunc(ms)));
}

function ended(beforeMs: number): string {
  return `run.state NOT IN ('queued', 'running') AND run.finished_at < ${at(beforeMs)}`;
}

/** The audit names plans and runs: what it says is worth little without them. */
const auditedPlans = 'SELECT plan_id FROM deletion_audit';
const auditedRuns = `SELECT run_id FROM deletion_audit
  UNION SELECT run_id FROM cleanup_plan WHERE run_id IS NOT NULL AND plan_id IN (${auditedPlans})`;

/** A hold is released by its run. */
const holdingRuns = 'SELECT run_id FROM held_month UNION SELECT run_id FROM held_definition';

/** A run goes after its units. */
function oldRuns({ runsMs, unitsMs }: RetentionBounds): string {
  return `SELECT run_id FROM run WHERE ${ended(Math.min(runsMs, unitsMs))}
    AND run_id NOT IN (${auditedRuns}) AND run_id NOT IN (${holdingRuns})`;
}

/** Made long ago, and of no run that stays: such a plan can no longer be applied. */
function oldPlans(bounds: RetentionBounds): string {
  return `SELECT plan_id FROM cleanup_plan WHERE created_at < ${at(bounds.runsMs)} AND plan_id NOT IN (${auditedPlans})
    AND (run_id IS NULL OR run_id NOT IN (SELECT run_id FROM run) OR run_id IN (${oldRuns(bounds)}))`;
}

function rowsOf(table: string, which: (bounds: RetentionBounds) => string, name?: keyof Pruned): PrunableKind {
  return { name, table, rows: (bounds, rowId) => `SELECT ${rowId} AS id FROM ${table} WHERE ${which(bounds)}` };
}

function ofEndedRun(table: string, name?: keyof Pruned): PrunableKind {
  return rowsOf(table, ({ unitsMs }) => `run_id IN (SELECT run_id FROM run WHERE ${ended(unitsMs)})`, name);
}

/** Rows that say nothing without their run. */
function ofOldRun(table: string): PrunableKind {
  return rowsOf(table, (bounds) => `run_id NOT IN (SELECT run_id FROM run) OR run_id IN (${oldRuns(bounds)})`);
}

function ofHistory(table: string): PrunableKind {
  const { rows, ...kind } = rowsOf(table, ({ historyMs = 0 }) => `noticed_at < ${at(historyMs)}`, 'history');
  return { ...kind, rows: (bounds, rowId) => (bounds.historyMs === undefined ? undefined : rows(bounds, rowId)) };
}

/** What is resolved; a report may name it for as long as its run is kept. */
function oldAlerts({ alertsMs }: RetentionBounds): string {
  return `state = 'resolved' AND resolved_at < ${at(alertsMs)}`;
}

/**
 * Pushes of runs that go: one row stays for each file that was pushed to its end, the newest. A push of a run that did
 * not end as done never counted, and would without its run.
 */
function oldPushes(bounds: RetentionBounds, rowId: string): string {
  const pushes = `SELECT push.*, push.${rowId} AS id,
      completed_at IS NOT NULL AND coalesce(run.state, 'done') = 'done' AS is_done
    FROM push LEFT JOIN run USING (run_id) WHERE run.run_id IS NULL OR run_id IN (${oldRuns(bounds)})`;
  return `SELECT id FROM (
      SELECT *, row_number() OVER (
        PARTITION BY is_done, file_sha256, form, service, service_url ORDER BY completed_at DESC, run_id) AS age
      FROM (${pushes}) ended) aged
    WHERE NOT is_done OR completed_at < ${at(bounds.pushesMs)} OR age > 1`;
}

const prunableKinds: readonly PrunableKind[] = [
  ofEndedRun('run_unit', 'units'),
  ofEndedRun('run_target'),
  ofEndedRun('push_ledger'),
  rowsOf('cleanup_target', (bounds) => `plan_id IN (${oldPlans(bounds)})`),
  rowsOf('cleanup_plan', (bounds) => `plan_id IN (${oldPlans(bounds)})`, 'plans'),
  { name: 'pushes', table: 'push', rows: oldPushes },
  ofOldRun('push_claim'),
  ofOldRun('idempotency_key'),
  rowsOf('run', (bounds) => `run_id IN (${oldRuns(bounds)})`, 'runs'),
  ofHistory('daily_production_history'),
  ...recordLists.map(({ table }) => ofHistory(`${table}_history`)),
  ofHistory('well_history'),
  rowsOf('alert_change', (bounds) => `alert_id IN (SELECT alert_id FROM alert WHERE ${oldAlerts(bounds)})`),
  rowsOf('alert', oldAlerts, 'alerts'),
];
