import { describe, expect, test } from 'vitest';
import {
  type Observation,
  observeDisk,
  observeFeed,
  observeSchedules,
  observeService,
  observeWorkers,
  type ScheduleState,
} from '../../../../src/core/alerts/alert.ts';

const sentences = ({ found }: Observation) => found.map(({ target, summary }) => `${target}: ${summary}`);

describe('what is seen of the service', () => {
  const outage = { sinceMs: 0, forMs: 60_000, nextTryMs: 0, fault: 'GET / answered 503' };
  const hold = { untilMs: 1_000_000, leftMs: 900_001, askedUntilMs: 1_000_000, isTooLong: false };
  const kindsOf = (observations: readonly Observation[]) =>
    observations.flatMap(({ kind, found }) => (found.length > 0 ? [kind] : []));

  test('is down after a minute, and holds requests above its limit', () => {
    expect(kindsOf(observeService('s', { hold, outage }, 900_000))).toEqual(['service-down', 'requests-held']);
    const short = { hold: { ...hold, leftMs: 900_000 }, outage: { ...outage, forMs: 59_999 } };
    expect(kindsOf(observeService('s', short, 900_000))).toEqual([]);
    expect(observeService('s', { hold: undefined, outage: undefined }, 1).map(({ observed }) => observed)).toEqual([
      ['s'],
      ['s'],
    ]);
  });
});

describe('what is seen of schedules', () => {
  const state = (name: string, more: Partial<ScheduleState>): ScheduleState => ({
    name,
    job: 'export wells',
    isPaused: false,
    overdueMs: undefined,
    lastTick: undefined,
    ...more,
  });

  test('is a tick that nobody took, and a run that could not be made; a skipped one says nothing', () => {
    const seen = observeSchedules([
      state('late', { overdueMs: 0 }),
      state('missed', { lastTick: { dueMs: 0, outcome: 'missed' } }),
      state('wrong', { lastTick: { dueMs: 0, outcome: 'failed', words: 'no such file' } }),
      state('paused', { isPaused: true, overdueMs: 0 }),
      state('skipped', { lastTick: { dueMs: 0, outcome: 'skipped' } }),
      state('good', { lastTick: { dueMs: 0, outcome: 'started' } }),
    ]);
    expect(seen.observed).toEqual(['late', 'missed', 'wrong', 'paused', 'good']);
    expect(sentences(seen)).toEqual([
      'late: late was due at 1970-01-01 00:00:00Z, and no worker took it in time',
      'missed: missed was due at 1970-01-01 00:00:00Z, and no worker took it in time',
      'wrong: wrong could not start its run: no such file',
    ]);
  });
});

test('a queue without a worker, a full disk and a feed that cannot be published are seen, and when they are over', () => {
  expect(sentences(observeWorkers(['export wells']))).toEqual([
    'export wells: runs wait, and no worker has their queue',
  ]);
  expect(observeWorkers([]).observed).toBe('all');
  expect(sentences(observeDisk('host:/data', 999_999_999))).toEqual(['host:/data: less than 1.0 GB is free']);
  expect(observeDisk('host:/data', 1e9).found).toEqual([]);
  expect(sentences(observeFeed('/feed', 'it is read-only'))).toEqual([
    '/feed: what is due could not be published: it is read-only',
  ]);
  expect(observeFeed('/feed', undefined)).toMatchObject({ observed: ['/feed'], found: [] });
});
