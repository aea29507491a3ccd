/** The role that a run needs of whoever lets it begin. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { roleToRun, unknownJob } from '../../../../src/core/run/job-description.ts';

test('G6: is delete for a job that deletes, and for one that only another version knows, whatever its parameters', () => {
  fc.assert(
    fc.property(fc.anything(), (params) => {
      expect(roleToRun({ deletes: true }, params)).toBe('delete');
      expect(roleToRun(unknownJob('later'), params)).toBe('delete');
    }),
  );
});

test('G6: is delete where rows may leave the warehouse, and else operate', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything()), (others) => {
      expect(roleToRun({}, { ...others, allowShrink: true })).toBe('delete');
      expect(roleToRun({}, { ...others, allowShrink: false, releaseOf: 'a run' })).toBe('delete');
      delete others['releaseOf'];
      expect(roleToRun({}, { ...others, allowShrink: false })).toBe('operate');
    }),
  );
  for (const params of [undefined, null, 'allowShrink', [], {}]) expect(roleToRun({}, params)).toBe('operate');
});
