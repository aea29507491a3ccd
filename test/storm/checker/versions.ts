/** Versions that are lost (G2, "Restatements" of docs/production-data.md): what a run counted as changed has its row of history. */
import type { Evidence, TableRow, Violation } from '../evidence.ts';
import type { Ledger, LedgerRun } from './ledger.ts';
import { groupedBy, rowsOf, textOf, violated } from './tables.ts';

/** The table of what a job reads, the column of its targets, and that of its records. */
const tablesOf: Readonly<Record<string, readonly [table: string, target: string, key: string]>> = {
  'export daily-production': ['daily_production', 'uwi', 'xid'],
  'export daily-production --gaps': ['daily_production', 'uwi', 'xid'],
  'export time-series': ['time_series', 'equipment', 'xid'],
  'export wells': ['well', 'source_id', 'source_id'],
};

export function checkVersions(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const ended = new Map(
    Object.values(tablesOf).map(([table, target]) => {
      const rows = rowsOf(evidence, `${table}_history`);
      return [table, groupedBy(rows, (row) => keyOf(textOf(row, 'run_id'), textOf(row, target)))] as const;
    }),
  );
  return [
    ...[...ledger.runs.values()].flatMap((run) => violationsOfCounts(run, ledger, ended)),
    ...violationsOfBegins(evidence),
  ];
}

function keyOf(...names: readonly string[]): string {
  return JSON.stringify(names);
}

/** Of each target of a run, at least as many versions ended as its units count. */
function violationsOfCounts(
  { id, job, finishedMs: atMs }: LedgerRun,
  { unitsByRun }: Ledger,
  ended: ReadonlyMap<string, ReadonlyMap<string, readonly TableRow[]>>,
): readonly Violation[] {
  const [table] = tablesOf[job] ?? [];
  if (table === undefined) return [];
  const units = groupedBy(unitsByRun.get(id) ?? [], ({ target }) => target);
  return [...units].flatMap(([target, those]) => {
    const rows = ended.get(table)?.get(keyOf(id, target)) ?? [];
    const isRemoved = ({ change }: TableRow): boolean => change === 'removed';
    const sum = (name: string): number => those.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
    const removed = rows.filter(isRemoved).length;
    const changed = rows.length - removed;
    if (changed >= sum('updated') && removed >= sum('removed')) return [];
    const what = `run ${id} counts ${sum('updated')} updated and ${sum('removed')} removed rows of ${target}, and history has ${changed} and ${removed}`;
    return [violated('G2', what, { runId: id, target, atMs })];
  });
}

/** A row that another run wrote than the one that inserted it follows a version that ended then. */
function violationsOfBegins(evidence: Evidence): readonly Violation[] {
  const named = new Map(Object.values(tablesOf).map((each) => [each[0], each]));
  return [...named.values()].flatMap(([table, target, key]) => {
    const next = table === 'daily_production' ? 'next_xid' : key;
    const ends = new Set(
      rowsOf(evidence, `${table}_history`).map((row) =>
        keyOf(textOf(row, target), textOf(row, next).toLowerCase(), textOf(row, 'noticed_at')),
      ),
    );
    return rowsOf(evidence, table).flatMap((row) => {
      const runId = textOf(row, 'changed_run_id');
      const of = [textOf(row, target), textOf(row, key).toLowerCase()] as const;
      // Of a definition that came under a new id, the version before has another one.
      if (table === 'time_series' || runId === textOf(row, 'inserted_run_id')) return [];
      if (ends.has(keyOf(...of, textOf(row, 'changed_at')))) return [];
      return [violated('G1', `${of.join(' ')} was changed, and the version before is lost`, { runId })];
    });
  });
}
