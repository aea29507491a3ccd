import { describe, expect, test } from 'vitest';
import { networkPipes } from '../../../../jobs/network-pipes/checkpoint-writer.ts';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import { observeRun, observeSchedule, type ScheduleState } from '../../../../src/core/run/alert.ts';

const dueMs = Date.parse('2027-05-01T02:15:00Z');
const lookOf = (state: Partial<ScheduleState>) =>
  observeSchedule(
    {
      name: 'nightly',
      job: 'cleanup',
      service: 's',
      isPaused: false,
      overdueMs: undefined,
      lastTick: undefined,
      ...state,
    },
    dueMs + 600_000,
  );
const codesOf = (state: Partial<ScheduleState>) => lookOf(state)?.troubles.map(({ cause }) => cause.code);
const ended = (outcome: string) => ({ lastTick: { dueMs, outcome, words: 'no file' } });

describe('a schedule', () => {
  test.each([
    ['that has had no tick', {}, []],
    ['that started its run', ended('started'), []],
    ['that was missed', ended('missed'), ['schedule-missed']],
    ['that could not start', ended('failed'), ['schedule-failed']],
    ['that nobody takes, after one that started', { ...ended('started'), overdueMs: dueMs }, ['schedule-missed']],
    ['that is paused, whatever came before', { ...ended('failed'), overdueMs: dueMs, isPaused: true }, []],
    ['that was skipped, which is neither good nor bad', ended('skipped'), undefined],
  ])('%s', (_, state, codes) => expect(codesOf(state)).toEqual(codes));

  test('has one scope, so that what is over ends whatever was told of it', () => {
    const scopes = [ended('missed'), ended('failed'), ended('started')].map((state) => lookOf(state)?.scope);
    expect(new Set(scopes).size).toBe(1);
  });

  test('says when it was due, and why it could not start', () => {
    expect(lookOf(ended('missed'))?.troubles[0]?.message).toContain('was due at 2027-05-01T02:15:00.000Z');
    expect(lookOf(ended('failed'))?.troubles[0]?.message).toContain('no file');
  });
});

describe('a run', () => {
  const units = { total: 7, done: 5, held: 1, failed: 1, cancelled: 0, unknown: 0 };
  const balance = { balanced: true, statement: '' };
  const report = {
    runId: 'r',
    job: 'a job',
    units,
    balance,
    notices: [],
    failures: [],
    startedAtMs: 0,
    finishedAtMs: 1,
  };
  const wordsOf = (state: 'done' | 'failed', counts: Readonly<Record<string, number>>, job = dailyProduction) =>
    observeRun({ ...report, state, counts }, undefined, job)?.troubles[0]?.message;

  test('is told in the words of its report', () => {
    expect(wordsOf('failed', {})).toMatch(/^a job failed: 1 of 7 wells could not be /);
    expect(wordsOf('done', { newlyUnknown: 2, quarantined: 1 })).toBe(
      'a job is done, with 1 well held, 1 record quarantined and 2 wells newly unknown',
    );
    expect(wordsOf('done', { rejectedByUs: 3 }, networkPipes)).toContain('3 rows rejected by us');
  });
});
