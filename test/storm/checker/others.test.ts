/** Faults of limits, secrets, identity, alerts, the feed, and of what is left over. */
import { describe, expect, it } from 'vitest';
import { judge } from './check.ts';
import { guaranteesAfter, type Planted, reportOf, requestOf, rowOf, rowsIn } from './sound/planted.ts';
import { soundEvidence } from './sound/sound-evidence.ts';
import { at, runIds, xid } from './sound/world.ts';

const ofLimits: readonly Planted[] = [
  ['more requests at one time than may be', 'G9', (storm) => (storm.service.mostAtOnce = 5)],
  [
    'more requests within a second than may be',
    'G9',
    (storm) => {
      const burst = Array.from({ length: 60 }, (_, index) => ({
        ...requestOf(storm, 10),
        no: 100 + index,
        arrivedMs: at(132.5 + index / 100),
      }));
      storm.service.requests.push(...burst);
    },
  ],
  [
    'more requests within ten seconds than may be',
    'G9',
    (storm) => {
      storm.settings.requestsPerSecond = 5;
      const spread = Array.from({ length: 60 }, (_, index) => ({
        ...requestOf(storm, 10),
        no: 100 + index,
        arrivedMs: at(132.5 + index / 8),
      }));
      storm.service.requests.push(...spread);
    },
  ],
  [
    'a request within a hold that the storm asked for',
    'G9',
    (storm) => {
      storm.events.push({ atMs: at(50), untilMs: at(53), kind: 'hold', at: 'service' });
      storm.service.requests.push({ ...requestOf(storm, 7), no: 30, arrivedMs: at(51), answeredMs: at(51) });
    },
  ],
  [
    'a request within a hold that came beside a burst of faults',
    'G9',
    (storm) => {
      storm.events.push({ atMs: at(49), untilMs: at(53), kind: 'burst', at: 'service' });
      storm.service.requests.push({ ...requestOf(storm, 7), no: 30, arrivedMs: at(51), answeredMs: at(51) });
    },
  ],
  ['a worker with too much memory', 'G8', (storm) => void Object.assign(storm, { peakMb: { 'worker-1': 600 } })],
  [
    'a request within a hold',
    'G9',
    (storm) =>
      void storm.service.requests.push({ ...requestOf(storm, 7), no: 30, arrivedMs: at(51), answeredMs: at(51) }),
  ],
];

const ofOthers: readonly Planted[] = [
  ['a secret that was found', 'G10', (storm) => void storm.leaks.push({ where: 'worker.log', secret: 'x' })],
  ['a token in a cell', 'G10', (storm) => Object.assign(reportOf(storm, runIds.wells), { notices: ['storm-token-7'] })],
  [
    'a token in an alert',
    'G10',
    (storm) => Object.assign(storm.alerts[0] ?? {}, { body: { message: 'storm-token-7' } }),
  ],
  [
    'a token in an answer',
    'G10',
    (storm) => Object.assign(storm.calls[0] ?? {}, { document: { error: 'storm-token-7' } }),
  ],
  [
    'two warehouses',
    'G11',
    (storm) => void rowsIn(storm, 'warehouse').push(rowOf(storm, 'warehouse', 'warehouse_id', 'a')),
  ],
  [
    'a run for another service',
    'G11',
    (storm) => (rowOf(storm, 'run', 'run_id', runIds.wells)['service'] = 'http://other'),
  ],
  [
    'a warehouse without a queue',
    'G11',
    (storm) => (rowOf(storm, 'warehouse', 'warehouse_id', 'a')['queue_id'] = null),
  ],
  ['a warehouse that no queue took', 'G11', (storm) => (rowOf(storm, 'warehouse', 'warehouse_id', 'a')['epoch'] = 0)],
  [
    'a takeover that raised no epoch',
    'G11',
    (storm) => {
      storm.events.push(
        { atMs: at(60), kind: 'takeover', at: 'queue' },
        { atMs: at(61), kind: 'takeover', at: 'queue' },
      );
    },
  ],
  [
    'a worker that goes on after another queue took the warehouse',
    'G11',
    (storm) => {
      rowOf(storm, 'warehouse', 'warehouse_id', 'a')['epoch'] = 2;
      storm.events.push({
        atMs: at(60),
        untilMs: at(61),
        kind: 'takeover',
        at: 'queue',
        detail: { still: 'worker-1' },
      });
    },
  ],
  ['a warehouse of another kind of queue', 'G11', (storm) => (storm.queue = 'redis')],
  ['held rows without an alert', 'storm', (storm) => (rowOf(storm, 'alert', 'alert_id', 'held')['state'] = 'resolved')],
  [
    'an alert with another number of held rows',
    'storm',
    (storm) => (rowOf(storm, 'alert', 'alert_id', 'held')['detail'] = { rows: 6 }),
  ],
  [
    'an alert of held rows that are back',
    'storm',
    (storm) => void rowsIn(storm, 'alert').push({ ...rowOf(storm, 'alert', 'alert_id', 'held'), target: 'W1' }),
  ],
  [
    'a record in quarantine without an alert',
    'storm',
    (storm) => (rowOf(storm, 'alert', 'alert_id', 'quarantined')['state'] = 'resolved'),
  ],
  [
    'an alert of a record that came right',
    'storm',
    (storm) =>
      void rowsIn(storm, 'alert').push({
        ...rowOf(storm, 'alert', 'alert_id', 'quarantined'),
        owner: 'W1',
        target: `W1 ${xid(1)}`,
      }),
  ],
  [
    'an alert of a well that is known',
    'storm',
    (storm) => void rowsIn(storm, 'alert').push({ kind: 'well-unknown', state: 'open', target: 'W1' }),
  ],
  ['a message that never arrived', 'storm', (storm) => void storm.alerts.pop()],
  [
    'a message that nobody sent',
    'storm',
    (storm) => void storm.alerts.push({ atMs: at(150), id: 'other', body: { kind: 'rows-held' } }),
  ],
  [
    'a message that still waits',
    'storm',
    (storm) => {
      rowOf(storm, 'alert_change', 'alert_id', 'held')['sent_at'] = null;
      storm.endedMs = at(400);
    },
  ],
  [
    'a reading of the feed that was not whole',
    'storm',
    (storm) => void storm.feed[0]?.faults.push('a file is missing'),
  ],
  ['a feed that was not read at the end', 'storm', (storm) => void storm.feed.pop()],
  ['a feed that went back', 'storm', (storm) => Object.assign(storm.feed[1] ?? {}, { version: 0 })],
  ['a copy of the warehouse that differs', 'storm', (storm) => void storm.copyFaults.push('run has a row less')],
  ['a file that stayed', 'storm', (storm) => void storm.leftovers.push('spool/a.csv')],
];

describe('what a storm showed to others', () => {
  it.each([...ofLimits, ...ofOthers])('is accused of %s', (_, guarantees, change) => {
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it('is not accused of a request within a hold that a person released', () => {
    const violations = judge(
      soundEvidence((storm) => {
        const words = ['service', 'release'];
        storm.calls.push({ atMs: at(50.8), endedMs: at(50.9), words, code: 0, document: {}, isCalm: false });
        storm.service.requests.push({ ...requestOf(storm, 7), no: 30, arrivedMs: at(51), answeredMs: at(51) });
      }),
    ).violations;
    expect(violations).toEqual([]);
  });
});
