import { expect, test } from 'vitest';
import { exitCodes, worseOf } from '../../../../src/core/run/exit-code.ts';

const { done, doneWithExceptions, failed, unreachable } = exitCodes;

test.each([
  [done, doneWithExceptions, doneWithExceptions],
  [doneWithExceptions, failed, failed],
  [failed, unreachable, failed],
  [done, done, done],
])('of two runs with the exit codes %i and %i the command ends with %i', (one, other, worse) => {
  expect([worseOf(one, other), worseOf(other, one)]).toEqual([worse, worse]);
});
