/** The runs and units of a warehouse, and what disturbed them, as the checks ask for them. */
import type { Evidence, StormEvent, TableRow } from '../evidence.ts';
import { groupedBy, msOf, numberOf, objectOf, rowsOf, textOf } from './tables.ts';

export interface LedgerRun {
  readonly id: string;
  readonly job: string;
  readonly state: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly report: Readonly<Record<string, unknown>> | undefined;
  readonly requestedMs: number;
  /** Undefined for a run that has not ended. */
  readonly finishedMs: number | undefined;
  readonly row: TableRow;
}

export interface LedgerUnit {
  readonly runId: string;
  readonly unit: number;
  readonly target: string;
  readonly state: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly counts: Counts;
  readonly fault: Readonly<Record<string, unknown>>;
}

export type Counts = Readonly<Record<string, number>>;

export interface Ledger {
  readonly runs: ReadonlyMap<string, LedgerRun>;
  readonly unitsByRun: ReadonlyMap<string, readonly LedgerUnit[]>;
}

/** The jobs whose units are wells with windows. */
const dailyJobs: readonly string[] = ['export daily-production', 'export daily-production --gaps'];

/** States that a run ends in within a storm. */
export const endStates: readonly string[] = ['done', 'failed', 'cancelled'];

export function ledgerOf(evidence: Evidence): Ledger {
  const runs = rowsOf(evidence, 'run').map(runOf);
  const units = rowsOf(evidence, 'run_unit').map(unitOf);
  return {
    runs: new Map(runs.map((run) => [run.id, run])),
    unitsByRun: groupedBy(units, ({ runId }) => runId),
  };
}

function runOf(row: TableRow): LedgerRun {
  const { report } = row;
  return {
    id: textOf(row, 'run_id'),
    job: textOf(row, 'job'),
    state: textOf(row, 'state'),
    params: objectOf(row['params']),
    report: report === null || report === undefined ? undefined : objectOf(report),
    requestedMs: msOf(row, 'requested_at') ?? 0,
    finishedMs: msOf(row, 'finished_at'),
    row,
  };
}

function unitOf(row: TableRow): LedgerUnit {
  return {
    runId: textOf(row, 'run_id'),
    unit: numberOf(row, 'unit') ?? -1,
    target: textOf(row, 'target'),
    state: textOf(row, 'state'),
    spec: objectOf(row['spec']),
    counts: countsOf(row['counts']),
    fault: objectOf(row['fault']),
  };
}

/** Numbers by name; what is none is not there. */
export function countsOf(value: unknown): Counts {
  return Object.fromEntries(
    Object.entries(objectOf(value)).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}

/** The units of the exports of daily production, each with its run. */
export function dailyUnits({ runs, unitsByRun }: Ledger): ReadonlyArray<LedgerUnit & { readonly run: LedgerRun }> {
  return [...runs.values()]
    .filter(({ job }) => dailyJobs.includes(job))
    .flatMap((run) => (unitsByRun.get(run.id) ?? []).map((unit) => ({ ...unit, run })));
}

/** Whether a person let rows go by the run: with `--allow-shrink`, or by a release. */
export function isApproved({ params }: LedgerRun): boolean {
  return params['allowShrink'] === true || typeof params['releaseOf'] === 'string';
}

/** Whether a run was under way at a time. */
export function isUnderWay({ requestedMs, finishedMs = Infinity }: LedgerRun, atMs: number): boolean {
  return requestedMs <= atMs && atMs < finishedMs;
}

/** Whether an event takes something away: it is not only something that was seen, and it met something. */
function disturbs({ kind, detail }: StormEvent): boolean {
  return !kind.startsWith('process-') && detail?.['met'] !== 0;
}

export function isKill({ kind }: StormEvent): boolean {
  return kind.startsWith('kill');
}

/** The events that disturb something between two times, but for `except`. */
export function disturbancesIn(
  { events, calmMs }: Evidence,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  except?: StormEvent,
): readonly StormEvent[] {
  return events.filter((event) => {
    // What was to last longer was ended with the storm.
    const untilMs = Math.min(event.untilMs ?? event.atMs, Math.max(event.atMs, calmMs));
    return event !== except && disturbs(event) && event.atMs <= toMs && untilMs >= fromMs;
  });
}
