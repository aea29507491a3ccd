/** Faults of sums, watermarks, coverage, pushes and pipes. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { judge } from './check.ts';
import {
  changeCounts,
  guaranteesAfter,
  type Planted,
  removeRow,
  reportOf,
  requestOf,
  rowOf,
  rowsIn,
  type Storm,
} from './sound/planted.ts';
import { pipesCsv } from './sound/pipes.ts';
import { soundEvidence } from './sound/sound-evidence.ts';
import { at, instant, runIds } from './sound/world.ts';

const sums: readonly Planted[] = [
  ['a run without a report', 'G2', (storm) => (rowOf(storm, 'run', 'run_id', runIds.wells)['report'] = null)],
  ['a report that does not balance', 'G2', (storm) => (reportOf(storm, runIds.wells)['balance'] = { balanced: false })],
  ['a record that is in no count', 'G2', (storm) => changeCounts(storm, runIds.calm, { read: 1 })],
  ['a verified record that is in no count', 'G2', (storm) => changeCounts(storm, runIds.verify, { read: 1 })],
  [
    'a target of a cleanup that is in no count',
    'G2',
    (storm) => (reportOf(storm, runIds.cleanup)['counts'] = { deleted: 1 }),
  ],
  [
    'a report that counts more than its units',
    'G2',
    (storm) => {
      const counts = reportOf(storm, runIds.wells)['counts'] as Record<string, number>;
      Object.assign(counts, { read: 2, inserted: 2 });
    },
  ],
  [
    'units that are not those of the report',
    'G2',
    (storm) => (reportOf(storm, runIds.calm)['units'] = { total: 2, done: 2 }),
  ],
  ['a report of another end', 'G2', (storm) => (reportOf(storm, runIds.wells)['state'] = 'failed')],
  ['a window with a row too many', 'G2', (storm) => changeCounts(storm, runIds.calm, { rowsAfter: 1 })],
  ['a window that is adrift', 'G2', (storm) => changeCounts(storm, runIds.calm, { rowsAdrift: 1 })],
  [
    'a well with other rows than its windows brought',
    'G2',
    (storm) => changeCounts(storm, runIds.first, { read: 1, inserted: 1, rowsAfter: 1 }),
  ],
  [
    'a job whose sum nobody knows',
    'G2',
    (storm) => (rowOf(storm, 'run', 'run_id', runIds.wells)['job'] = 'export others'),
  ],
];

const ofWatermarks: readonly Planted[] = [
  [
    'a watermark behind every window',
    'G3',
    (storm) => (rowOf(storm, 'watermark', 'uwi', 'W1')['watermark'] = instant(at(131))),
  ],
  [
    'a watermark that did not move',
    'G3',
    (storm) =>
      Object.assign(rowOf(storm, 'watermark', 'uwi', 'W1'), {
        watermark: instant(at(10)),
        verified_at: instant(at(10)),
      }),
  ],
  ['a well without a watermark', 'G3', (storm) => removeRow(storm, 'watermark', 'uwi', 'W1')],
  [
    'a well with two watermarks',
    'G3',
    (storm) => void rowsIn(storm, 'watermark').push(rowOf(storm, 'watermark', 'uwi', 'W1')),
  ],
  ['a last day without a row', 'G3', (storm) => (rowOf(storm, 'watermark', 'uwi', 'W1')['last_day'] = '2026-03-07')],
  [
    'a well that is verified too far',
    'G3',
    (storm) => (rowOf(storm, 'watermark', 'uwi', 'W1')['verified_at'] = instant(at(150))),
  ],
  [
    'coverage of a day that is not over',
    'G3',
    (storm) => (rowOf(storm, 'coverage', 'uwi', 'W1')['to_day'] = '2026-03-11'),
  ],
  [
    'coverage from before every read',
    'G3',
    (storm) => (rowOf(storm, 'coverage', 'uwi', 'W1')['from_day'] = '2025-12-31'),
  ],
  [
    'spans of coverage that overlap',
    'G3',
    (storm) => void rowsIn(storm, 'coverage').push({ uwi: 'W1', from_day: '2026-02-01', to_day: '2026-03-01' }),
  ],
  ['an empty span of coverage', 'G3', (storm) => (rowOf(storm, 'coverage', 'uwi', 'W1')['from_day'] = '2026-03-10')],
  ['a read day that is not covered', 'G3', (storm) => (rowOf(storm, 'coverage', 'uwi', 'W1')['to_day'] = '2026-03-06')],
];

type SentPipes = NonNullable<Storm['service']['requests'][number]['pipes']>;

/** The first row of the pipe in the file. */
function earlierRow(pipe: SentPipes[number]): SentPipes[number] {
  return { ...pipe, enabled: true, length: [1], trueVerticalDepth: [2], innerDiameter: [3], roughness: [4] };
}

function sentPipes(storm: Storm): SentPipes {
  return storm.service.requests.find(({ no }) => no === 5)?.pipes ?? [];
}

/** Another push of one pipe of the first file, with another row, that ends after it and began before its end. */
function pushBeside(storm: Storm): void {
  const [header = '', , row = ''] = pipesCsv.split('\n');
  const text = [header, row.replace('B,false', 'B,true'), ''].join('\n');
  const run = rowOf(storm, 'run', 'run_id', runIds.push);
  const params = { ...(run['params'] as object), content: { sha256: createHash('sha256').update(text).digest('hex') } };
  const counts = { rows: 1, accepted: 1 };
  const report = { ...reportOf(storm, runIds.push), counts };
  const span = { requested_at: instant(at(32)), finished_at: instant(at(39)), unit_count: 1 };
  const beside = '20260310-080032-a00009';
  rowsIn(storm, 'run').push({ ...run, run_id: beside, params, report, ...span });
  rowsIn(storm, 'run_unit').push({ run_id: beside, unit: 0, target: 'other.csv', state: 'done', counts, spec: {} });
  const [call] = storm.calls;
  if (call !== undefined) storm.calls.push({ ...call, runId: beside, pipesCsv: text });
  const pipe = { ...sentPipes(storm)[0], enabled: true };
  storm.service.requests.push({
    ...requestOf(storm, 5),
    no: 13,
    arrivedMs: at(36),
    answeredMs: at(36.1),
    pipes: [pipe],
  });
  storm.service.pipes['N/P1'] = pipe;
}

const ofPushes: readonly Planted[] = [
  [
    'a push that lost a row of its file',
    'G2',
    (storm) => changeCounts(storm, runIds.push, { rows: -1, superseded: -1 }),
  ],
  [
    'a push that accepted a row that breaks the rules',
    'G2',
    (storm) => changeCounts(storm, runIds.push, { rejectedByUs: -1, superseded: 1 }),
  ],
  [
    'a push that accepted what the service refuses',
    'G2',
    (storm) => changeCounts(storm, runIds.push, { rejectedByService: -1, superseded: 1 }),
  ],
  ['a push that left a pipe out', 'G2', (storm) => changeCounts(storm, runIds.push, { accepted: -1, superseded: 1 })],
  [
    'a pipe that ends as an earlier row',
    'G5',
    (storm) => Object.assign(storm.service.pipes['N/P1'] ?? {}, { enabled: true }),
  ],
  ['a pipe that the service does not have', 'G5', (storm) => void delete storm.service.pipes['N/P2']],
  [
    'a pipe of a done push that was never sent',
    'G5',
    (storm) => {
      storm.service.requests = storm.service.requests.map((each) =>
        each.no === 5 ? { ...each, pipes: sentPipes(storm).slice(0, 1) } : each,
      );
    },
  ],
  ['a pipe that is in no file', 'G5', (storm) => void sentPipes(storm).push({ sourceNetworkId: 'N', sourceId: 'P9' })],
  [
    'a request after the end of its run',
    'G5',
    (storm) => {
      const late = { ...requestOf(storm, 5), no: 13, arrivedMs: at(45), answeredMs: at(45) };
      storm.service.requests.push(late);
    },
  ],
  [
    'an earlier row that was sent after the last one',
    'G5',
    (storm) => {
      const [pipe] = sentPipes(storm);
      const request = storm.service.requests.find(({ no }) => no === 5);
      if (request === undefined || pipe === undefined) return;
      const again = {
        ...request,
        no: 13,
        arrivedMs: at(36),
        answeredMs: at(36.1),
        pipes: [earlierRow(pipe)],
      };
      storm.service.requests.push(again);
    },
  ],
];

describe('sums, watermarks and pipes that a storm left', () => {
  it.each([...sums, ...ofWatermarks, ...ofPushes])('are accused of %s', (_, guarantees, change) => {
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it('are not accused of an earlier row that a client had given up, and that was worked late', () => {
    const violations = judge(
      soundEvidence((storm) => {
        const [pipe] = sentPipes(storm);
        const request = storm.service.requests.find(({ no }) => no === 5);
        if (request === undefined || pipe === undefined) return;
        const { answeredMs: _, ...lost } = request;
        const stale = earlierRow(pipe);
        storm.service.requests.push({ ...lost, no: 13, arrivedMs: at(36), status: 0, pipes: [stale] });
        storm.service.pipes['N/P1'] = stale;
      }),
    ).violations;
    expect(violations).toEqual([]);
  });

  it('are not accused of the order of two pushes of one pipe at one time', () => {
    expect(judge(soundEvidence(pushBeside)).violations).toEqual([]);
  });

  it('are accused of it where the second push began when the first had ended', () => {
    const guarantees = guaranteesAfter((storm) => {
      pushBeside(storm);
      const beside = rowOf(storm, 'run', 'run_id', '20260310-080032-a00009');
      Object.assign(beside, { requested_at: instant(at(60)), finished_at: instant(at(69)) });
    });
    expect(guarantees).toBe('G5');
  });

  it('are not accused of a well of several windows that counts once', () => {
    const severalWindows = (counted: number) => (storm: Storm) => {
      const counts = reportOf(storm, runIds.first)['counts'] as Record<string, number>;
      counts['targetsWithRows'] = counted;
      for (const unit of rowsIn(storm, 'run_unit').filter((row) => row['run_id'] === runIds.first)) {
        unit['target'] = 'W1';
        Object.assign(unit['counts'] as object, { targetsWithRows: 1 });
      }
    };
    const addition = (counted: number): readonly string[] =>
      judge(soundEvidence(severalWindows(counted))).violations.flatMap(({ what }) =>
        what.includes('targetsWithRows') ? what : [],
      );
    expect(addition(1)).toEqual([]);
    expect(addition(2)).toHaveLength(1);
  });
});
