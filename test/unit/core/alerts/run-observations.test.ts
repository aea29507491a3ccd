import { describe, expect, test } from 'vitest';
import { dueObservations, isList, restatedMonths, wellSourceOf } from '../../../../src/core/alerts/run-observations.ts';

describe('the source of the wells of a run', () => {
  const given = { isFromWarehouse: false, schedule: undefined, isNamedEach: false, file: undefined };

  test.each([
    ['the schedule that requested it', { schedule: 'nightly', isNamedEach: true, file: '/a.csv' }, 'schedule nightly'],
    ['its file', { file: '/a.csv' }, '/a.csv'],
    ['the configuration', {}, 'configuration'],
    ['the warehouse, whatever else names wells', { isFromWarehouse: true, schedule: 'nightly' }, 'warehouse'],
    ['standard input', { file: '-' }, 'standard input'],
    ['none where each is named', { isNamedEach: true, file: '/a.csv' }, undefined],
  ])('is %s', (_, difference, source) => {
    expect(wellSourceOf({ ...given, ...difference })).toBe(source);
  });

  test('is a list, of which wells may be left out, if it is the same one each night', () => {
    expect(['/a.csv', 'configuration', 'schedule warehouse'].map(isList)).toEqual([true, true, true]);
    expect(['warehouse', 'standard input'].map(isList)).toEqual([false, false]);
  });
});

describe('what is to be judged with the end of a run', () => {
  const rules = { today: 20_000, maxRows: 100 };
  const run = { state: 'done', counts: { updated: 60, removed: 40 }, source: '/a.csv' } as const;

  test('is its list and the silence of all wells, also where some have failed', () => {
    for (const state of ['done', 'failed'] as const) {
      expect(dueObservations({ ...run, state }, rules)).toEqual({ isSilenceDue: true, list: '/a.csv' });
    }
    expect(dueObservations({ ...run, source: 'warehouse' }, rules)).toEqual({ isSilenceDue: true });
  });

  test('is neither of a run over some days or wells, nor of one that was cancelled', () => {
    expect(dueObservations({ ...run, source: undefined }, rules)).toEqual({ isSilenceDue: false });
    expect(dueObservations({ ...run, state: 'cancelled' }, rules)).toEqual({ isSilenceDue: false });
  });

  test('is the months of any run that changed more rows than the limit', () => {
    const changed = { ...run, state: 'cancelled', source: undefined, counts: { updated: 60, removed: 41 } } as const;
    const restated = { beforeDay: 19_970, maxRows: 100 };
    expect(dueObservations(changed, rules)).toEqual({ isSilenceDue: false, restated });
    expect(dueObservations({ ...changed, counts: {} }, { ...rules, maxRows: 0 })).toEqual({ isSilenceDue: false });
  });
});

test('a run has all its months alerted, or none', () => {
  const none = { oil: 0, gas: 0, water: 0 };
  const months = [
    { month: '2026-03', rows: 60, ...none },
    { month: '2026-04', rows: 41, ...none },
  ];
  expect(restatedMonths(months, 100)).toEqual(months);
  expect(restatedMonths(months, 101)).toEqual([]);
});
