import { expect, test } from 'vitest';
import { decideUnit, isWorkedSingly, judgeUnits, workerDied } from '../../../../src/core/run/retry-decision.ts';

const units = [0, 1, 2].map((unit) => ({ unit }));

test('G7: one worker that is killed leaves its item worked as before, a second one has it worked unit by unit', () => {
  expect([0, 1, 2, 9].map(isWorkedSingly)).toEqual([false, false, true, true]);
});

test('G7: a unit is condemned by three starts alone that died, never by fewer', () => {
  const deaths = new Map([
    [0, 2],
    [1, 3],
  ]);
  expect(judgeUnits(units, deaths)).toEqual({ toTry: [{ unit: 2 }, { unit: 0 }], guilty: [{ unit: 1 }] });
  expect(judgeUnits(units, new Map())).toEqual({ toTry: units, guilty: [] });
});

test('a condemned unit fails at once, with words for the operator', () => {
  const fault = workerDied('r1');
  expect(decideUnit(fault)).toBe('dead-letter');
  expect(fault).toMatchObject({ code: 'worker-died', action: { kind: 'retry-run', runId: 'r1' } });
  expect(fault.hint).toContain('worker.memoryMb');
});
