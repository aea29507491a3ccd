/** Faults of deletions, of runs, and of their pauses. */
import { describe, expect, it } from 'vitest';
import { judge } from './check.ts';
import { chained } from './sound/cleanup.ts';
import {
  guaranteesAfter,
  type Planted,
  removeRow,
  reportOf,
  requestOf,
  rowOf,
  rowsIn,
  type Storm,
} from './sound/planted.ts';
import { soundEvidence } from './sound/sound-evidence.ts';
import { at, instant, runIds } from './sound/world.ts';

/** Changes the rows of the audit, and makes its chain and its head whole again. */
function rewriteAudit(
  storm: Storm,
  change: (rows: Record<string, unknown>[]) => readonly Record<string, unknown>[],
): void {
  const rows = chained(change(rowsIn(storm, 'deletion_audit')));
  storm.tables['deletion_audit'] = rows.map((row) => ({ ...row }));
  storm.tables['deletion_audit_head'] = [{ rows: rows.length, hash: rows.at(-1)?.['hash'] }];
}

const deletions: readonly Planted[] = [
  ['a changed row of the audit', 'G6', (storm) => (rowOf(storm, 'deletion_audit', 'seq', 3)['answer'] = 2)],
  [
    'a missing row of the audit',
    'G6',
    (storm) => {
      const rows = rowsIn(storm, 'deletion_audit');
      rows.splice(1, 1);
    },
  ],
  [
    'an audit without its last row',
    'G6',
    (storm) => {
      rowsIn(storm, 'deletion_audit').pop();
    },
  ],
  [
    'a head that is not the last row',
    'G6',
    (storm) => (rowOf(storm, 'deletion_audit_head', 'rows', 4)['hash'] = 'f'.repeat(64)),
  ],
  [
    'a deletion beside every plan',
    'G6',
    (storm) => void storm.service.requests.push({ ...requestOf(storm, 8), no: 20, target: 'E9' }),
  ],
  ['a deletion before its intent', 'G6', (storm) => Object.assign(requestOf(storm, 9), { arrivedMs: at(70.9) })],
  [
    'a deletion that was answered, and is sent again',
    'G6',
    (storm) =>
      void storm.service.requests.push({ ...requestOf(storm, 8), no: 20, arrivedMs: at(73), answeredMs: at(73) }),
  ],
  [
    'a deletion after its outcome',
    'G6',
    (storm) =>
      void storm.service.requests.push({ ...requestOf(storm, 8), no: 20, arrivedMs: at(90), answeredMs: at(90) }),
  ],
  [
    'a deletion after its run was cancelled',
    'G6',
    (storm) => {
      rewriteAudit(storm, (rows) => rows.slice(0, 2));
      const run = rowOf(storm, 'run', 'run_id', runIds.cleanup);
      Object.assign(run, { state: 'cancelled' });
      Object.assign(reportOf(storm, runIds.cleanup), {
        state: 'cancelled',
        counts: {},
        units: { total: 2, cancelled: 2 },
      });
      for (const unit of rowsIn(storm, 'run_unit')) {
        if (unit['run_id'] === runIds.cleanup) Object.assign(unit, { state: 'cancelled', counts: null });
      }
      storm.service.requests.push({ ...requestOf(storm, 8), no: 20, arrivedMs: at(100), answeredMs: at(100) });
    },
  ],
  [
    'a plan that nobody applied',
    'G6',
    (storm) => (rowOf(storm, 'cleanup_plan', 'plan_id', 'plan-1')['applied_at'] = null),
  ],
  [
    'a plan that was applied after its intents',
    'G6',
    (storm) => (rowOf(storm, 'cleanup_plan', 'plan_id', 'plan-1')['applied_at'] = instant(at(72))),
  ],
  ['a target that its plan does not have', 'G6', (storm) => removeRow(storm, 'cleanup_target', 'owner_id', 'E1')],
  [
    'a deletion that the service never saw',
    'G6',
    (storm) => (storm.service.requests = storm.service.requests.filter(({ no }) => no !== 8)),
  ],
  [
    'a deletion that the service refused',
    'G6',
    (storm) => Object.assign(requestOf(storm, 8), { status: 403, isApplied: false }),
  ],
  ['a settled target without an outcome', 'G6', (storm) => rewriteAudit(storm, (rows) => rows.slice(0, 3))],
  [
    'a time series that stands, and counts as gone',
    'G6 storm',
    (storm) => (storm.service.timeSeries['E1'] = [{ sourceId: 'T1' }]),
  ],
];

/** Lets the run of wells end as failed, for a reason. */
function stop(storm: Storm, code: string): void {
  Object.assign(rowOf(storm, 'run', 'run_id', runIds.wells), { state: 'failed' });
  Object.assign(reportOf(storm, runIds.wells), { state: 'failed', stopped: { code } });
}

const ofRuns: readonly Planted[] = [
  [
    'an answer of the API that is a fault of wellsync',
    'G7',
    (storm) =>
      void storm.calls.push({
        atMs: at(5),
        endedMs: at(6),
        words: ['POST /api/v1/runs'],
        code: 500,
        document: { title: 'Internal error', status: 500, code: 'bug', detail: 'this is a fault of wellsync itself' },
        isCalm: false,
      }),
  ],
  [
    'a command that a fault of wellsync ended',
    'G7',
    (storm) =>
      void storm.calls.push({
        atMs: at(5),
        endedMs: at(6),
        words: ['verify'],
        code: 1,
        document: { error: { code: 'bug', message: 'this is a fault of wellsync itself: error: deadlock detected' } },
        isCalm: false,
      }),
  ],
  [
    'a request that was accepted and lost',
    'G7',
    (storm) =>
      void storm.calls.push({
        atMs: at(5),
        endedMs: at(6),
        words: ['export'],
        code: 0,
        document: {},
        runId: '20260310-080005-dddddd',
        isCalm: false,
      }),
  ],
  [
    'a run that never ended',
    'G7',
    (storm) => Object.assign(rowOf(storm, 'run', 'run_id', runIds.wells), { state: 'running', report: null }),
  ],
  [
    'a run that is there twice',
    'G7',
    (storm) => void rowsIn(storm, 'run').push(rowOf(storm, 'run', 'run_id', runIds.wells)),
  ],
  [
    'a done run with an open unit',
    'G2 G7',
    (storm) => (rowOf(storm, 'run_unit', 'run_id', runIds.wells)['state'] = 'open'),
  ],
  ['a run with a unit too few', 'G7', (storm) => (rowOf(storm, 'run', 'run_id', runIds.wells)['unit_count'] = 2)],
  ['a run that failed for a fault of the program', 'G7', (storm) => stop(storm, 'unexpected')],
  [
    'a unit that died without a kill',
    'G7',
    (storm) => {
      storm.events = [];
      stop(storm, 'worker-died');
    },
  ],
  ['a run whose token was refused, although the service refused none', 'G7', (storm) => stop(storm, 'unauthorized')],
  [
    'a unit that was not tried, although nothing stopped its run',
    'G7',
    (storm) => {
      Object.assign(rowOf(storm, 'run', 'run_id', runIds.wells), { state: 'failed' });
      Object.assign(rowOf(storm, 'run_unit', 'run_id', runIds.wells), {
        state: 'failed',
        fault: { code: 'not-tried' },
      });
      Object.assign(reportOf(storm, runIds.wells), { state: 'failed', units: { total: 1, failed: 1 } });
    },
  ],
  [
    'a kill of the quiet time that met no export',
    'storm',
    (storm) => {
      storm.events.push({ atMs: at(128), kind: 'kill', at: 'worker-1', detail: { isAtWork: false } });
    },
  ],
  [
    'a killed export that goes on too late',
    'G7',
    (storm) => {
      const killed = { isAll: true, isAtWork: true };
      storm.events.push({ atMs: at(131), kind: 'kill', at: 'worker-1', detail: killed });
      storm.endedMs = at(400);
      Object.assign(rowOf(storm, 'run', 'run_id', runIds.calm), { finished_at: instant(at(300)) });
    },
  ],
  [
    'a run that failed without a reason',
    'G7',
    (storm) => {
      Object.assign(rowOf(storm, 'run', 'run_id', runIds.wells), { state: 'failed' });
      Object.assign(reportOf(storm, runIds.wells), { state: 'failed' });
    },
  ],
  [
    'a tick with two runs',
    'G7',
    (storm) =>
      Object.assign(rowOf(storm, 'run', 'run_id', runIds.wells), {
        actor: 'schedule/every-five@vm',
        schedule: 'every-five',
      }),
  ],
  [
    'a key with two runs',
    'G7',
    (storm) =>
      void rowsIn(storm, 'idempotency_key').push({
        client: 'storm',
        route: 'POST /api/v1/runs',
        key: 'calm-1',
        run_id: runIds.wells,
      }),
  ],
  [
    'a file of the inbox without a run',
    'G7',
    ({ calls }) => {
      const [call] = calls;
      if (call === undefined) throw new Error('no call');
      calls.push({ ...call, words: ['inbox', 'dropped-1'], pipesCsv: 'lost', runId: runIds.push, isCalm: false });
    },
  ],
  [
    'a key that was answered by two runs',
    'G7',
    ({ calls }) => {
      const [call] = calls;
      if (call === undefined) throw new Error('no call');
      calls.push(
        { ...call, key: 'k', runId: runIds.wells, isCalm: false },
        { ...call, key: 'k', runId: runIds.calm, isCalm: false },
      );
    },
  ],
  [
    'a key of a run that is not there',
    'G7',
    (storm) => (rowOf(storm, 'idempotency_key', 'key', 'calm-1')['run_id'] = 'none'),
  ],
  [
    'a standstill of the quiet time',
    'G7',
    (storm) => (rowOf(storm, 'run', 'run_id', runIds.verify)['finished_at'] = instant(at(250))),
  ],
  [
    'a run that stands still while ticks go on',
    'G7',
    (storm) => {
      rowOf(storm, 'run', 'run_id', runIds.wells)['finished_at'] = instant(at(270));
      for (let second = 150; second < 300; second += 30) {
        storm.service.requests.push({
          ...requestOf(storm, 12),
          no: second,
          arrivedMs: at(second),
          answeredMs: at(second),
        });
      }
    },
  ],
  [
    'a schedule whose tick began nothing',
    'G7',
    (storm) => {
      storm.tables['schedule'] = [{ name: 'minutely', definition: '{"cron":"* * * * *"}', outcome: 'started' }];
      const call = { words: ['schedules', 'resume', 'minutely'], code: 0, document: {}, isCalm: true };
      storm.calls.push({ ...call, atMs: at(121), endedMs: at(122) });
    },
  ],
  [
    'a tick that was taken and never begun',
    'G7',
    (storm) => (rowOf(storm, 'schedule', 'name', 'every-five')['outcome'] = 'starting'),
  ],
  [
    'a well that was never read',
    'G4',
    (storm) => (storm.service.requests = storm.service.requests.filter(({ no }) => no !== 3)),
  ],
  [
    'a kill after which nothing goes on',
    'G7',
    (storm) => {
      storm.events = [{ atMs: at(42.5), kind: 'kill', at: 'all workers' }];
      rowOf(storm, 'run', 'run_id', runIds.wells)['finished_at'] = instant(at(119));
      storm.service.requests = storm.service.requests.filter(({ no }) => no < 7 || no > 9);
      storm.service.holds = [];
      for (const table of ['deletion_audit', 'deletion_audit_head', 'cleanup_plan', 'cleanup_target'])
        storm.tables[table] = [];
      removeRow(storm, 'run', 'run_id', runIds.cleanup);
      storm.tables['run_unit'] = rowsIn(storm, 'run_unit').filter((row) => row['run_id'] !== runIds.cleanup);
    },
  ],
];

describe('the work of a storm', () => {
  it.each([...deletions, ...ofRuns])('is accused of %s', (_, guarantees, change) => {
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it.each([
    ['slow-answer', ''],
    ['html-200', 'G6'],
  ])('has a deletion of what was gone by an answer with the fault %s: accused of "%s"', (fault, guarantees) => {
    const change = (storm: Storm): void =>
      void Object.assign(requestOf(storm, 8), { fault, isApplied: false, removed: 0 });
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it('is not accused of a pause after a kill while something else was away', () => {
    const away = { atMs: at(43), untilMs: at(118), kind: 'outage', at: 'service' };
    const violations = judge(
      soundEvidence((storm) => {
        storm.events = [{ atMs: at(42.5), kind: 'kill', at: 'all workers' }, away];
        rowOf(storm, 'run', 'run_id', runIds.wells)['finished_at'] = instant(at(119));
      }),
    ).violations;
    expect(violations).toEqual([]);
  });

  it('is not accused of the end of a run by a host whose clock is ahead', () => {
    const ahead = (storm: Storm): void => {
      storm.endedMs = at(145) - 400;
    };
    expect(guaranteesAfter(ahead)).toBe('G7');
    const aheadBy = (clockOffsetMs: number): string =>
      guaranteesAfter((storm) => {
        ahead(storm);
        storm.clockOffsetMs = clockOffsetMs;
      });
    expect([300, 500].map(aheadBy)).toEqual(['G7', '']);
  });

  it('is not accused of an intent of a host whose clock is ahead', () => {
    const ahead = (storm: Storm): void => {
      rewriteAudit(storm, (rows) =>
        rows.map((row) => (row['event'] === 'intent' ? { ...row, noted_at: instant(at(72.4)) } : row)),
      );
    };
    expect(guaranteesAfter(ahead)).toBe('G6');
    expect(
      guaranteesAfter((storm) => {
        ahead(storm);
        storm.clockOffsetMs = 500;
      }),
    ).toBe('');
  });
});
