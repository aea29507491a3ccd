/**
 * A small storm in which all is right, as its tables and its log would have it: two wells that were read twice, a push, a
 * cleanup, a verification and a definition. The forms of rows and of JSON are those of a warehouse that wellsync made.
 */
import { createHash } from 'node:crypto';
import type { Evidence, Mutation, RecordBody, ServiceRequest, TableRow } from '../evidence.ts';
import { hashOf } from './audit-chain.ts';
import { columnOf, fields } from './record.ts';

/** A copy of it that a test may change. */
export type Changeable<T> =
  T extends ReadonlyArray<infer Item>
    ? Array<Changeable<Item>>
    : T extends object
      ? { -readonly [name in keyof T]: Changeable<T[name]> }
      : T;

const begunMs = Date.parse('2026-03-10T08:00:00Z');
const historyMs = Date.parse('2026-01-01T00:00:00Z');
const service = 'http://127.0.0.1:4000';

/** Milliseconds since 1970 of a second of the storm. */
export function at(second: number): number {
  return begunMs + Math.round(second * 1_000);
}

/** The instant as a dump has it. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The runs of the storm: an export, the one of the quiet time, a push, a cleanup, a verification, an export of wells. */
export const runIds = {
  first: '20260310-080010-a00001',
  calm: '20260310-080210-a00002',
  push: '20260310-080030-a00003',
  cleanup: '20260310-080110-a00004',
  verify: '20260310-080220-a00005',
  wells: '20260310-080040-a00006',
} as const;

/** The xid of a record by its number. */
export function xid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

function body(number: number, day: string, oilRate: number): RecordBody {
  const rates = { oilRate, gasRate: 5.5, waterRate: 0, tubingPressure: 100, casingPressure: 90 };
  return { xid: xid(number), date: `${day}T00:00:00Z`, ...rates, choke: 12, isDualFlow: false };
}

/** As `body`, without a required field and with one that the interface does not name. */
function sparse(number: number, day: string): RecordBody {
  const { waterRate: _, ...rest } = body(number, day, 3);
  return { ...rest, operator: 'crew 4' };
}

const numbered = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const two = (number: number): string => String(number).padStart(2, '0');

/** `W1`: records 1 to 5 of March; then 2 is restated, 3 leaves, 4 comes again as 6, 7 is new. */
const ofFirst = [
  ...numbered(1, 4).map((number) => body(number, `2026-03-${two(number)}`, 10 + number)),
  sparse(5, '2026-03-05'),
];
const restated = body(2, '2026-03-02', 20.25);
const replacing = body(6, '2026-03-04', 14);
const late = body(7, '2026-03-06', 17);

/** `W2`: records 11 to 20 of February; then 11 to 15 leave, which is too many, and 20 breaks the contract. */
const ofSecond = numbered(11, 20).map((number) => body(number, `2026-02-${two(number - 10)}`, number));
const broken = { ...ofSecond[9], oilRate: null };

function mutationsOf(
  uwi: string,
  second: number,
  what: Mutation['what'],
  bodies: readonly RecordBody[],
): readonly Mutation[] {
  const isGone = what === 'removed';
  return bodies.map((each) => ({ atMs: at(second), uwi, xid: String(each['xid']), what, body: isGone ? null : each }));
}

const mutations: readonly Mutation[] = [
  ...mutationsOf('W1', -5, 'initial', ofFirst),
  ...mutationsOf('W2', -5, 'initial', ofSecond),
  ...mutationsOf('W1', 60, 'restated', [restated]),
  ...mutationsOf('W1', 61, 'removed', ofFirst.slice(2, 4)),
  ...mutationsOf('W1', 61, 'late', [replacing, late]),
  ...mutationsOf('W2', 64, 'removed', ofSecond.slice(0, 5)),
  ...mutationsOf('W2', 65, 'broken', [broken]),
];

function recordColumns(uwi: string, record: RecordBody): TableRow {
  const required = ['oilRate', 'gasRate', 'waterRate', 'tubingPressure', 'casingPressure'];
  const day = String(record['date']).slice(0, 10);
  const values = [...fields.keys()].map((name) => [
    columnOf(name),
    record[name] ?? (required.includes(name) ? 0 : null),
  ]);
  const extras = 'operator' in record ? { operator: record['operator'] } : null;
  const own = { uwi, xid: record['xid'], date: instant(Date.parse(`${day}T00:00:00Z`)), production_day: day };
  return { ...own, ...Object.fromEntries(values), extras };
}

const firstCommit = instant(at(18));
const calmCommit = instant(at(135));

function currentRow(
  uwi: string,
  record: RecordBody,
  inserted: string = runIds.first,
  changed: string = inserted,
): TableRow {
  const changedAt = changed === runIds.calm ? calmCommit : firstCommit;
  const written = { inserted_run_id: inserted, changed_run_id: changed, changed_at: changedAt, counts: true };
  return { ...recordColumns(uwi, record), ...written };
}

function endedRow(record: RecordBody | undefined, change: string, next: string | null): TableRow {
  const ended = {
    change,
    run_id: runIds.calm,
    noticed_at: calmCommit,
    known_from: firstCommit,
    known_run_id: runIds.first,
  };
  return { ...recordColumns('W1', record ?? {}), ...ended, next_xid: next, restatement_no: null };
}

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

/** Rows: P1 twice on one date, P2, one that breaks a rule, and one that the service refuses. */
export const pipesCsv = [
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness',
  'N,P1,2026-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]',
  'N,P1,2026-01-01T00:00:00Z,A,B,false,"[1.5,2]","[2,3]","[3,3]",',
  'N,P2,,B,C,TRUE,[7],[2],[3],[0.1]',
  'N,P3,2026-01-01T00:00:00Z,A,B,perhaps,[1],[2],[3],[4]',
  'N,REFUSED-1,2026-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]',
  '',
].join('\n');

const network = { sourceNetworkId: 'N' };
const firstPipe = {
  ...network,
  sourceId: 'P1',
  date: '2026-01-01T00:00:00Z',
  upstreamSourceId: 'A',
  downstreamSourceId: 'B',
};
const pipes: Readonly<Record<string, RecordBody>> = {
  'N/P1': { ...firstPipe, enabled: false, length: [1.5, 2], trueVerticalDepth: [2, 3], innerDiameter: [3, 3] },
  'N/P2': {
    ...{ ...network, sourceId: 'P2', upstreamSourceId: 'B', downstreamSourceId: 'C', enabled: true },
    ...{ length: [7], trueVerticalDepth: [2], innerDiameter: [3], roughness: [0.1] },
  },
};
const pushCounts = {
  rows: 5,
  accepted: 2,
  superseded: 1,
  rejectedByUs: 1,
  rejectedByService: 1,
  failed: 0,
  pipes: 2,
  chunks: 1,
  requests: 2,
};
const reading = { form: 'auto', delimiter: ',', limits: { length: { min: 0 }, innerDiameter: { above: 0 } } };
const pushParams = {
  name: 'pipes.csv',
  reading,
  content: { sha256: createHash('sha256').update(pipesCsv).digest('hex') },
};

const runs: readonly TableRow[] = [
  runRow(runIds.first, {
    ...{ job: 'export daily-production', fromSecond: 10, toSecond: 20, schedule: 'every-five' },
    ...{ params: { nowMs: at(10), allowShrink: false }, counts: sumOf(dailyUnits.first), units: ended(2) },
  }),
  runRow(runIds.calm, {
    ...{
      job: 'export daily-production',
      fromSecond: 130,
      toSecond: 140,
      params: { nowMs: at(130), allowShrink: false },
    },
    ...{ counts: sumOf(dailyUnits.calm), units: ended(2, { done: 1, held: 1 }) },
  }),
  runRow(runIds.push, {
    ...{
      job: 'push network-pipes',
      fromSecond: 30,
      toSecond: 38,
      params: pushParams,
      counts: pushCounts,
      units: ended(1),
    },
    notices: ['file: pipes.csv'],
  }),
  runRow(runIds.cleanup, {
    ...{ job: 'cleanup', fromSecond: 70, toSecond: 76, params: { planId: 'plan-1', requestedBy: 'root@vm' } },
    ...{ counts: { deleted: 1, alreadyGone: 1, verifiedGone: 1, notVerified: 1 }, units: ended(2) },
  }),
  runRow(runIds.verify, {
    ...{
      job: 'verify daily-production',
      fromSecond: 140,
      toSecond: 145,
      params: { nowMs: at(140) },
      counts: verifyCounts,
      units: ended(1),
    },
  }),
  runRow(runIds.wells, {
    ...{
      job: 'export wells',
      fromSecond: 40,
      toSecond: 42,
      params: { allowShrink: false },
      counts: wellCounts,
      units: ended(1),
    },
  }),
];

const heldFault = { code: 'rows-held', message: 'W2: the service no longer has 5 of the 10 rows (50 %)' };
const units: readonly TableRow[] = [
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

const targets = [
  { kind: 'time-series', owner_id: 'E1', source_id: 'T1' },
  { kind: 'micro-strings', owner_id: 'W1', source_id: null },
];

/** The rows of an audit with their numbers and hashes: also of rows that a test has changed. */
export function chained(rows: readonly TableRow[]): readonly TableRow[] {
  let previous = '0'.repeat(64);
  return rows.map((row, index) => {
    const linked = { ...row, seq: index + 1, previous_hash: previous };
    previous = hashOf(linked);
    return { ...linked, hash: previous };
  });
}

function auditRow(
  unit: number,
  second: number,
  event: string,
  outcome: string | null = null,
  verification: string | null = null,
): TableRow {
  const by = {
    run_id: runIds.cleanup,
    plan_id: 'plan-1',
    requested_by: 'root@vm',
    service_url: service,
    retried_by: null,
  };
  const result = { outcome, answer: outcome === 'deleted' ? 1 : null, words: null, verification, digest_version: 2 };
  return { noted_at: instant(at(second)), event, unit, ...targets[unit], ...by, ...result };
}

const audit = chained([
  auditRow(0, 71, 'intent'),
  auditRow(1, 71, 'intent'),
  auditRow(0, 74, 'outcome', 'deleted', 'gone'),
  auditRow(1, 74, 'outcome', 'already gone', 'no read'),
]);

function request(
  no: number,
  second: number,
  endpoint: ServiceRequest['endpoint'],
  target: string,
  more: Partial<ServiceRequest> = {},
): ServiceRequest {
  return { no, arrivedMs: at(second), answeredMs: at(second) + 40, endpoint, target, token: 0, status: 200, ...more };
}

const requests: readonly ServiceRequest[] = [
  request(1, 12, 'daily', 'W1', { fault: 'reset', status: 0 }),
  request(2, 15.6, 'daily', 'W1'),
  request(3, 16, 'daily', 'W2'),
  request(4, 34, 'pipes', '', { status: 400, refused: { items: 3, sourceIds: ['REFUSED-1'] } }),
  request(5, 35, 'pipes', '', { isApplied: true, pipes: Object.values(pipes) }),
  request(6, 41, 'well', 'W1'),
  request(7, 49.9, 'well', 'W1', { status: 429 }),
  request(8, 72, 'delete-time-series', 'E1', { sourceId: 'T1', isApplied: true, removed: 1 }),
  request(9, 73, 'delete-micro-string', 'W1', { status: 404 }),
  request(10, 132, 'daily', 'W1'),
  request(11, 133, 'daily', 'W2'),
  request(12, 142, 'daily', 'W1'),
];

const heldMonth = {
  ...{ uwi: 'W2', month: '2026-02-01', rows_missing: 5, first_day: '2026-02-01', last_day: '2026-02-05' },
  ...{ since: calmCommit, run_id: runIds.calm, release_run_id: null },
};

function alertRow(id: string, kind: string, targetKind: string, target: string, detail: object): TableRow {
  const changed = { change: 'opened', change_no: 1, changed_at: calmCommit, changed_by: runIds.calm };
  return {
    alert_id: id,
    kind,
    job: 'export daily-production',
    target_kind: targetKind,
    target,
    owner: 'W2',
    state: 'open',
    detail,
    ...changed,
  };
}

function alertChange(id: string, message: string): TableRow {
  const noted = { noted_at: calmCommit, change: 'opened', noted_by: runIds.calm, severity: 'warning' };
  return { alert_id: id, change_no: 1, ...noted, message_id: message, sent_at: instant(at(146)) };
}

const tables: Evidence['tables'] = {
  run: runs,
  run_unit: units,
  daily_production: [
    ...[ofFirst[0], ofFirst[4]].map((record) => currentRow('W1', record ?? {})),
    currentRow('W1', restated, runIds.first, runIds.calm),
    currentRow('W1', replacing, runIds.first, runIds.calm),
    currentRow('W1', late, runIds.calm),
    ...ofSecond.map((record) => currentRow('W2', record)),
  ],
  daily_production_history: [
    endedRow(ofFirst[1], 'updated', xid(2)),
    endedRow(ofFirst[2], 'removed', null),
    endedRow(ofFirst[3], 'replaced', xid(6)),
  ],
  quarantine: [
    {
      ...{
        uwi: 'W2',
        run_id: runIds.calm,
        unit: 1,
        production_day: '2026-02-10',
        xid: xid(20),
        reason: 'oilRate is null, not a number',
      },
      ...{
        raw: JSON.stringify(broken),
        window_from: instant(historyMs),
        window_to: instant(at(130)),
        noticed_at: calmCommit,
      },
    },
  ],
  held_month: [heldMonth],
  watermark: [
    { uwi: 'W1', watermark: instant(at(130)), last_day: '2026-03-06', verified_at: instant(at(130)) },
    { uwi: 'W2', watermark: instant(at(130)), last_day: '2026-02-10', verified_at: instant(at(130)) },
  ],
  coverage: ['W1', 'W2'].map((uwi) => ({ uwi, from_day: '2026-01-01', to_day: '2026-03-10' })),
  cleanup_plan: [
    {
      ...{
        plan_id: 'plan-1',
        service_url: service,
        selection: null,
        created_by: 'root@vm',
        created_at: instant(at(66)),
      },
      ...{ run_id: runIds.cleanup, applied_by: 'root@vm', applied_at: instant(at(70)), counts: { targets: 2 } },
    },
  ],
  cleanup_target: targets.map((target, ordinal) => ({ plan_id: 'plan-1', ordinal, ...target, sighting: 'present' })),
  deletion_audit: audit,
  deletion_audit_head: [{ rows: audit.length, hash: audit.at(-1)?.['hash'] }],
  push: [{ run_id: runIds.push, unit: 0, service, service_url: service }],
  schedule: [{ name: 'every-five', definition: '{"cron":"*/5 * * * *","timeZone":"UTC"}', run_id: runIds.first }],
  idempotency_key: [{ client: 'storm', route: 'POST /api/v1/runs', key: 'calm-1', run_id: runIds.calm }],
  warehouse: [{ warehouse_id: 'a', service, epoch: 2, queue_id: 'b@c', queue_kind: 'embedded', time_zone: 'UTC' }],
  alert: [
    alertRow('held', 'rows-held', 'well', 'W2', { rows: 5, firstDay: '2026-02-01', lastDay: '2026-02-05' }),
    alertRow('quarantined', 'record-quarantined', 'record', `W2 ${xid(20)}`, { day: '2026-02-10', xid: xid(20) }),
  ],
  alert_change: [alertChange('held', 'message-1'), alertChange('quarantined', 'message-2')],
};

const sound: Evidence = {
  seed: 1,
  warehouse: 'duckdb',
  queue: 'embedded',
  begunMs,
  calmMs: at(120),
  endedMs: at(300),
  settings: { concurrency: 4, requestsPerSecond: 50, shrinkPercent: 20, shrinkRows: 3, historyFrom: '2026-01-01' },
  service: {
    manner: {
      ...{ pageBase: 1, mostRowsPerPage: 100, order: 'ascending', endIsInclusive: true, goneAnswer: 'not-found' },
      ...{ pipesByDate: false, mostPipes: 100 },
    },
    requests,
    mutations,
    mostAtOnce: 4,
    holds: [{ fromMs: at(50), untilMs: at(53) }],
    pipes,
    timeSeries: { E1: [{ sourceId: 'T2' }] },
    microStrings: { W1: 0 },
    wellbores: { W1: 1 },
    wells: {},
  },
  truth: {
    W1: [ofFirst[0] ?? {}, restated, ofFirst[4] ?? {}, replacing, late],
    W2: [...ofSecond.slice(5, 9), broken],
  },
  tables,
  calls: [
    {
      ...{
        atMs: at(30),
        endedMs: at(38),
        words: ['push', 'network-pipes', 'pipes.csv'],
        code: 3,
        document: {},
        runId: runIds.push,
      },
      ...{ pipesCsv, isCalm: false },
    },
    {
      ...{ atMs: at(130), endedMs: at(131), words: ['POST /api/v1/runs'], code: 202, document: { runId: runIds.calm } },
      ...{ runId: runIds.calm, isCalm: true },
    },
  ],
  events: [
    { atMs: at(15), kind: 'kill', at: 'worker-1' },
    { atMs: at(15.2), kind: 'process-ended', at: 'worker-1' },
  ],
  alerts: ['message-1', 'message-2'].map((id) => ({ atMs: at(146), id, body: { id, kind: 'rows-held' } })),
  feed: [
    { atMs: at(50), version: 1, faults: [] },
    { atMs: at(150), version: 2, faults: [] },
  ],
  leaks: [],
  leftovers: [],
};

/** A copy of the storm in which all is right, after `change`. */
export function soundEvidence(change: (evidence: Changeable<Evidence>) => void = () => undefined): Evidence {
  const copy = structuredClone(sound) as Changeable<Evidence>;
  change(copy);
  return copy as Evidence;
}
