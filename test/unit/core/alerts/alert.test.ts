import { describe, expect, test } from 'vitest';
import { lookAtSchedule, type ScheduleState } from '../../../../src/core/alerts/alert.ts';

const dueMs = Date.parse('2027-05-01T02:15:00Z');
const lookOf = (state: Partial<ScheduleState>) =>
  lookAtSchedule(
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
