import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AccessError,
  NotFoundError,
  PermanentError,
  RateLimitedError,
  TransientError,
} from '../../../../src/core/base/errors.ts';
import { nextDelay, readRetryAfter } from '../../../../src/core/run/retry-decision.ts';

const policies = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 10 }),
  baseDelayMs: fc.integer({ min: 1, max: 5_000 }),
  maxDelayMs: fc.integer({ min: 1, max: 60_000 }),
  deadlineMs: fc.integer({ min: 1, max: 600_000 }),
});
const situations = fc.record({
  policy: policies,
  attempt: fc.integer({ min: 1, max: 60 }),
  elapsedMs: fc.integer({ min: 0, max: 700_000 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});
const transient = new TransientError('http-503', 'later');

describe('the pause before the next attempt', () => {
  it('lies between half and the whole of an exponential bound', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const { policy, attempt } = situation;
        const delayMs = nextDelay({ ...situation, error: transient });
        fc.pre(delayMs !== undefined);
        const boundMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
        expect(delayMs).toBeGreaterThanOrEqual(boundMs / 2);
        expect(delayMs).toBeLessThanOrEqual(boundMs);
      }),
    );
  });

  it('G9: the pause before the next attempt is never shorter than Retry-After', () => {
    fc.assert(
      fc.property(situations, fc.integer({ min: 0, max: 700_000 }), (situation, retryAfterMs) => {
        const delayMs = nextDelay({ ...situation, error: new RateLimitedError('http-429', 'slower', retryAfterMs) });
        expect(delayMs ?? Infinity).toBeGreaterThanOrEqual(retryAfterMs);
      }),
    );
  });

  it('ends before the deadline, and is none once the attempts are spent', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const { policy, attempt, elapsedMs } = situation;
        const delayMs = nextDelay({ ...situation, error: transient });
        const endMs = elapsedMs + (delayMs ?? -Infinity);
        expect(endMs).toBeLessThan(policy.deadlineMs);
        expect(delayMs === undefined || attempt < policy.maxAttempts).toBe(true);
      }),
    );
  });

  it.each([
    new PermanentError('http-400', 'no'),
    new NotFoundError('not-found', 'no'),
    new AccessError('forbidden', 'no'),
    new TypeError('a bug'),
    'a thrown text',
  ])('is none after anything but a transient error: %s', (error) => {
    const policy = { maxAttempts: 9, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 1_000 };
    expect(nextDelay({ error, attempt: 1, elapsedMs: 0, policy, random: 0 })).toBeUndefined();
    expect(nextDelay({ error: transient, attempt: 1, elapsedMs: 0, policy, random: 0 })).toBe(0.5);
  });
});

describe('a Retry-After header', () => {
  const nowMs = Date.parse('2024-03-31T00:00:00Z');
  const hundredYearsMs = 36_525 * 86_400_000;

  it.each([
    ['7', 7_000],
    ['0', 0],
    [' 1.5 ', 1_500],
    ['Sun, 31 Mar 2024 00:01:00 GMT', 60_000],
    ['Sunday, 31-Mar-24 00:01:00 GMT', 60_000],
    ['Sun Mar 31 00:01:00 2024 GMT', 60_000],
    ['Sat, 30 Mar 2024 00:00:00 GMT', 0],
    ['-7', undefined],
    ['soon', undefined],
    ['2024', 2_024_000],
    ['', undefined],
    ['Sun, nonsense', undefined],
    ['Sun Mar 31 00:01:00 2024', 60_000],
    ['1000000000', 1e12],
    ['Wed, 01 Nov 2090 00:00:00 GMT', Date.parse('2090-11-01T00:00:00Z') - nowMs],
    ['9'.repeat(400), hundredYearsMs],
    ['Fri, 31 Dec 9999 23:59:59 GMT', hundredYearsMs],
    ['-1000000000', undefined],
    ['1e9', undefined],
    ['0x10', undefined],
    ['Infinity', undefined],
    ['NaN', undefined],
    ['Sunny 5', undefined],
    ['Sun, 31 Mar 2024', undefined],
    ['Sun, 99 Mar 2024 00:01:00 GMT', undefined],
    ['120, 120', undefined],
  ])('of "%s" is %s ms', (header, expected) => {
    expect(readRetryAfter(header, nowMs)).toBe(expected);
  });
});
