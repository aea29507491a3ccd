import { describe, expect, test } from 'vitest';
import { dayCounts, dayStretches, gapsOf, type KnownDays } from '../../../../src/core/daily/coverage.ts';

const nothing: KnownDays = { read: [], present: [], quarantined: [], held: [], restated: [], askedTo: undefined };
const of = (fromDay: number, toDay: number) => ({ fromDay, toDay });

describe('the days of a well', () => {
  test('are none without a row', () => {
    expect(dayStretches({ ...nothing, read: [of(0, 10)] }, 10)).toEqual([]);
  });

  test('last to yesterday, each in one state', () => {
    const known: KnownDays = {
      ...nothing,
      read: [of(0, 20)],
      present: [of(2, 6), of(8, 15)],
      quarantined: [of(14, 16)],
      held: [of(9, 12)],
      restated: [3, 7],
    };
    expect(dayStretches(known, 25)).toEqual([
      { ...of(2, 3), state: 'present' },
      { ...of(3, 4), state: 'restated' },
      { ...of(4, 6), state: 'present' },
      { ...of(6, 8), state: 'missing' },
      { ...of(8, 9), state: 'present' },
      { ...of(9, 12), state: 'held' },
      { ...of(12, 14), state: 'present' },
      { ...of(14, 15), state: 'quarantined-kept' },
      { ...of(15, 16), state: 'quarantined' },
      { ...of(16, 20), state: 'missing' },
      { ...of(20, 25), state: 'never-read' },
    ]);
  });

  test('behind the last row, what unverified reads have passed is undecided', () => {
    const stretches = dayStretches({ ...nothing, read: [of(0, 7)], present: [of(0, 5)], askedTo: 9 }, 12);
    expect(stretches.map(({ state, toDay }) => [state, toDay])).toEqual([
      ['present', 5],
      ['missing', 7],
      ['undecided', 9],
      ['never-read', 12],
    ]);
  });

  test('a row of today, and of tomorrow, is shown', () => {
    expect(dayStretches({ ...nothing, present: [of(5, 12)] }, 11)).toEqual([{ ...of(5, 12), state: 'present' }]);
  });
});

describe('gaps', () => {
  const stretches = dayStretches(
    { ...nothing, read: [of(0, 6), of(8, 20)], present: [of(0, 4), of(10, 15)], askedTo: 0 },
    22,
  );

  test('are the latest first, over states, and an open one lasts to today', () => {
    expect(gapsOf(stretches)).toEqual([
      { ...of(15, 22), neverRead: 2, undecided: 0, isOpen: true },
      { ...of(4, 10), neverRead: 2, undecided: 0, isOpen: false },
    ]);
  });

  test('sum to the days without a row', () => {
    const counts = dayCounts(stretches);
    const days = gapsOf(stretches).reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
    expect(days).toBe(counts.missing + counts.undecided + counts['never-read']);
    expect(counts.present + days).toBe(22);
  });
});
