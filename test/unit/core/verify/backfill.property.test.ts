/** The exports that would put a run's findings right: few, and over every day that differs. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNumber } from '../../../../src/core/time/production-day.ts';
import { backfillsFor, mostNamed, reportedDifferences } from '../../../../src/core/verify/comparison.ts';
import { nothingFound, type RunFindings, type UnitFinding } from '../../../../src/core/verify/difference.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const someFinding = fc
  .record({ from: fc.nat(20_000), days: fc.integer({ min: 1, max: 400 }), isUnknown: fc.boolean() })
  .map(({ from, days, isUnknown }): UnitFinding => ({
    ...(isUnknown ? {} : { days: { fromDay: from, toDay: from + days } }),
    differences: [],
  }));

/** As the ledger reads them: at most forty, those with days first. */
function foundOf(findings: readonly UnitFinding[]): RunFindings {
  const first = findings.map((finding, index) => ({ ...finding, target: `W${index % 30}` }));
  const dated = first.flatMap(({ days }) => days ?? []);
  const days =
    dated.length === 0
      ? undefined
      : {
          fromDay: Math.min(...dated.map(({ fromDay }) => fromDay)),
          toDay: Math.max(...dated.map(({ toDay }) => toDay)),
        };
  const ordered = [...first.filter((each) => each.days !== undefined), ...first.filter((each) => !each.days)];
  return { units: first.length, datedUnits: dated.length, days, first: ordered.slice(0, 40) };
}

describe('the backfills for what was found', () => {
  it('read every day of every well that differs, by at most three ranges', () => {
    const property = fc.property(fc.array(someFinding, { maxLength: 45 }), (findings) => {
      const found = foundOf(findings);
      const backfills = backfillsFor(found);
      expect(backfills.length).toBeLessThanOrEqual(3);
      if (found.datedUnits > mostNamed) expect(backfills.map(({ uwis }) => uwis)).toEqual([null]);
      for (const { target, days } of found.first) {
        if (days === undefined) continue;
        const isRead = backfills.some(
          ({ uwis, from, to }) =>
            (uwis === null || uwis.includes(target)) && dayNumber(from) <= days.fromDay && dayNumber(to) >= days.toDay,
        );
        expect(isRead).toBe(true);
      }
    });
    expectForAll(property, 300);
  });

  it('name each well once, and none that has no days', () => {
    const property = fc.property(fc.array(someFinding, { maxLength: mostNamed }), (findings) => {
      const found = foundOf(findings);
      const dated = new Set(found.first.filter(({ days }) => days !== undefined).map(({ target }) => target));
      for (const { uwis } of backfillsFor(found)) {
        expect(new Set(uwis).size).toBe(uwis?.length);
        for (const uwi of uwis ?? []) expect(dated).toContain(uwi);
      }
    });
    expectForAll(property, 300);
  });

  it('keep ranges apart that are far from each other', () => {
    const of = (fromDay: number, toDay: number): UnitFinding => ({ days: { fromDay, toDay }, differences: [] });
    expect(backfillsFor(foundOf([of(100, 101), of(5_000, 5_010), of(120, 125)]))).toEqual([
      { uwis: ['W0', 'W2'], from: '1970-04-11', to: '1970-05-06' },
      { uwis: ['W1'], from: '1983-09-10', to: '1983-09-20' },
    ]);
  });

  it('are none where nothing differs', () => {
    expect(reportedDifferences(nothingFound)).toBeUndefined();
  });
});
