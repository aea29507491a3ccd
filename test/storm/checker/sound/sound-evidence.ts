/**
 * A small storm in which all is right, as its tables and its log would have it: two wells that were read twice, a push, a
 * cleanup, a verification and a definition. The forms of rows and of JSON are those of a warehouse that wellsync made.
 */
import type { Evidence, ServiceRequest, TableRow } from '../../evidence.ts';
import { audit, targets } from './cleanup.ts';
import { pipes, pipesCsv } from './pipes.ts';
import { calmCommit, currentRow, endedRow } from './rows.ts';
import { runs, units } from './runs.ts';
import {
  at,
  begunMs,
  broken,
  historyMs,
  instant,
  late,
  mutations,
  ofFirst,
  ofSecond,
  replacing,
  restated,
  runIds,
  service,
  xid,
} from './world.ts';

/** A copy of it that a test may change. */
export type Changeable<T> =
  T extends ReadonlyArray<infer Item>
    ? Array<Changeable<Item>>
    : T extends object
      ? { -readonly [name in keyof T]: Changeable<T[name]> }
      : T;

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
  uwi: 'W2',
  month: '2026-02-01',
  rows_missing: 5,
  first_day: '2026-02-01',
  last_day: '2026-02-05',
  since: calmCommit,
  run_id: runIds.calm,
  release_run_id: null,
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
      uwi: 'W2',
      run_id: runIds.calm,
      unit: 1,
      production_day: '2026-02-10',
      xid: xid(20),
      reason: 'oilRate is null, not a number',
      raw: JSON.stringify(broken),
      window_from: instant(historyMs),
      window_to: instant(at(130)),
      noticed_at: calmCommit,
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
      plan_id: 'plan-1',
      service_url: service,
      selection: null,
      created_by: 'root@vm',
      created_at: instant(at(66)),
      run_id: runIds.cleanup,
      applied_by: 'root@vm',
      applied_at: instant(at(70)),
      counts: { targets: 2 },
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
  minutes: 4,
  warehouse: 'duckdb',
  queue: 'embedded',
  begunMs,
  calmMs: at(120),
  endedMs: at(300),
  settings: {
    memoryMb: 512,
    concurrency: 4,
    requestsPerSecond: 50,
    shrinkPercent: 20,
    shrinkRows: 3,
    historyFrom: '2026-01-01',
  },
  service: {
    manner: {
      pageBase: 1,
      mostRowsPerPage: 100,
      order: 'ascending',
      endIsInclusive: true,
      goneAnswer: 'not-found',
      pipesByDate: false,
      mostPipes: 100,
    },
    requests,
    mutations,
    definitionChanges: [],
    mostAtOnce: 4,
    holds: [{ fromMs: at(50), untilMs: at(53) }],
    pipes,
    timeSeries: {},
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
      atMs: at(30),
      endedMs: at(38),
      words: ['push', 'network-pipes', 'pipes.csv'],
      code: 3,
      document: {},
      runId: runIds.push,
      pipesCsv,
      isCalm: false,
    },
    {
      atMs: at(130),
      endedMs: at(131),
      words: ['POST /api/v1/runs'],
      code: 202,
      document: { runId: runIds.calm },
      runId: runIds.calm,
      isCalm: true,
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
  copyFaults: [],
};

/** A copy of the storm in which all is right, after `change`. */
export function soundEvidence(change: (evidence: Changeable<Evidence>) => void = () => undefined): Evidence {
  const copy = JSON.parse(JSON.stringify(sound)) as Changeable<Evidence>;
  change(copy);
  return copy;
}
