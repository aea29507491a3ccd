/** The caps of a cleanup: what one run may delete, and who goes by others than a plan was made within. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { otherCaps, passedCaps } from '../../../../src/core/cleanup/plan.ts';

const percent = fc.integer({ min: 0, max: 100 });

function isWithinShare(wells: number, knownWells: number, maxShareOfWellsPercent: number): boolean {
  return passedCaps({ targets: wells, wells }, knownWells, { maxTargets: 1_000, maxShareOfWellsPercent }).length === 0;
}

test('G6: one well is within every share but 0, however few are known, and more than one only within the share', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 500 }), percent, (wells, known, share) => {
      const isWithin = share > 0 && (wells === 1 || wells / known <= share / 100);
      expect(isWithinShare(wells, known, share)).toBe(isWithin);
    }),
    {
      examples: [
        [1, 7, 10],
        [2, 7, 10],
        [1, 7, 0],
        [20, 200, 10],
        [21, 200, 10],
      ],
    },
  );
});

test('both caps are named where they differ from those of the plan', () => {
  const made = { maxTargets: 1_000, maxShareOfWellsPercent: 50 };
  const now = { maxTargets: 1_000, maxShareOfWellsPercent: 10 };
  expect(otherCaps({ caps: made }, now, 'the worker')).toBe(
    'the plan was made within 1,000 targets and 50 % of the wells, and the worker goes by 1,000 targets and 10 % of the wells: by another configuration',
  );
  expect(otherCaps({ caps: made }, { ...made }, 'the worker')).toBeUndefined();
  expect(otherCaps({ caps: null }, now, 'the worker')).toBeUndefined();
});
