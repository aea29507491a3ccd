import { expect, test } from 'vitest';
import { requestKey } from '../../../src/runs/run-service.ts';

const job = { name: 'export daily-production', varyingParams: ['nowMs'] };
const key = requestKey(job, { nowMs: 1, allowShrink: false }, ['a', 'b']);

test('is the same for the same work at another time, with its targets and parameters in another order', () => {
  expect(requestKey(job, { allowShrink: false, nowMs: 2 }, ['b', 'a'])).toBe(key);
  expect(requestKey(job, { allowShrink: false, nowMs: 2, fromMs: undefined }, ['a', 'b'])).toBe(key);
});

test.each([
  ['job', { ...job, name: 'export wells' }, { allowShrink: false }, ['a', 'b']],
  ['parameter', job, { allowShrink: true }, ['a', 'b']],
  ['window', job, { allowShrink: false, fromMs: 5 }, ['a', 'b']],
  ['target more', job, { allowShrink: false }, ['a', 'b', 'c']],
  ['boundary between two targets', job, { allowShrink: false }, ['ab']],
])('differs with another %s', (_, otherJob, params, targets) => {
  expect(requestKey(otherJob, params, targets)).not.toBe(key);
});
