/** The rows that may be removed, by table, in the order in which they go. */
import type { Pruned, RetentionBounds } from '../../port/retention.ts';
import { instant } from '../file/sql.ts';

export interface PrunableKind {
  /** The count that the rows belong to; undefined for rows that go with counted ones. */
  readonly name: keyof Pruned | undefined;
  readonly table: string;
  /** SQL that selects the `rowid` of each old row as `id`; undefined keeps every row. */
  readonly rows: (bounds: RetentionBounds) => string | undefined;
}

function at(ms: number): string {
  return instant(String(Math.trunc(ms)));
}

function ended(beforeMs: number): string {
  return `run.state NOT IN ('queued', 'running') AND run.finished_at < ${at(beforeMs)}`;
}

/** The audit names plans and runs: what it says is worth little without them. */
const auditedPlans = 'SELECT plan_id FROM deletion_audit';
const auditedRuns = `SELECT run_id FROM deletion_audit
  UNION SELECT run_id FROM cleanup_plan WHERE run_id IS NOT NULL AND plan_id IN (${auditedPlans})`;

/** A run goes after its units. */
function oldRuns({ runsMs, unitsMs }: RetentionBounds): string {
  return `SELECT run_id FROM run WHERE ${ended(Math.min(runsMs, unitsMs))} AND run_id NOT IN (${auditedRuns})`;
}

/** Made long ago, and of no run that stays: such a plan can no longer be applied. */
function oldPlans(bounds: RetentionBounds): string {
  return `SELECT plan_id FROM cleanup_plan WHERE created_at < ${at(bounds.runsMs)} AND plan_id NOT IN (${auditedPlans})
    AND (run_id IS NULL OR run_id NOT IN (SELECT run_id FROM run) OR run_id IN (${oldRuns(bounds)}))`;
}

function ofEndedRun(table: string, name?: keyof Pruned): PrunableKind {
  return {
    name,
    table,
    rows: ({ unitsMs }) => `SELECT each.rowid AS id FROM ${table} each JOIN run USING (run_id) WHERE ${ended(unitsMs)}`,
  };
}

function ofHistory(table: string): PrunableKind {
  return {
    name: 'history',
    table,
    rows: ({ historyMs }) =>
      historyMs === undefined ? undefined : `SELECT rowid AS id FROM ${table} WHERE noticed_at < ${at(historyMs)}`,
  };
}

/**
 * Pushes of runs that go: one row stays for each file that was pushed to its end, the newest. A push of a run that did
 * not end as done never counted, and would without its run.
 */
function oldPushes(bounds: RetentionBounds): string {
  const pushes = `SELECT push.*, push.rowid AS id,
      completed_at IS NOT NULL AND coalesce(run.state, 'done') = 'done' AS is_done
    FROM push LEFT JOIN run USING (run_id) WHERE run.run_id IS NULL OR run_id IN (${oldRuns(bounds)})`;
  const newestFirst =
    'PARTITION BY is_done, file_sha256, form, service, service_url ORDER BY completed_at DESC, run_id';
  return `SELECT id FROM (${pushes}) QUALIFY NOT is_done OR completed_at < ${at(bounds.pushesMs)}
    OR row_number() OVER (${newestFirst}) > 1`;
}

export const prunableKinds: readonly PrunableKind[] = [
  ofEndedRun('run_unit', 'units'),
  ofEndedRun('run_target'),
  ofEndedRun('push_ledger'),
  {
    name: undefined,
    table: 'cleanup_target',
    rows: (bounds) => `SELECT rowid AS id FROM cleanup_target WHERE plan_id IN (${oldPlans(bounds)})`,
  },
  {
    name: 'plans',
    table: 'cleanup_plan',
    rows: (bounds) => `SELECT rowid AS id FROM cleanup_plan WHERE plan_id IN (${oldPlans(bounds)})`,
  },
  { name: 'pushes', table: 'push', rows: oldPushes },
  {
    name: undefined,
    table: 'push_claim',
    rows: (bounds) =>
      `SELECT rowid AS id FROM push_claim WHERE run_id NOT IN (SELECT run_id FROM run) OR run_id IN (${oldRuns(bounds)})`,
  },
  {
    name: 'runs',
    table: 'run',
    rows: (bounds) => `SELECT rowid AS id FROM run WHERE run_id IN (${oldRuns(bounds)})`,
  },
  ofHistory('daily_production_history'),
  ofHistory('time_series_history'),
  ofHistory('well_history'),
];
