import { expect, it } from 'vitest';
import { RequestClock } from '../../../src/service/request-clock.ts';
import { sleep } from '../../../src/timers/sleep.ts';

it('a clock does not expire while it rests, however long, and expires after it', async () => {
  let isExpired = false;
  const expired = new Promise<void>((resolve) => {
    const clock = new RequestClock(50, () => {
      isExpired = true;
      resolve();
    });
    clock.restDuring(sleep(300).then(() => expect(isExpired).toBe(false)));
  });
  await expired;
});

it('a stopped clock never expires, and tells how long it rested', async () => {
  let isExpired = false;
  const clock = new RequestClock(20, () => (isExpired = true));
  const rest = sleep(60);
  clock.restDuring(rest);
  await rest;
  // The clock hears of it first.
  await Promise.resolve();
  expect(clock.stop()).toBeGreaterThan(50);
  clock.restDuring(Promise.resolve());
  await sleep(60);
  expect(isExpired).toBe(false);
});
