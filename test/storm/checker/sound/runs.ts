/** The runs of a storm in which all is right, and their units. */
import type { TableRow } from '../../evidence.ts';
import { pushCounts, pushParams } from './pipes.ts';
import { at, historyMs, instant, runIds, service } from './world.ts';

interface RunForm {
  readonly job: string;
  readonly fromSecond: number;
  readonly toSecond: number;
  readonly params: object;
  readonly counts: Readonly<Record<string, number>>;
  readonly units: Readonly<Record<string, number>>;
  readonly schedule?: string;
  readonly notices?: readonly string[];
}

function runRow(
  runId: string,
  { job, fromSecond, toSecond, params, counts, units, schedule, notices = [] }: RunForm,
): TableRow {
  const balance = { balanced: true, statement: 'all is accounted for' };
  const span = { startedAtMs: at(fromSecond), finishedAtMs: at(toSecond) };
  const report = { runId, job, service, state: 'done', units, counts, balance, failures: [], notices, ...span };
  return {
    run_id: runId,
    job,
    params,
    state: 'done',
    round: 0,
    unit_count: units['total'],
    requested_at: instant(at(fromSecond)),
    started_at: instant(at(fromSecond)),
    finished_at: instant(at(toSecond)),
    report,
    service,
    actor: schedule === undefined ? 'root@vm' : `schedule/${schedule}@vm`,
    schedule: schedule ?? null,
    request_key: null,
    attempts: null,
  };
}

interface UnitForm {
  readonly unit?: number;
  readonly target: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly spec?: object;
  readonly state?: string;
  readonly fault?: object;
}

function unitRow(runId: string, { unit = 0, target, counts, spec = {}, state = 'done', fault }: UnitForm): TableRow {
  return {
    run_id: runId,
    unit,
    chunk: 0,
    target,
    spec,
    state,
    counts,
    fault: fault ?? null,
    notices: null,
    finding: null,
  };
}

const ended = (total: number, states: Readonly<Record<string, number>> = { done: total }) => {
  return { total, done: 0, held: 0, failed: 0, cancelled: 0, ...states };
};

const readCounts = { repeated: 0, outsideWindow: 0, quarantined: 0, updated: 0, unchanged: 0, removed: 0, heldRows: 0 };
const stock = (rowsBefore: number, rowsAfter: number) => ({ rowsBefore, rowsAfter, rowsAdrift: 0 });
const windowTo = (second: number) => ({
  fromMs: historyMs,
  toMs: at(second),
  mode: 'incremental',
  end: 'proof',
  reach: 'history',
});

const dailyUnits = {
  first: [
    { ...readCounts, read: 5, inserted: 5, defaulted: 1, windows: 1, ...stock(0, 5) },
    { ...readCounts, read: 10, inserted: 10, defaulted: 0, windows: 1, ...stock(0, 10) },
  ],
  calm: [
    {
      ...readCounts,
      read: 5,
      inserted: 1,
      updated: 2,
      unchanged: 2,
      removed: 1,
      defaulted: 1,
      windows: 1,
      ...stock(5, 5),
    },
    {
      ...readCounts,
      read: 5,
      inserted: 0,
      unchanged: 4,
      quarantined: 1,
      heldRows: 5,
      defaulted: 0,
      windows: 1,
      ...stock(10, 10),
    },
  ],
};

function sumOf(counts: ReadonlyArray<Readonly<Record<string, number>>>): Readonly<Record<string, number>> {
  const names = new Set(counts.flatMap((each) => Object.keys(each)));
  return Object.fromEntries([...names].map((name) => [name, counts.reduce((sum, each) => sum + (each[name] ?? 0), 0)]));
}

const verifyCounts = { read: 5, same: 5, differing: 0, missingHere: 0, notYetRead: 0, missingThere: 0, requests: 1 };
const wellCounts = { read: 1, inserted: 1, updated: 0, unchanged: 0, repeated: 0, removed: 0, heldRows: 0 };

export const runs: readonly TableRow[] = [
  runRow(runIds.first, {
    job: 'export daily-production',
    fromSecond: 10,
    toSecond: 20,
    schedule: 'every-five',
    params: { nowMs: at(10), allowShrink: false },
    counts: sumOf(dailyUnits.first),
    units: ended(2),
  }),
  runRow(runIds.calm, {
    job: 'export daily-production',
    fromSecond: 130,
    toSecond: 140,
    params: { nowMs: at(130), allowShrink: false },
    counts: sumOf(dailyUnits.calm),
    units: ended(2, { done: 1, held: 1 }),
  }),
  runRow(runIds.push, {
    job: 'push network-pipes',
    fromSecond: 30,
    toSecond: 38,
    params: pushParams,
    counts: pushCounts,
    units: ended(1),
    notices: ['file: pipes.csv'],
  }),
  runRow(runIds.cleanup, {
    job: 'cleanup',
    fromSecond: 70,
    toSecond: 76,
    params: { planId: 'plan-1', requestedBy: 'root@vm' },
    counts: { deleted: 1, alreadyGone: 1, verifiedGone: 1, notVerified: 1 },
    units: ended(2),
  }),
  runRow(runIds.verify, {
    job: 'verify daily-production',
    fromSecond: 140,
    toSecond: 145,
    params: { nowMs: at(140) },
    counts: verifyCounts,
    units: ended(1),
  }),
  runRow(runIds.wells, {
    job: 'export wells',
    fromSecond: 40,
    toSecond: 42,
    params: { allowShrink: false },
    counts: wellCounts,
    units: ended(1),
  }),
];

const heldFault = { code: 'rows-held', message: 'W2: the service no longer has 5 of the 10 rows (50 %)' };
export const units: readonly TableRow[] = [
  ...dailyUnits.first.map((counts, unit) => {
    return unitRow(runIds.first, { unit, target: `W${unit + 1}`, counts, spec: windowTo(10) });
  }),
  ...dailyUnits.calm.map((counts, unit) => {
    const held = unit === 1 ? { state: 'held', fault: heldFault } : {};
    return unitRow(runIds.calm, { unit, target: `W${unit + 1}`, counts, spec: windowTo(130), ...held });
  }),
  unitRow(runIds.push, { target: 'pipes.csv', counts: pushCounts }),
  unitRow(runIds.cleanup, {
    unit: 0,
    target: 'time series T1 of equipment E1',
    counts: { deleted: 1, verifiedGone: 1 },
  }),
  unitRow(runIds.cleanup, { unit: 1, target: 'micro strings of well W1', counts: { alreadyGone: 1, notVerified: 1 } }),
  unitRow(runIds.verify, { target: 'W1', counts: verifyCounts }),
  unitRow(runIds.wells, { target: 'W1', counts: wellCounts }),
];
