import { expect, test } from 'vitest';
import { StopCount } from '../../../../src/cli/process/stop-signals.ts';

test('a signal that both processes got is one request to stop, in either order', () => {
  const count = new StopCount();
  expect(count.add('system', 'SIGINT')).toBe(true);
  expect(count.add('parent', 'SIGINT')).toBe(false);
  expect(count.add('parent', 'SIGINT')).toBe(true);
  expect(count.add('system', 'SIGINT')).toBe(false);
});

test('a signal that the parent alone got counts each time', () => {
  const count = new StopCount();
  expect([count.add('parent', 'SIGTERM'), count.add('parent', 'SIGTERM')]).toEqual([true, true]);
});

test('another signal is another request', () => {
  const count = new StopCount();
  expect([count.add('system', 'SIGINT'), count.add('parent', 'SIGTERM')]).toEqual([true, true]);
});
