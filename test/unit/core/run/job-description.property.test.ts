import fc from 'fast-check';
import { expect, it } from 'vitest';
import { assignChunks } from '../../../../src/core/run/job-description.ts';

const limits = fc.record({ maxUnits: fc.integer({ min: 1, max: 20 }), maxRows: fc.integer({ min: 1, max: 500 }) });

it('every unit stands in one chunk, in order, without a gap, and within both limits', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 })), limits, (rows, { maxUnits, maxRows }) => {
      const chunks = assignChunks(rows, { maxUnits, maxRows });
      expect(chunks).toHaveLength(rows.length);
      chunks.forEach((chunk, unit) => {
        const before = unit === 0 ? 0 : (chunks[unit - 1] as number);
        expect(chunk - before === 0 || (chunk - before === 1 && unit > 0)).toBe(true);
      });
      for (const chunk of new Set(chunks)) {
        const members = rows.filter((_, unit) => chunks[unit] === chunk);
        expect(members.length).toBeLessThanOrEqual(maxUnits);
        const sum = members.reduce((total, each) => total + each, 0);
        expect(sum <= maxRows || members.length === 1).toBe(true);
      }
    }),
  );
});

it('a chunk is filled before the next one is opened', () => {
  expect(assignChunks([10, 10, 10, 25, 1], { maxUnits: 2, maxRows: 26 })).toEqual([0, 0, 1, 2, 2]);
});
