import { describe, expect, test } from 'vitest';
import { choiceCounts, chosenWells, type MapWell } from '../../../src/app/wells/coverage.ts';

function well(uwi: string, changes: Partial<MapWell> = {}): MapWell {
  const days = { present: 10, quarantined: 0, missing: 0, neverRead: 0, holes: 0, silentDays: 0 };
  return { uwi, lastDay: '2026-11-26', ...days, isHeld: false, isRestated: false, isPartlyRead: false, ...changes };
}

const wells = [
  well('1/2'),
  well('1/10', { missing: 4, silentDays: 4 }),
  well('24/4-A', { isHeld: true }),
  well('24/4-B', { missing: 2, neverRead: 9, holes: 11 }),
  well('30/1', { isRestated: true, missing: 4, silentDays: 7 }),
];
const all = { show: 'all', sort: 'name', name: '' } as const;
const names = (question: Partial<Parameters<typeof chosenWells>[1]>): readonly string[] =>
  chosenWells(wells, { ...all, ...question }).map(({ uwi }) => uwi);

describe('the wells of the map', () => {
  test('are chosen by what is to be known of them', () => {
    expect(names({ show: 'attention' })).toEqual(['1/10', '24/4-A', '24/4-B', '30/1']);
    expect(names({ show: 'silent' })).toEqual(['1/10', '30/1']);
    expect(names({ show: 'held' })).toEqual(['24/4-A']);
    expect(names({ show: 'restated' })).toEqual(['30/1']);
    expect(choiceCounts(wells)).toEqual({ all: 5, attention: 4, silent: 2, held: 1, restated: 1 });
  });

  test('are found by any part of the name, in any case', () => {
    expect(names({ name: '4-a' })).toEqual(['24/4-A']);
    expect(names({ name: ' 4/4 ' })).toEqual(['24/4-A', '24/4-B']);
    expect(names({ name: 'x' })).toEqual([]);
  });

  test('are ordered by days without a row, or by silence, and equal ones stay as they were', () => {
    expect(names({ sort: 'missing' })).toEqual(['24/4-B', '1/10', '30/1', '1/2', '24/4-A']);
    expect(names({ sort: 'silent' })).toEqual(['30/1', '1/10', '1/2', '24/4-A', '24/4-B']);
  });
});
